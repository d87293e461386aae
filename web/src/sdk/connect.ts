// A room over its WebSocket: announces, proves its key, resumes after a break
// without gap or duplicate, and sends again what was not acknowledged.

import type { Controller, Grant, Participant, Schema } from './agent';
import { channelFingerprint, dialledOrigin, keyPair, roomId, signToken, type Key } from './codec';
import { Seal } from './seal';

/** What the hub, or this side, refused. */
export class Refused extends Error {
  constructor(readonly code: string, readonly reason: string, readonly retryMs = 0) {
    super(`${code}: ${reason}`);
    this.name = 'Refused';
  }
}

export interface ConnectOptions {
  name?: string;
  /** An agent's own private key; without it one comes as a person. */
  key?: Key;
  /** The secret of a sealed room. */
  roomKey?: string;
  meta?: Record<string, unknown>;
  /** Capabilities asked for, if fewer than allowed. */
  want?: Grant;
  /** An invite, if the link does not carry it, or an identity token. */
  jwt?: string;
  /** This participant's certificate fingerprint, for WebRTC. */
  fp?: string;
  avatar?: string;
  /** Keeps what a resume needs, also over a reload. */
  memory?: { load(): Memory | undefined; save(memory: Memory | undefined): void };
  /** Waits for announce() instead of announcing at once. */
  quiet?: boolean;
  open?: (url: string) => WebSocket;
}

export interface Memory { resume: string; since: number }
export interface Content { seq: number; ts: number; from: string; to?: string; c: any; retained?: boolean }
export type State = 'connecting' | 'door' | 'waiting' | 'in' | 'broken' | 'refused' | 'left';

interface Pending { frame: any; done: (ack: any) => void; fail: (why: Error) => void; again: boolean }

type Fn = (value: any) => void;

export class RoomConnection implements Controller {
  state: State = 'connecting';
  room: string;
  hello: any;
  self: any;
  roster: any = { members: [] };
  grants: Record<string, Grant> = {};
  /** Why the door did not open, or why we had to leave. */
  refusal: Refused | undefined;

  #url: URL;
  #options: ConnectOptions;
  #socket: WebSocket | undefined;
  #listeners = new Map<string, Set<Fn>>();
  #pending = new Map<number, Pending>();
  #next = 1;
  #memory: Memory | undefined;
  #meta: Record<string, unknown>;
  #schemas = new Map<string, Schema>();
  #seal: Promise<Seal> | undefined;
  #nonce = '';
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #inbox: Promise<void> = Promise.resolve();

  constructor(url: string, options: ConnectOptions = {}) {
    const base = typeof location === 'undefined' ? undefined : location.href;
    this.#url = new URL(url, base);
    const fragment = new URLSearchParams(this.#url.hash.slice(1));
    this.#options = { ...options, jwt: options.jwt ?? fragment.get('i') ?? '' };
    this.#meta = { ...options.meta };
    if (options.key) this.#meta['role'] ??= 'agent';
    const parts = this.#url.pathname.split('/').filter(Boolean);
    this.room = roomId(decodeURIComponent(parts[0] === 'rooms' || parts[0] === 'r' ? (parts[1] ?? '') : (parts.at(-1) ?? '')));
    const secret = options.roomKey ?? fragment.get('k') ?? '';
    if (secret) this.#seal = Seal.from(secret, this.room);
    this.#memory = options.memory?.load();
    this.#dial();
  }

  // --- Listening

  on(event: string, fn: Fn): () => void {
    const own = (value: any) => fn(value);
    (this.#listeners.get(event) ?? this.#listeners.set(event, new Set()).get(event)!).add(own);
    return () => void this.#listeners.get(event)?.delete(own);
  }

  #tell(event: string, value: any): void {
    for (const fn of [...(this.#listeners.get(event) ?? [])]) {
      try {
        fn(value);
      } catch (error) {
        console.error(error);
      }
    }
  }

  #become(state: State): void {
    if (this.state === state) return;
    this.state = state;
    this.#tell('state', state);
  }

  // --- The controller an agent is built on

  broadcast = (data: unknown) => this.send({ k: 'app', data });
  sendTo = (id: string, data: unknown) => this.send({ k: 'app', data }, id);
  participants = (): Participant[] => this.roster.members;
  onParticipants = (fn: (list: Participant[]) => void) => this.on('roster', (r) => fn(r.members));
  onMessage = (fn: (data: unknown, from: string) => void) => this.on('content', (m: Content) => m.c.k === 'app' && fn(m.c.data, m.from));
  schemas = (): Schema[] => [...this.#schemas.values()];
  onSchema = (fn: (s: Schema) => void) => this.on('schema', fn);
  grant = (): Grant | undefined => (this.self ? (this.grants[this.self.id] ?? this.self.grant) : undefined);
  onGrant = (fn: (g: Grant) => void) => this.on('caps', () => this.grant() && fn(this.grant()!));

  setMeta = async (meta: Record<string, unknown>): Promise<void> => {
    this.#meta = meta;
    if (this.state === 'in') await this.#ask({ t: 'voice', on: true, meta });
  };

  leave = (): void => {
    if (this.state === 'left') return;
    clearTimeout(this.#timer);
    this.#options.memory?.save(undefined);
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify({ t: 'leave' }));
    this.#socket?.close(1000);
    this.#end('left');
  };

  // --- What a participant can do

  /** Sends content; the promise is kept once the hub has put it in order. */
  async send(c: any, to?: string): Promise<{ seq: number; dup?: boolean }> {
    const sealed = this.hello?.sealed ? await this.#sealed(c, to) : c;
    return this.#ask({ t: 'send', c: sealed, ...(to ? { to } : {}), id: crypto.randomUUID() }, true);
  }

  chat = (text: string, to?: string) => this.send({ k: 'chat', text, ...(to ? { dm: true } : {}) }, to);
  publish = (view: unknown, to?: string) => this.send({ k: 'app', data: { __kib_agent: 'view', view } }, to);
  registerSchema = (name: string, version: string, schema: unknown) => this.send({ k: 'schema', name, version, schema });
  setGrant = (id: string, grant: Partial<Grant> | null) => this.#ask({ t: 'grant', id, grant });
  command = (op: string, target?: string, reason?: string) => this.#ask({ t: 'mod', op, ...(target ? { target } : {}), ...(reason ? { reason } : {}) });
  signal = (to: string, d: unknown) => this.#ask({ t: 'sig', to, d });
  /** Tells the room what somebody sent over a link without the right to. */
  blocked = (id: string, c: string) => this.#ask({ t: 'blocked', id, c });
  media = (lanes: { audio: boolean; camera: boolean; screen: boolean }) => this.#ask({ t: 'media', ...lanes });
  rename = (name: string) => this.#ask({ t: 'voice', on: true, name });

  /** Comes in, as the options say; `more` adds to what is announced. */
  async announce(more: Record<string, unknown> = {}): Promise<void> {
    const o = this.#options;
    this.refusal = undefined;
    this.#put({
      t: 'voice', on: true, name: o.name ?? 'Guest', cam: false, meta: this.#meta, ...(o.avatar ? { avatar: o.avatar } : {}), ...(o.want ? { want: o.want } : {}),
      ...(o.jwt ? { jwt: o.jwt } : {}), ...(o.fp ? { fp: o.fp } : {}), ...(await this.#proof()), ...more,
    });
  }

  /** A signed command: what a host's key may order, whoever's connection it is. */
  async signedCommand(key: Key, op: string, target?: string): Promise<any> {
    const { sign } = await keyPair(key);
    const fp = await channelFingerprint(dialledOrigin(this.#url), this.room, this.#nonce);
    return this.#ask({ t: 'mod', token: await signToken(sign, { k: 'kbz-host-cmd.v1', room: this.room, fp, op, ...(target ? { target } : {}), iat: Math.floor(Date.now() / 1000) }) });
  }

  async #proof(): Promise<Record<string, unknown>> {
    if (!this.#options.key) return {};
    const { sign, public: agentKey } = await keyPair(this.#options.key);
    const fp = await channelFingerprint(dialledOrigin(this.#url), this.room, this.#nonce);
    return { agentKey, agentAssertion: await signToken(sign, { k: 'kbz-agent-key.v1', room: this.room, fp, iat: Math.floor(Date.now() / 1000) }) };
  }

  async #sealed(c: any, to = ''): Promise<any> {
    if (!this.#seal) throw new Refused('seal.required', 'this room is sealed and its link has no key');
    return (await this.#seal).seal(c, to);
  }

  #ask(frame: any, again = false): Promise<any> {
    if (this.state === 'left' || this.state === 'refused') return Promise.reject(this.refusal ?? new Refused('room.not-admitted', 'not in the room'));
    const n = this.#next++;
    return new Promise((done, fail) => {
      this.#pending.set(n, { frame: { ...frame, n }, done, fail, again });
      if (this.state === 'in' || !again) this.#put({ ...frame, n });
    });
  }

  #put(frame: any): void {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(frame));
  }

  // --- The connection

  #dial(): void {
    const u = new URL(this.#url.href);
    u.protocol = u.protocol === 'https:' || u.protocol === 'wss:' ? 'wss:' : 'ws:';
    u.pathname = `/rooms/${this.room}/ws`;
    u.hash = '';
    const socket = this.#options.open ? this.#options.open(u.href) : new WebSocket(u.href);
    this.#socket = socket;
    // One after the other, although opening a sealed box takes a moment.
    socket.addEventListener('message', (event) => {
      this.#inbox = this.#inbox.then(() => (socket === this.#socket ? this.#frame(JSON.parse(String(event.data))) : undefined)).catch((error) => console.error(error));
    });
    socket.addEventListener('close', (event) => {
      this.#inbox = this.#inbox.then(() => this.#closed(socket, event.code));
    });
  }

  #closed(socket: WebSocket, code: number): void {
    if (socket !== this.#socket || this.state === 'left' || this.state === 'refused') return;
    this.#socket = undefined;
    if ([4401, 4403, 4404, 4409, 4410].includes(code)) {
      this.refusal ??= new Refused(code === 4409 ? 'replaced' : 'room.closed', code === 4409 ? 'the room is open in another tab' : 'the connection was ended');
      this.#end('refused');
      return;
    }
    for (const [n, p] of this.#pending) {
      if (p.again) continue;
      this.#pending.delete(n);
      p.fail(new Refused('offline', 'the connection broke'));
    }
    this.#become('broken');
    const wait = Math.min(15_000, 500 * 2 ** Math.min(this.#attempt++, 6)) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#dial(), wait);
  }

  #end(state: 'left' | 'refused'): void {
    for (const p of this.#pending.values()) p.fail(this.refusal ?? new Refused('left', 'left the room'));
    this.#pending.clear();
    this.#become(state);
  }

  async #frame(f: any): Promise<void> {
    switch (f.t) {
      case 'hello':
        return this.#greeted(f);
      case 'lobby':
        return this.#door(f);
      case 'self':
        return this.#admitted(f);
      case 'roster':
        this.roster = f;
        return this.#tell('roster', f);
      case 'caps':
        this.grants = f.grants ?? {};
        return this.#tell('caps', this.grants);
      case 'from':
        return this.#content(f);
      case 'live':
        this.#live();
        return this.#tell('live', f);
      case 'ack':
      case 'nak':
        return this.#answered(f);
      case 'challenge':
        this.#nonce = f.nonce;
        return this.#put({ t: 'voice', on: true, ...(await this.#proof()) });
      case 'kick':
        this.refusal = new Refused(f.code, f.reason);
        this.#options.memory?.save(undefined);
        return this.#end('refused');
      case 'ping':
        return this.#put({ t: 'pong', ...(f.n ? { n: f.n } : {}) });
      default:
        return this.#tell(f.t, f);
    }
  }

  async #greeted(f: any): Promise<void> {
    this.hello = f;
    this.#nonce = f.nonce;
    this.#attempt = 0;
    this.#become('door');
    this.#tell('hello', f);
    if (this.#memory) {
      const { agentAssertion } = (await this.#proof()) as { agentAssertion?: string };
      this.#put({ t: 'resume', ...this.#memory, ...(agentAssertion ? { agentAssertion } : {}) });
    } else if (!this.#options.quiet || this.self) {
      await this.announce();
    }
  }

  async #door(f: any): Promise<void> {
    if (f.status === 'waiting') this.#become('waiting');
    if (f.code === 'resume.unknown') {
      // Too long away: come in as somebody new, if there is anything to come with.
      this.#memory = undefined;
      this.#options.memory?.save(undefined);
      this.self = undefined;
      if (!this.#options.quiet || this.#attempt > 0) await this.announce();
      else this.#tell('door', f);
      return;
    }
    if (f.code) this.refusal = new Refused(f.code, f.reason ?? f.status);
    this.#tell('door', f);
  }

  #admitted(f: any): void {
    const fresh = this.self?.id !== f.id;
    this.self = f;
    if (fresh) this.#schemas.clear();
    this.#remember({ resume: f.resume, since: this.#memory && !fresh ? this.#memory.since : f.seq });
    this.#become('in');
    this.#tell('self', f);
  }

  #remember(memory: Memory): void {
    this.#memory = memory;
    this.#options.memory?.save(memory);
  }

  // Everything that was missed is here: what was never acknowledged goes out again, under its own id.
  #live(): void {
    for (const p of [...this.#pending.values()]) if (p.again) this.#put(p.frame);
  }

  #answered(f: any): void {
    const p = f.n ? this.#pending.get(f.n) : undefined;
    if (p) {
      this.#pending.delete(f.n);
      if (f.t === 'ack') p.done(f);
      else p.fail(new Refused(f.code, f.reason, f.retryMs ?? 0));
    }
    this.#tell(f.t, f);
  }

  async #content(f: Content): Promise<void> {
    if (this.#memory && f.seq > this.#memory.since) this.#remember({ ...this.#memory, since: f.seq });
    let c = f.c;
    if (this.hello?.sealed) {
      c = this.#seal ? await (await this.#seal).open(f.c, f.to ?? '') : undefined;
      if (!c) return;
    }
    if (c.k === 'schema') {
      const schema = { name: c.name, version: c.version, schema: c.schema, from: f.from };
      this.#schemas.set(`${f.from}\n${c.name}`, schema);
      this.#tell('schema', schema);
    }
    this.#tell('content', { ...f, c });
  }
}

/** Joins a room by its link (/r/NAME) or its socket. */
export function connectRoom(url: string, options: ConnectOptions = {}): RoomConnection {
  return new RoomConnection(url, options);
}
