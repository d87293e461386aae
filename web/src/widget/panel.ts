// What a person sees of a room inside somebody else's page.

import type { Content, RoomConnection } from '../sdk/connect';
import { Mesh, newCertificate, type Lane } from '../sdk/mesh';
import { rights } from '../sdk/rights';
import { keptLines } from '../lib/rooms/lines';
import { el } from './dom';

interface Line { from: string; name: string; text: string; mine?: boolean; agent?: boolean }

export class Panel {
  readonly box = el('section', { class: 'box', 'aria-label': 'Room' });
  #room: RoomConnection;
  #hub: string;
  #mesh: Mesh | undefined;
  #tracks: Partial<Record<Lane, MediaStreamTrack>> = {};
  #lines: Line[] = [];
  #kept: ReturnType<typeof keptLines<Line>>;
  #open = new Set<string>();
  #title = el('h2');
  #status = el('small', { role: 'status' });
  #people = el('ul', { class: 'people', 'aria-label': 'People and agents' });
  #log = el('div', { class: 'log', role: 'log', 'aria-label': 'Chat', tabindex: '0' });
  #stage = el('div', { class: 'stage' });
  #form = el('form', { onsubmit: (e: Event) => this.#say(e) });
  #text = el('input', { type: 'text', 'aria-label': 'Say something', placeholder: 'Say something', maxLength: 500, autocomplete: 'off' });
  #lanes = el('div', { class: 'bar' });

  constructor(room: RoomConnection, hub: string, certificate: Awaited<ReturnType<typeof newCertificate>> | undefined) {
    this.#room = room;
    this.#hub = hub;
    this.#form.append(this.#text, el('button', { class: 'main' }, 'Send'));
    this.box.append(el('header', {}, this.#title, this.#status), this.#people, this.#stage, this.#log, this.#lanes, this.#form);
    room.on('state', () => this.#draw());
    room.on('roster', () => this.#draw());
    room.on('caps', () => this.#draw());
    room.on('content', (m) => this.#heard(m));
    room.on('reset', () => this.#keep([]));
    this.#kept = keptLines<Line>(`parley.widget.${hub}.${room.room}.lines`);
    this.#lines = this.#kept.load();
    this.#drawLines();
    room.on('self', () => certificate && !this.#mesh && this.#link(certificate));
    this.#draw();
  }

  #link(certificate: Awaited<ReturnType<typeof newCertificate>>): void {
    this.#mesh = new Mesh(this.#room, certificate);
    this.#mesh.on('stream', ({ id, lane, track }) => {
      for (const old of this.#stage.querySelectorAll<HTMLMediaElement>('[data-from]')) if (old.dataset['from'] === id && (!lane || old.dataset['lane'] === lane)) old.remove();
      if (track) this.#show(id, lane, track);
    });
    this.#draw();
  }

  #show(id: string, lane: Lane, track: MediaStreamTrack): void {
    const media = el(lane === 'audio' ? 'audio' : 'video', { autoplay: true, 'data-from': id, 'data-lane': lane, 'aria-label': `${this.#name(id)}, ${lane}` });
    media.muted = lane !== 'audio' || id === this.#room.self?.id;
    media.srcObject = new MediaStream([track]);
    void media.play().catch(() => {});
    this.#stage.append(media);
    this.#hideSilent();
  }

  /** A lane flows all the time, black or silent; it is shown only while somebody says that it is on. */
  #hideSilent(): void {
    for (const media of this.#stage.querySelectorAll<HTMLMediaElement>('[data-from]')) {
      const lanes = this.#room.roster.members.find((m: any) => m.id === media.dataset['from'])?.media;
      media.hidden = !lanes?.[media.dataset['lane'] as Lane];
    }
  }

  async #share(lane: Lane): Promise<void> {
    const old = this.#tracks[lane];
    delete this.#tracks[lane];
    old?.stop();
    try {
      if (!old) {
        const devices = navigator.mediaDevices;
        const stream = await (lane === 'screen' ? devices.getDisplayMedia({ video: true }) : devices.getUserMedia({ [lane === 'audio' ? 'audio' : 'video']: true }));
        const track = stream.getTracks()[0]!;
        track.addEventListener('ended', () => this.#tracks[lane] === track && void this.#share(lane));
        this.#tracks[lane] = track;
      }
      await this.#mesh!.publish(lane, this.#tracks[lane] ?? null);
    } catch (error) {
      this.#tracks[lane]?.stop();
      delete this.#tracks[lane];
      this.#complain(error);
    }
    this.#draw();
  }

  #complain(error: unknown): void {
    this.#status.textContent = (error as { reason?: string }).reason ?? (error as Error).message;
    this.#status.className = 'warn';
  }

  async #say(event: Event): Promise<void> {
    event.preventDefault();
    const text = this.#text.value.trim();
    if (!text) return;
    this.#text.value = '';
    try {
      const line = { k: 'chat', text };
      await (this.#mesh ?? this.#room).send(line);
      this.#add({ from: this.#room.self.id, name: this.#room.self.name, text, mine: true });
    } catch (error) {
      this.#text.value = text;
      this.#complain(error);
    }
  }

  #name(id: string): string {
    return this.#room.roster.members.find((m: any) => m.id === id)?.name ?? id;
  }

  #heard({ from, c }: Content): void {
    const text = c.k === 'chat' ? c.text : c.k === 'app' && c.data?.__kib_agent === 'chat' ? c.data.text : '';
    const member = this.#room.roster.members.find((m: any) => m.id === from);
    if (text) this.#add({ from, name: member?.name ?? from, text: String(text), agent: member?.kind === 'agent' });
  }

  #add(line: Line): void {
    this.#keep([...this.#lines, line].slice(-500));
  }

  #keep(lines: Line[]): void {
    this.#lines = lines;
    if (!this.#room.hello?.sealed) this.#kept.save(lines);
    this.#drawLines();
  }

  #drawLines(): void {
    this.#log.replaceChildren(...this.#lines.map((l) => el('p', { class: l.mine ? 'mine' : undefined }, el('b', {}, l.name), l.agent && el('span', { class: 'badge' }, 'agent'), ` ${l.text}`)));
    this.#log.scrollTop = this.#log.scrollHeight;
  }

  #can(right: string): boolean {
    const g = this.#room.getGrant();
    return !!g && (g.perceive.includes(right) || g.act.includes(right));
  }

  #draw(): void {
    const room = this.#room;
    this.#title.textContent = room.hello?.title || room.room;
    this.#status.className = '';
    this.#status.textContent = room.state === 'in' ? (room.hello?.sealed ? 'sealed' : 'the hub can read this room') : room.state === 'broken' ? 'The hub is away. Trying again…' : '';
    this.#people.replaceChildren(...room.roster.members.map((m: any) => el('li', {}, this.#person(m))));
    this.#hideSilent();
    this.#form.hidden = !this.#can('send-chat');
    const lanes: [Lane, string][] = [['audio', 'Voice'], ['camera', 'Camera'], ['screen', 'Screen']];
    this.#lanes.hidden = !this.#mesh || !this.#can('speak');
    const focused = (this.#lanes.getRootNode() as ShadowRoot).activeElement?.getAttribute('data-lane-button');
    this.#lanes.replaceChildren(...lanes.map(([lane, name]) => el('button', { type: 'button', 'data-lane-button': lane, 'aria-pressed': String(!!this.#tracks[lane]), onclick: () => void this.#share(lane) }, name)));
    if (focused) this.#lanes.querySelector<HTMLElement>(`[data-lane-button="${focused}"]`)?.focus();
  }

  // One participant, and what it may; a host changes it here.
  #person(m: any): HTMLElement {
    const badges = [m.kind === 'agent' && 'agent', m.kind === 'agent' && !acts(this.#room, m.id) && 'read-only', m.tier && 'host', !m.proven && 'unproven', m.away && 'away', m.media?.audio && 'voice', m.media?.screen && 'screen'];
    const mine = m.id === this.#room.self?.id;
    return el('details', { open: this.#open.has(m.id), ontoggle: (e: Event) => this.#open[(e.currentTarget as HTMLDetailsElement).open ? 'add' : 'delete'](m.id) },
      el('summary', {}, m.name, mine && ' (you)', ...badges.filter(Boolean).map((b) => el('span', { class: 'badge' }, String(b)))),
      m.egress && el('p', { class: 'warn' }, `What this agent sees leaves the room, to ${m.backend || 'somebody'}.`),
      this.#consent(m, mine));
  }

  #consent(m: any, mine: boolean): HTMLElement {
    const room = this.#room;
    const grant = room.getCapabilityGrant(m.id) ?? { perceive: [], act: [] };
    const has = (id: string) => grant.perceive.includes(id) || grant.act.includes(id);
    const may = ['operator', 'key', 'email'].includes(room.self?.tier ?? '') && !mine;
    const flip = (id: string, on: boolean) => {
      const keep = (kind: string) => rights.filter((r) => r.kind === kind && (r.id === id ? on : has(r.id))).map((r) => r.id);
      room.setCapabilityGrant(m.id, { perceive: keep('perceive'), act: keep('act') }).catch((e) => (this.#complain(e), this.#draw()));
    };
    return el('fieldset', { 'aria-label': `What ${m.name} may` },
      ...rights.map((r) => el('label', {}, el('input', { type: 'checkbox', role: 'switch', checked: has(r.id), disabled: !may, onchange: (e: Event) => flip(r.id, (e.target as HTMLInputElement).checked) }), r.name)),
      may && el('button', { type: 'button', onclick: () => void room.setCapabilityGrant(m.id, { perceive: [], act: [] }).catch((e) => this.#complain(e)) }, 'Revoke all'),
      !may && !mine && el('a', { href: `${this.#hub}/r/${room.room}`, target: '_blank', rel: 'noopener' }, 'Change this at the hub'));
  }

  close(): void {
    for (const t of Object.values(this.#tracks)) t?.stop();
    this.#mesh?.close();
  }
}

function acts(room: RoomConnection, id: string): boolean {
  return !!room.getCapabilityGrant(id)?.act.length;
}
