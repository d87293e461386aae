// A room as the page shows it.

import { connectRoom, Refused, type Content, type RoomConnection, type State } from '../../sdk/connect';
import { cooldown, createAgent, createAgentFromBridge, type Grant, type Schema } from '../../sdk/agent';
import { Mesh, type Lane } from '../../sdk/mesh';
import { asProblem, Problem } from '../api';
import { keptLines } from './lines';
import { certificateOf, memoryOf } from './keep';

// Scripts that know the original protocol's page find the SDK where it has it.
Object.assign(globalThis, { Kibitz: { createAgent, createAgentFromBridge, cooldown } });

export interface Member {
  id: string;
  name: string;
  kind: 'human' | 'agent';
  host?: boolean;
  tier?: string;
  keyId?: string;
  label?: string;
  backend?: string;
  egress?: boolean;
  readOnly?: boolean;
  away?: boolean;
  proven?: boolean;
  cam?: boolean;
  media?: { audio?: boolean; camera?: boolean; screen?: boolean };
  fp?: string;
}

export interface Line { seq: number; ts: number; from: string; name: string; agent: boolean; text: string; to?: string; mine?: boolean }
export interface Entry { seq: number; ts: number; actor: string; id: string; kind: string; detail: string; code?: string; count?: number }
export interface Ask { seq: number; from: string; name: string; action: unknown }

/** What hello and roster say once an agent of the hub has the key of a sealed room. */
const sharedWithHub = 'shared-with-hub';

export class Room {
  id: string;
  state = $state<State>('connecting');
  hello = $state.raw<any>();
  self = $state.raw<any>();
  refusal = $state<{ code: string; reason: string } | undefined>();
  members = $state<Member[]>([]);
  waiting = $state<{ id: string; name: string; kind: string }[]>([]);
  redacted = $state(false);
  locked = $state(false);
  /** This hub can read the room although it is sealed. */
  shared = $state(false);
  lobby = $state(false);
  grants = $state<Record<string, Grant>>({});
  lines = $state<Line[]>([]);
  audit = $state<Entry[]>([]);
  views = $state<Record<string, { from: string; name: string; view: unknown; directed: boolean }>>({});
  schemas = $state<Schema[]>([]);
  asks = $state<Ask[]>([]);
  streams = $state<Record<string, Partial<Record<Lane, MediaStreamTrack>>>>({});
  mine = $state<Partial<Record<Lane, MediaStreamTrack>>>({});
  linked = $state<string[]>([]);

  #room: RoomConnection | undefined;
  #mesh: Mesh | undefined;
  #returns: BroadcastChannel | undefined;
  #name: string;
  #closed = false;
  #below = 0;
  #kept: ReturnType<typeof keptLines<Line>>;

  constructor(id: string, link: string, name: string, jwt: string) {
    this.id = id;
    this.#name = name;
    this.#kept = keptLines<Line>(`parley.room.${id}.lines`);
    if (memoryOf(id).load()) this.lines = this.#kept.load();
    void this.#open(link, jwt);
  }

  async #open(link: string, jwt: string): Promise<void> {
    const certificate = await certificateOf(this.id);
    if (this.#closed) return;
    const room = connectRoom(link, { name: this.#name, memory: memoryOf(this.id), ...(jwt ? { jwt } : {}), ...(certificate ? { fp: certificate.fp } : {}) });
    this.#room = room;
    room.on('state', (s) => (this.state = s));
    room.on('hello', (f) => {
      this.hello = f;
      this.shared = f.sealed === sharedWithHub;
    });
    room.on('self', (f) => this.#entered(f, certificate));
    room.on('door', (f) => (this.refusal = f.code ? { code: f.code, reason: f.reason ?? '' } : undefined));
    room.on('state', (s) => s === 'refused' && (this.refusal = { code: room.refusal?.code ?? '', reason: room.refusal?.reason ?? '' }));
    room.on('roster', (f) => {
      this.members = f.members ?? [];
      this.waiting = f.waiting ?? [];
      this.redacted = !!f.redacted;
      this.locked = !!f.locked;
      if (f.sealed === sharedWithHub) this.shared = true;
      this.lobby = !!f.lobby;
    });
    room.on('caps', (grants) => (this.grants = grants));
    room.on('content', (m) => this.#content(m));
    room.on('schema', () => (this.schemas = room.getSchemas()));
    room.on('audit', (f) => (this.audit = [f.e, ...this.audit].slice(0, 500)));
    room.on('reset', () => this.#show([]));
  }

  #entered(self: any, certificate: { certificate: RTCCertificate; fp: string } | undefined): void {
    this.self = self;
    this.refusal = undefined;
    if (certificate && !this.#mesh) {
      this.#mesh = new Mesh(this.#room!, certificate);
      this.#mesh.on('stream', ({ id, lane, track }) => {
        if (!track) delete this.streams[id];
        else this.streams[id] = { ...this.streams[id], [lane]: track };
      });
      this.#mesh.on('link', () => (this.linked = this.#mesh!.linked));
      this.#mesh.on('content', ({ from, c }) => this.#content({ seq: this.#unnumbered(), ts: Date.now(), from, c }));
    }
  }

  /** What came over a link has no place in the room's order; lists need a number all the same. */
  #unnumbered(): number {
    return --this.#below;
  }

  get hosting(): boolean {
    return ['operator', 'key', 'email'].includes(this.self?.tier ?? '');
  }

  can(right: string): boolean {
    const g = this.grants[this.self?.id];
    return !!g && (g.perceive.includes(right) || g.act.includes(right));
  }

  nameOf(id: string): string {
    return this.members.find((m) => m.id === id)?.name ?? this.audit.find((e) => e.id === id)?.id ?? id;
  }

  /** Opens the identity provider beside this page and comes in with what it brings back. */
  async signIn(): Promise<void> {
    const state = crypto.randomUUID();
    const address = await this.#room?.signInAddress(new URL('/signin', location.origin).href, state);
    if (!address) return;
    this.#returns?.close();
    // The other page cannot reach this one, nor this one it; both are the hub's once it comes back.
    const returns = (this.#returns = new BroadcastChannel('parley.signin'));
    returns.onmessage = ({ data }) => {
      if (data?.state !== state) return;
      returns.close();
      this.refusal = data.token ? undefined : { code: 'gate.missing', reason: data.error || 'The identity provider gave no token.' };
      if (data.token) this.#room?.join({ jwt: data.token });
    };
    window.open(address, '_blank', 'noopener,width=520,height=680');
  }

  close(): void {
    this.#closed = true;
    this.#returns?.close();
    for (const t of Object.values(this.mine)) t?.stop();
    this.#mesh?.close();
    this.#kept.save([]);
    this.#room?.leave();
  }

  async say(text: string, to?: string): Promise<void> {
    const line = { k: 'chat', text, ...(to ? { dm: true } : {}) };
    const ack = await this.#do(() => (this.#mesh ? this.#mesh.send(line, to) : this.#room!.send(line, to)));
    this.#line({ seq: ack.seq || this.#unnumbered(), ts: Date.now(), from: this.self.id, name: this.self.name, agent: false, text: [...text].slice(0, 500).join('').trim(), to, mine: true });
  }

  grant = (id: string, g: Partial<Grant> | null) => this.#do(() => this.#room!.setCapabilityGrant(id, g));
  command = (op: string, target?: string, reason?: string) => this.#do(() => this.#room!.command(op, target, reason));

  /** Lets an app's answer out: the page is the app here, and says what was decided. */
  async decide(ask: Ask, honoured: boolean): Promise<void> {
    this.asks = this.asks.filter((a) => a !== ask);
    await this.#do(() => (this.#mesh ?? this.#room!).sendTo(ask.from, { decided: { action: ask.action, honoured } }));
  }

  /** Asks an app to do something. It goes to the app alone: what goes to everybody is read by everybody. */
  act = (app: string, action: unknown) => this.#do(() => (this.#mesh ?? this.#room!).sendTo(app, { __kib_agent: 'act', action }));

  async share(lane: Lane, on: boolean): Promise<void> {
    const old = this.mine[lane];
    if (!on) {
      old?.stop();
      delete this.mine[lane];
      await this.#do(() => this.#mesh!.publish(lane, null));
      return;
    }
    const stream = lane === 'screen' ? await navigator.mediaDevices.getDisplayMedia({ video: true }) : await navigator.mediaDevices.getUserMedia(lane === 'audio' ? { audio: true } : { video: true });
    const track = stream.getTracks()[0]!;
    track.addEventListener('ended', () => void this.share(lane, false));
    this.mine[lane] = track;
    try {
      await this.#do(() => this.#mesh!.publish(lane, track));
    } catch (error) {
      track.stop();
      delete this.mine[lane];
      throw error;
    }
  }

  async #do<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof Refused) throw new Problem(error.code === 'offline' ? 0 : 403, error.code, 'The room refused', error.reason);
      throw asProblem(error);
    }
  }

  #content(m: Content): void {
    const from = this.members.find((p) => p.id === m.from);
    const name = from?.name ?? m.from;
    const agent = from?.kind === 'agent';
    const c = m.c;
    if (c.k === 'chat') this.#line({ seq: m.seq, ts: m.ts, from: m.from, name, agent, text: String(c.text), to: m.to });
    if (c.k !== 'app') return;
    const kind = typeof c.data?.__kib_agent === 'string' ? c.data.__kib_agent : '';
    if (kind === 'chat') this.#line({ seq: m.seq, ts: m.ts, from: m.from, name, agent, text: String(c.data.text ?? ''), to: m.to });
    else if (kind === 'view') this.views[`${m.from}${m.to ? ' (for you)' : ''}`] = { from: m.from, name, view: c.data.view, directed: !!m.to };
    else if (kind === 'act') this.asks = [...this.asks, { seq: m.seq, from: m.from, name, action: c.data.action }].slice(-50);
  }

  #show(lines: Line[]): void {
    this.lines = lines;
    if (!this.hello?.sealed) this.#kept.save(lines);
  }

  #line(line: Line): void {
    if (!line.text) return;
    this.#show([...this.lines, line].slice(-1000));
  }
}
