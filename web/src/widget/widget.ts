// One script line puts a room into any page:
//
//   <script src="https://hub.example.org/widget.js" data-room="table"></script>
//
// It comes with no login of its own: a person enters by an invite, as a guest where the
// room is open, or by a pass they give this page on the hub's own page.

import { cooldown, createAgent, createAgentFromBridge } from '../sdk/agent';
import { roomId } from '../sdk/codec';
import { connectRoom, type ConnectOptions, type Memory, type RoomConnection } from '../sdk/connect';
import { connectMesh, newCertificate } from '../sdk/mesh';
import { el } from './dom';
import { Panel } from './panel';
import { askForPass, passFromAddress } from './pass';
import { style } from './style';

export interface MountOptions extends Pick<ConnectOptions, 'name' | 'key' | 'roomKey' | 'meta' | 'want' | 'avatar'> {
  room: string;
  /** The hub's address; the script's own if left out. */
  hub?: string;
  /** An invite to the room. */
  invite?: string;
  theme?: string;
  /** Where it goes: an element or a selector; beside the script if left out. */
  target?: Element | string;
  /** No picture: only a controller, for an agent or an app. */
  headless?: boolean;
}

const script = document.currentScript as HTMLScriptElement | null;
const home = script ? new URL(script.src).origin : location.origin;
const pass = passFromAddress();
const invited = new URLSearchParams(location.hash.slice(1)).get('i') ?? '';

const words: Record<string, string> = {
  'room.unknown': 'There is no such room.', 'room.full': 'The room is full.', 'room.locked': 'The room is locked.', 'room.closed': 'The room was closed.',
  'lobby.denied': 'You were not let in.', kicked: 'You were asked to leave.', 'gate.missing': 'This room wants to know who you are.',
  'gate.no-humans': 'This room is for agents only.', 'gate.expired': 'The invite or pass has expired.', replaced: 'The room is open elsewhere.',
};

function memoryOf(key: string) {
  return {
    load: (): Memory | undefined => JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? undefined,
    save: (m: Memory | undefined) => (m ? sessionStorage.setItem(key, JSON.stringify(m)) : sessionStorage.removeItem(key)),
  };
}

/** Puts a room into the page, or, headless, only joins it. The controller is what agents are made on. */
export function mount(options: MountOptions): RoomConnection {
  const hub = new URL(options.hub ?? home).origin;
  const id = roomId(options.room);
  const { room: _room, hub: _hub, invite, theme, target, headless, ...rest } = options;
  const jwt = invite || pass || invited;
  const common = { ...rest, ...(jwt ? { jwt } : {}) };
  if (headless) return connectRoom(`${hub}/r/${id}`, common);
  const memory = memoryOf(`parley.widget.${hub}.${id}`);
  // The certificate is announced with the first frame, so it must be there before.
  const ready = typeof RTCPeerConnection === 'undefined' ? Promise.resolve(undefined) : newCertificate().catch(() => undefined);
  const room = connectRoom(`${hub}/r/${id}`, { ...common, memory, quiet: true });
  const host = el('parley-room' as 'div', theme && theme !== 'auto' ? { theme } : {});
  const shadow = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  shadow.adoptedStyleSheets = [sheet];
  place(host, target);
  void ready.then((certificate) => {
    const enter = (name: string) => room.join({ name, ...(certificate ? { fp: certificate.fp } : {}) });
    const panel = new Panel(room, hub, certificate);
    const show = () => shadow.replaceChildren(room.self && room.state !== 'refused' && room.state !== 'left' ? panel.box : door(hub, id, room, options.name ?? '', enter));
    room.on('self', show);
    room.on('door', show);
    room.on('state', (s) => (['refused', 'waiting', 'broken'].includes(s) || !room.self) && show());
    show();
    if (options.name || pass || memory.load()) enter(options.name ?? '');
  });
  return room;
}

function place(host: HTMLElement, target: Element | string | undefined): void {
  const at = typeof target === 'string' ? document.querySelector(target) : target;
  if (at) at.append(host);
  else if (script?.parentElement && script.parentElement !== document.head) script.after(host);
  else document.body.append(host);
}

// Before one is in: the name, why not, and how else.
function door(hub: string, id: string, room: RoomConnection, name: string, enter: (name: string) => void): HTMLElement {
  const field = el('input', { type: 'text', maxLength: 40, value: name, 'aria-label': 'Your name here', placeholder: 'Your name here' });
  const note = el('p', { role: 'alert', class: 'warn' });
  const refusal = room.refusal;
  if (room.state === 'waiting') note.textContent = 'Waiting to be let in.';
  else if (refusal) note.textContent = words[refusal.code] ?? refusal.reason;
  else if (room.state === 'broken') void whyNot(hub).then((text) => (note.textContent = text));
  const submit = (e: Event) => (e.preventDefault(), enter(field.value.trim() || 'Guest'));
  return el('section', { class: 'box', 'aria-label': 'Room' }, el('header', {}, el('h2', {}, room.hello?.title || id)),
    el('form', { class: 'door', onsubmit: submit }, note, field, el('button', { class: 'main' }, 'Enter'),
      hub !== location.origin && el('button', { type: 'button', onclick: () => askForPass(hub, id) }, `Sign in at ${new URL(hub).host}`),
      room.hello?.notice && el('p', { class: 'quiet' }, room.hello.notice)));
}

// Browsers do not tell a page why a WebSocket failed, so it asks.
async function whyNot(hub: string): Promise<string> {
  try {
    const { listed, origin } = await (await fetch(`${hub}/sdk/origin`, { credentials: 'omit' })).json();
    if (!listed && hub !== location.origin) return `This website (${origin}) is not listed at ${new URL(hub).host}, so it may not show its rooms. Somebody who runs that hub can list it under Settings, Websites.`;
    return 'The room cannot be reached, or there is none of this name. Trying again…';
  } catch {
    return 'The hub cannot be reached. Trying again…';
  }
}

Object.assign(globalThis, { Kibitz: { createAgent, createAgentFromBridge, cooldown, connectRoom, connectMesh, mount } });

const { room, name, theme, headless, target, invite } = script?.dataset ?? {};
if (room) {
  const start = () => mount({ room, name, theme, target, invite, headless: headless !== undefined && headless !== 'false' });
  // A script in the head comes before there is a place.
  if (document.readyState === 'loading' && (target || !document.body)) document.addEventListener('DOMContentLoaded', start);
  else start();
}
