// A room over its WebSocket: announces, proves its key, resumes after a break
// without gap or duplicate, and sends again what was not acknowledged.

import type { Controller, Grant, Participant, Schema } from './agent';
import { channelFingerprint, dialledOrigin, fromBase64url, keyPair, roomId, sha256, signToken, toBase64url, utf8, utf8Text, type Key } from './codec';
import { Seal } from './seal';
import { fromWire, toWire } from './wire';

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
  /** A paid minute, where agents pay. */
  credit?: string;
  /** Gets the next credit: at first unless one was given, and whenever half of the last one's time is over. */
  renewCredit?: () => Promise<string>;
  /** This participant's certificate fingerprint, for WebRTC. */
  fp?: string;
  avatar?: string;
  /** Keeps what a resume needs, also over a reload. */
  memory?: { load(): Memory | undefined; save(memory: Memory | undefined): void };
  /** Does not dial before join(). */
  quiet?: boolean;
  open?: (url: string) => WebSocket;
}

export interface Memory { resume: string; since: number }
export interface Content { seq: number; ts: number; from: string; to?: string; c: any; retained?: boolean }
export interface ChatEntry { id: string; name: string; text: string; ts: number; self: boolean }
export type State = 'connecting' | 'door' | 'waiting' | 'in' | 'broken' | 'refused' | 'left';

interface Pending { frame: any; done: (ack: any) => void; fail: (why: Error) => void; again: boolean }

type Fn = (value: any) => void;

// After so much silence the hub is asked for a sign; after so much it may be away, and
// nothing real is shown to anybody; after so much it is given up.
const PING_MS = 10_000;
const SILENT_MS = 12_000;
const LOST_MS = 25_000;

// When a credit is renewed that does not say how long it lasts, and the least one waits.
const CREDIT_MS = 30_000;
const SHORTEST_CREDIT_MS = 5_000;

/** Half of what is left of a credit, so that one failure is no lapse. */
export function renewalPause(credit: string, now = Date.now()): number {
  try {
    const { exp } = JSON.parse(utf8Text(fromBase64url(credit.split('.')[1]!)));
    return exp > 0 ? Math.max(SHORTEST_CREDIT_MS, (exp * 1000 - now) / 2) : CREDIT_MS;
  } catch {
    return CREDIT_MS;
  }
}

/** Chat, trail and people as they are kept for those who ask later. */
const KEPT = 500;

export class RoomConnection implements Controller {
  state: State = 'connecting';
  room: string;
  hello: any;
  self: any;
  roster: any = { members: [] };
  grants: Record<string, Grant> = {};
  /** What the hub gave us for links through NAT: at the door without credentials, and renewed once we are in. */
  ice: RTCIceServer[] = [];
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
  /** What is published, to be told again after a break. */
  #lanes: object | undefined;
  /** When a frame came last, and when an answer was asked for last. */
  #heard = 0;
  #pinged = 0;
  #silent = false;
  #watch: ReturnType<typeof setInterval> | undefined;
  #renewing: ReturnType<typeof setTimeout> | undefined;
  #chat: ChatEntry[] = [];
  #audit: any[] = [];
  #present: Participant[] = [];

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
    if (!options.quiet) this.#dial();
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
  getParticipants = (): Participant[] => this.roster.members.map((m: any) => this.#participant(m));
  onMessage = (fn: (data: unknown, from: string) => void) => this.on('content', (m: Content) => m.c.k === 'app' && fn(m.c.data, m.from));
  getSchemas = (): Schema[] => [...this.#schemas.values()];
  onSchema = (fn: (s: Schema) => void) => this.on('schema', fn);
  getGrant = (): Grant | undefined => (this.self ? (this.grants[this.self.id] ?? this.self.grant) : undefined);
  onGrant = (fn: (g: Grant) => void) => this.on('caps', () => this.getGrant() && fn(this.getGrant()!));

  /** A member of the roster as agents of the original protocol know participants. */
  #participant(m: any): Participant {
    const meta = m.meta ?? {};
    return { ...m, meta, isSelf: m.id === this.self?.id, avatar: m.avatar ?? '', camOn: !!m.cam, speaking: false, stream: null, role: m.kind === 'agent' ? 'agent' : meta.role };
  }

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
    if (c.k === 'app') c = { ...c, data: toWire(c.data) };
    const sealed = this.hello?.sealed ? await this.#sealed(c, to) : c;
    return this.#ask({ t: 'send', c: sealed, ...(to ? { to } : {}), id: crypto.randomUUID() }, true);
  }

  sendChat = async (text: string, to?: string) => {
    const ack = await this.send({ k: 'chat', text, ...(to ? { dm: true } : {}) }, to);
    if (this.self) this.#said({ id: this.self.id, name: this.self.name, text, ts: Date.now(), self: true });
    return ack;
  };
  /** What people and agents have said since we are here. */
  getChat = (): ChatEntry[] => [...this.#chat];
  /** The room's trail, for its hosts. */
  getAgentAudit = (): any[] => [...this.#audit];
  /** Who waits in the lobby, and letting them in or not, for its hosts. */
  getKnocks = (): any[] => [...(this.roster.waiting ?? [])];
  setLobby = (on: boolean) => this.command(on ? 'lobbyon' : 'lobbyoff');
  admit = (id: string) => this.command('admit', id);
  deny = (id: string, reason?: string) => this.command('deny', id, reason);
  publish = (view: unknown, to?: string) => this.send({ k: 'app', data: { __kib_agent: 'view', view } }, to);
  registerSchema = (name: string, version: string, schema: unknown) => this.send({ k: 'schema', name, version, schema });
  /** What somebody may, as the room has told it. */
  getCapabilityGrant = (id: string): Grant | undefined => this.grants[id];
  setCapabilityGrant = (id: string, grant: Partial<Grant> | null) => this.#ask({ t: 'grant', id, grant });
  command = (op: string, target?: string, reason?: string) => this.#ask({ t: 'mod', op, ...(target ? { target } : {}), ...(reason ? { reason } : {}) });
  signal = (to: string, d: unknown) => this.#ask({ t: 'sig', to, d });
  /** Tells the room what somebody sent over a link without the right to. */
  blocked = (id: string, c: string) => this.#ask({ t: 'blocked', id, c });
  media = (lanes: { audio: boolean; camera: boolean; screen: boolean }) => {
    this.#lanes = lanes;
    return this.#ask({ t: 'media', ...lanes });
  };
  setName = (name: string) => this.#ask({ t: 'voice', on: true, name });
  setAvatar = (avatar: string) => this.#ask({ t: 'voice', on: true, avatar });
  /** Comes by this key from the next announcement on: before join(), or after a refusal. */
  provideAgentKey = (key: Key): void => {
    this.#options.key = key;
    this.#meta['role'] ??= 'agent';
  };
  /** Shows the room a fresh credit. */
  provideAgentCredit = async (credit: string): Promise<void> => {
    this.#options.credit = credit;
    if (this.state === 'in') await this.#ask({ t: 'voice', on: true, agentCredit: credit });
  };

  getState = (): State => this.state;

  /** Comes in, or tries again after a refusal; the options given here replace former ones. */
  join(options: Partial<Pick<ConnectOptions, 'name' | 'jwt' | 'fp'>> = {}): void {
    Object.assign(this.#options, options);
    if (this.#socket) void this.announce();
    else this.#dial();
  }

  /** Comes in, as the options say; `more` adds to what is announced. */
  async announce(more: Record<string, unknown> = {}): Promise<void> {
    const o = this.#options;
    this.refusal = undefined;
    this.#put({
      t: 'voice', on: true, name: o.name ?? 'Guest', cam: false, meta: this.#meta, ...(o.avatar ? { avatar: o.avatar } : {}), ...(o.want ? { want: o.want } : {}),
      ...(o.jwt ? { jwt: o.jwt } : {}), ...(o.fp ? { fp: o.fp } : {}), ...(await this.#proof()), ...(await this.#paid()), ...more,
    });
  }

  /** A credit that lasts: a new one if there is none, or if it is about to end. */
  async #paid(): Promise<{ agentCredit?: string }> {
    const o = this.#options;
    if (o.renewCredit && (!o.credit || renewalPause(o.credit) <= SHORTEST_CREDIT_MS)) {
      try {
        o.credit = await o.renewCredit();
      } catch (error) {
        if (!o.credit) this.#tell('nak', { t: 'nak', code: 'credit.unavailable', reason: (error as Error).message });
      }
    }
    return o.credit ? { agentCredit: o.credit } : {};
  }

  #renewLater(): void {
    clearTimeout(this.#renewing);
    if (!this.#options.renewCredit) return;
    this.#renewing = setTimeout(async () => {
      try {
        await this.provideAgentCredit(await this.#options.renewCredit!());
      } catch (error) {
        // The room ends who cannot pay; until then the next try may do better.
        this.#tell('nak', { t: 'nak', code: (error as Refused).code ?? 'credit.unavailable', reason: (error as Error).message });
      }
      if (this.state === 'in') this.#renewLater();
    }, renewalPause(this.#options.credit ?? ''));
  }

  /** A signed command: what a host's key may order, whoever's connection it is. */
  async signedCommand(key: Key, op: string, target?: string): Promise<any> {
    const { sign } = await keyPair(key);
    const fp = await channelFingerprint(dialledOrigin(this.#url), this.room, this.#nonce);
    return this.#ask({ t: 'mod', token: await signToken(sign, { k: 'kbz-host-cmd.v1', room: this.room, fp, op, ...(target ? { target } : {}), iat: Math.floor(Date.now() / 1000) }) });
  }

  /** Where a person signs in for this room, and comes back to `back` with a token that counts on this connection only. */
  async signInAddress(back: string, state: string): Promise<string | undefined> {
    const { authUri, clientId } = this.hello?.signIn ?? {};
    if (!authUri) return undefined;
    const u = new URL(authUri);
    // A room's word is no reason to run a script.
    if (u.protocol !== 'https:' && !(u.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(u.hostname))) return undefined;
    const fp = await channelFingerprint(dialledOrigin(this.#url), this.room, this.#nonce);
    const nonce = toBase64url(await sha256(utf8.encode(`${fp}|${this.room}`)));
    for (const [name, value] of Object.entries({ response_type: 'id_token', response_mode: 'fragment', scope: 'openid email', client_id: clientId, redirect_uri: back, state, nonce })) u.searchParams.set(name, value);
    return u.href;
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
    let socket: WebSocket;
    try {
      socket = this.#options.open ? this.#options.open(u.href) : new WebSocket(u.href);
    } catch {
      return this.#later(); // as if it had been refused: the next try may do better
    }
    this.#socket = socket;
    this.#heard = this.#pinged = Date.now();
    clearInterval(this.#watch);
    this.#watch = setInterval(() => this.#look(socket), 1000);
    // One after the other, although opening a sealed box takes a moment.
    socket.addEventListener('message', (event) => {
      if (socket === this.#socket) this.#signOfLife();
      this.#inbox = this.#inbox.then(() => (socket === this.#socket ? this.#frame(JSON.parse(String(event.data))) : undefined)).catch((error) => console.error(error));
    });
    socket.addEventListener('close', (event) => {
      this.#inbox = this.#inbox.then(() => this.#closed(socket, event.code));
    });
  }

  #signOfLife(): void {
    this.#heard = Date.now();
    if (!this.#silent) return;
    this.#silent = false;
    this.#tell('silent', false);
  }

  // Browsers hide the hub's own pings, so we send some. What counts is an answer that did
  // not come, not the time alone: a tab in the background looks up once a minute.
  #look(socket: WebSocket): void {
    const now = Date.now();
    if (this.#heard >= this.#pinged && now - this.#heard >= PING_MS) {
      this.#pinged = now;
      return this.#put({ t: 'ping' });
    }
    if (this.#heard >= this.#pinged) return;
    const waited = now - this.#pinged;
    if (!this.#silent && this.state === 'in' && waited >= SILENT_MS - PING_MS) {
      this.#silent = true;
      this.#tell('silent', true);
    }
    if (waited < LOST_MS - PING_MS) return;
    socket.close();
    this.#inbox = this.#inbox.then(() => this.#closed(socket, 1006));
  }

  #later(): void {
    this.#become('broken');
    const wait = Math.min(15_000, 500 * 2 ** Math.min(this.#attempt++, 6)) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#dial(), wait);
  }

  #closed(socket: WebSocket, code: number): void {
    if (socket !== this.#socket || this.state === 'left' || this.state === 'refused') return;
    this.#socket = undefined;
    clearInterval(this.#watch);
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
    this.#later();
  }

  #end(state: 'left' | 'refused'): void {
    clearInterval(this.#watch);
    clearTimeout(this.#renewing);
    this.#settle(this.refusal ?? new Refused('left', 'left the room'));
    this.#become(state);
  }

  /** What nobody will answer any more is answered here. */
  #settle(why: Refused): void {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const p of waiting) p.fail(why);
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
        this.#tell('roster', f);
        return this.#snapshot();
      case 'ice':
        this.ice = f.ice ?? [];
        return this.#tell('ice', this.ice);
      case 'audit':
        this.#audit = [...this.#audit, f.e].slice(-KEPT);
        return this.#tell('audit', f);
      case 'reset':
        this.#chat = [];
        return this.#tell('reset', f);
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

  // Who came, who went, and how it all stands now, in the order that existing apps know.
  #snapshot(): void {
    const before = new Map(this.#present.map((p) => [p.id, p]));
    const now = this.getParticipants();
    this.#present = now;
    for (const p of now) if (!before.delete(p.id)) this.#tell('join', p);
    for (const p of before.values()) this.#tell('leave', p);
    this.#tell('participants', now);
    this.#tell('speaking', []); // nobody measures it
    this.#tell('state', this.state);
    this.#tell('knocks', this.getKnocks());
    this.#tell('lobby', !!this.roster.lobby);
    this.#tell('chat', this.getChat());
  }

  #said(line: ChatEntry): void {
    this.#chat = [...this.#chat, line].slice(-KEPT);
    this.#tell('chat', this.getChat());
  }

  async #greeted(f: any): Promise<void> {
    this.hello = f;
    this.ice = f.ice ?? [];
    this.#nonce = f.nonce;
    this.#attempt = 0;
    this.#become('door');
    this.#tell('hello', f);
    if (this.#memory) {
      const { agentAssertion } = (await this.#proof()) as { agentAssertion?: string };
      this.#put({ t: 'resume', ...this.#memory, ...(agentAssertion ? { agentAssertion } : {}), ...(await this.#paid()) });
    } else {
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
      return this.announce();
    }
    if (f.code) {
      this.refusal = new Refused(f.code, f.reason ?? f.status);
      this.#settle(this.refusal);
    }
    this.#tell('door', f);
  }

  #admitted(f: any): void {
    const fresh = this.self?.id !== f.id;
    this.self = f;
    if (fresh) this.#schemas.clear();
    this.#remember({ resume: f.resume, since: this.#memory && !fresh ? this.#memory.since : f.seq });
    this.ice = f.ice ?? this.ice;
    this.#become('in');
    this.#tell('self', f);
    this.#renewLater();
  }

  #remember(memory: Memory): void {
    this.#memory = memory;
    this.#options.memory?.save(memory);
  }

  // Everything that was missed is here: what was never acknowledged goes out again, under its own id.
  #live(): void {
    if (this.#lanes) this.#ask({ t: 'media', ...this.#lanes }).catch(() => {}); // a right to speak may be gone
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
    if (c.k === 'app') c = { ...c, data: fromWire(c.data) };
    this.#tell('content', { ...f, c });
    const text = c.k === 'chat' ? c.text : c.k === 'app' && c.data?.__kib_agent === 'chat' ? c.data.text : undefined;
    if (typeof text === 'string') this.#said({ id: f.from, name: this.roster.members.find((m: any) => m.id === f.from)?.name ?? '', text, ts: f.ts, self: false });
  }
}

/** Joins a room by its link (/r/NAME) or its socket. */
export function connectRoom(url: string, options: ConnectOptions = {}): RoomConnection {
  return new RoomConnection(url, options);
}
