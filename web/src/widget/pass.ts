// A person of the hub lets this page in: on the hub's own page, which no other page can
// frame or click on, and which sends the browser back here with a pass for this room in
// the fragment. This page never gets the person's login.

const KEY = 'parley.pass';

/** Goes to the hub to ask for a pass. */
export function askForPass(hub: string, room: string): void {
  const state = crypto.randomUUID();
  sessionStorage.setItem(KEY, state);
  const back = location.href.split('#')[0]!;
  location.assign(`${hub}/pass?${new URLSearchParams({ room, back, state })}`);
}

/** The pass that the browser came back with. One that this tab did not ask for is nobody's. */
export function passFromAddress(): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const pass = fragment.get('parley-pass');
  if (!pass) return undefined;
  history.replaceState(history.state, '', location.href.split('#')[0]);
  const asked = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return asked && asked === fragment.get('parley-state') ? pass : undefined;
}
