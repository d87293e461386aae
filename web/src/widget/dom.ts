// Elements, made without a line of HTML: nothing that came from others is ever parsed.

type Props = Record<string, unknown>;
type Child = Node | string | false | null | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value as EventListener);
    else if (name in made && typeof value !== 'string') (made as any)[name] = value;
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...(children.filter((c) => c !== false && c !== null && c !== undefined) as (Node | string)[]));
  return made;
}
