// What is no <button> but acts as one (a shape in a picture) is pressed by Enter and
// by Space, once for each press, and Space does not scroll the page.
export function pressed(act: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    if (!event.repeat) act();
  };
}
