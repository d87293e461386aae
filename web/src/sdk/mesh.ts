// Links between participants: media lanes, and data where a room wants it. The
// room's socket carries the signalling. Each link is checked against the roster
// before anything passes, and whoever may not see or hear gets a placeholder.

import { colonHex, fromBase64url, keyPair, sha256, signToken, utf8, utf8Text, type Key } from './codec';
import type { Controller } from './agent';
import { connectRoom, Refused, type ConnectOptions, type RoomConnection } from './connect';
import { blackTrack, silentTrack, type Placeholder } from './placeholder';

export type Lane = 'audio' | 'camera' | 'screen';
export const lanes: Lane[] = ['audio', 'camera', 'screen'];

/** One certificate for all links of a participant, and its fingerprint for the announcement. */
export async function newCertificate(): Promise<{ certificate: RTCCertificate; fp: string }> {
  const certificate = await RTCPeerConnection.generateCertificate({ name: 'ECDSA', namedCurve: 'P-256' } as EcKeyGenParams);
  const print = certificate.getFingerprints().find((f) => f.algorithm === 'sha-256');
  return { certificate, fp: (print?.value ?? '').toLowerCase() };
}

export interface MeshOptions {
  certificate: RTCCertificate;
  fp: string;
  /** An agent proves its key on every link. */
  key?: Key;
  /** Servers for links through NAT, if not those that the hub gave. */
  ice?: RTCIceServer[];
  /** What flows in place of a withheld lane, if not silence and black of our own. */
  placeholders?: Record<'audio' | 'video', Placeholder>;
}

type Fn = (value: any) => void;

const HELD = 256;
const HELD_BYTES = 1 << 20;
const PROOF_MS = 20_000;
const DIAL_MS = 30_000;
const LOST_MS = 12_000;
const TRIES = 5;

/**
 * All links of one participant. It is a controller, too: where the room's policy
 * moves content to links they carry it, else the relay does.
 */
export class Mesh implements Controller {
  #room: RoomConnection;
  #options: MeshOptions;
  #links = new Map<string, Link>();
  #tracks = new Map<Lane, MediaStreamTrack>();
  /** Failed links since the last good one, and those whose next try is not due yet. */
  #tries = new Map<string, number>();
  #resting = new Set<string>();
  #over = false;
  /** Signals of participants the roster does not show yet: it comes less often. */
  #early = new Map<string, unknown[]>();
  #listeners = new Map<string, Set<Fn>>();
  #ends: (() => void)[];
  #lost: ReturnType<typeof setTimeout> | undefined;
  /** While the hub is away for long nobody can say who may perceive what. */
  #blind = false;
  #placeholders: Record<'audio' | 'video', Placeholder>;

  constructor(room: RoomConnection, options: MeshOptions) {
    this.#room = room;
    this.#options = options;
    this.#placeholders = options.placeholders ?? { audio: silentTrack(), video: blackTrack() };
    this.#ends = [
      room.on('roster', () => this.#meet()),
      room.on('caps', () => this.#apply()),
      room.on('sig', (f) => void this.#signalled(f.from, f.d)),
      room.on('state', (state) => this.#state(state)),
      room.on('silent', (silent) => this.#silence(silent)),
    ];
    this.#meet();
  }

  on(event: 'stream' | 'link' | 'content' | 'participants', fn: Fn): () => void {
    if (event === 'participants') return this.#room.on(event, fn);
    (this.#listeners.get(event) ?? this.#listeners.set(event, new Set()).get(event)!).add(fn);
    return () => void this.#listeners.get(event)?.delete(fn);
  }

  tell(event: string, value: any): void {
    for (const fn of [...(this.#listeners.get(event) ?? [])]) fn(value);
  }

  /** Publishes a lane, or stops publishing it. */
  async publish(lane: Lane, track: MediaStreamTrack | null): Promise<void> {
    if (track) this.#tracks.set(lane, track);
    else this.#tracks.delete(lane);
    this.#apply();
    await this.#room.media({ audio: this.#tracks.has('audio'), camera: this.#tracks.has('camera'), screen: this.#tracks.has('screen') });
  }

  /** Whether content goes over links in this room. */
  get data(): boolean {
    return !!(this.#room.roster.mesh ?? this.#room.hello?.mesh)?.data;
  }

  /** Sends content to those who may perceive it: over the links, or by the relay. */
  async send(c: any, to = ''): Promise<{ seq: number }> {
    if (!this.data) return this.#room.send(c, to || undefined);
    const right = rightOf(c);
    if (!this.can(this.#room.self?.id, right)) throw new Refused('act.denied', `grant lacks ${right}`);
    if (to && !this.#links.has(to)) throw new Refused('to.unknown', 'no link with that participant');
    if (to && this.knows(to) && !this.can(to, 'receive-directed')) throw new Refused('perceive.denied', 'grant lacks receive-directed');
    const text = JSON.stringify(c);
    for (const [id, link] of this.#links) {
      if (to && id !== to) continue;
      const sent = link.send(text, to ? 'receive-directed' : 'read-chat');
      if (to && !sent) throw new Refused('limit.rate', 'too much waits for that link', 1000);
    }
    return { seq: 0 }; // links have no order, and so no number
  }

  // --- The controller an agent is built on

  broadcast = (data: unknown) => this.send({ k: 'app', data });
  sendTo = (id: string, data: unknown) => this.send({ k: 'app', data }, id);
  getParticipants = () => this.#room.getParticipants();
  setMeta = (meta: Record<string, unknown>) => this.#room.setMeta(meta);
  getSchemas = () => this.#room.getSchemas();
  onSchema: RoomConnection['onSchema'] = (fn) => this.#room.onSchema(fn);
  getGrant = () => this.#room.getGrant();
  onGrant: RoomConnection['onGrant'] = (fn) => this.#room.onGrant(fn);

  /** App data of links and of the relay: those without links are heard, too. */
  onMessage: Controller['onMessage'] = (fn) => {
    const ends = [this.#room.onMessage(fn), this.on('content', ({ from, c }) => c.k === 'app' && fn(c.data, from))];
    return () => ends.forEach((end) => end());
  };

  leave = (): void => {
    this.close();
    this.#room.leave();
  };

  /** Ids of those a checked link stands with. */
  get linked(): string[] {
    return [...this.#links].filter(([, l]) => l.checked).map(([id]) => id);
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#lost);
    for (const end of this.#ends) end();
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    for (const p of Object.values(this.#placeholders)) p.stop();
  }

  // --- What links ask of the mesh

  can(id: string, right: string): boolean {
    const g = this.#room.grants[id];
    if (!g || (g.expiresAt && Date.now() / 1000 >= g.expiresAt)) return false;
    return g.perceive.includes(right) || g.act.includes(right);
  }

  /** Whether the room has told what somebody may do. */
  knows(id: string): boolean {
    return !!this.#room.grants[id];
  }

  member(id: string): any {
    return this.#room.roster.members.find((m: any) => m.id === id);
  }

  get speaks(): boolean {
    return this.can(this.#room.self?.id, 'speak');
  }

  /** The real track where a caps permits it; else something that flows and says nothing; else nothing. */
  trackFor(id: string, lane: Lane): MediaStreamTrack | null {
    if (!this.speaks) return null;
    const real = this.#tracks.get(lane);
    if (!real) return null;
    if (!this.#blind && this.can(id, lane === 'audio' ? 'hear-audio' : 'see-screen')) return real;
    try {
      return this.#placeholders[lane === 'audio' ? 'audio' : 'video'].track();
    } catch {
      return null; // better nothing than what is not for the other's eyes
    }
  }

  /** Takes what came over a checked link, unless its sender may not say it. */
  received(from: string, c: any): void {
    if (!this.data || typeof c?.k !== 'string' || !contents.includes(c.k)) return;
    const view = c.k === 'app' && c.data?.__kib_agent === 'view';
    if (!this.can(from, rightOf(c)) || (view && !this.member(from)?.publisher)) {
      // The hub sees none of this: it is told.
      const kind = c.k === 'app' && ['act', 'view'].includes(c.data?.__kib_agent) ? c.data.__kib_agent : c.k;
      this.#room.blocked(from, kind).catch(() => {});
      return;
    }
    this.tell('content', { from, c });
  }

  signal(to: string, d: object): void {
    this.#room.signal(to, d).catch(() => {}); // told to the room's own listeners as a nak
  }

  async proof(): Promise<string> {
    const { sign } = await keyPair(this.#options.key!);
    return signToken(sign, { k: 'kbz-agent-key.v1', room: this.#room.room, fp: this.#options.fp, iat: Math.floor(Date.now() / 1000) });
  }

  get options(): MeshOptions {
    return this.#options;
  }

  /** A connection by our certificate. A server that this browser does not take must not end the link: one without may stand. */
  connection(): RTCPeerConnection {
    const certificates = [this.#options.certificate];
    try {
      return new RTCPeerConnection({ certificates, iceServers: this.#options.ice ?? this.#room.ice ?? [] });
    } catch {
      return new RTCPeerConnection({ certificates });
    }
  }

  get room(): string {
    return this.#room.room;
  }

  // --- Who is there

  #meet(): void {
    const me = this.#room.self?.id;
    if (!me || this.#over) return;
    const there = new Set<string>();
    for (const m of this.#room.roster.members) {
      if (m.id === me || !m.fp) continue;
      there.add(m.id);
      // The smaller id offers, so that a pair dials once.
      if (me < m.id && !this.#links.has(m.id) && !this.#resting.has(m.id) && (this.#tries.get(m.id) ?? 0) <= TRIES) this.#links.set(m.id, new Link(this, m.id, true));
    }
    for (const [id, link] of this.#links) if (!there.has(id)) this.drop(id, link);
    for (const id of this.#tries.keys()) if (!there.has(id)) this.#tries.delete(id);
    for (const id of there) {
      const waiting = this.#early.get(id) ?? [];
      this.#early.delete(id);
      void (async () => {
        for (const d of waiting) await this.#signalled(id, d);
      })();
    }
  }

  drop(id: string, link: Link): void {
    if (this.#links.get(id) !== link) return;
    this.#links.delete(id);
    link.close();
    this.tell('stream', { id, lane: undefined, track: undefined });
  }

  /** Drops a link that should stand; it is tried again a few times, each time a little later. */
  failed(id: string, link: Link): void {
    if (this.#links.get(id) !== link) return;
    this.drop(id, link);
    const tries = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, tries);
    if (tries > TRIES || this.#resting.has(id)) return;
    this.#resting.add(id);
    setTimeout(() => {
      this.#resting.delete(id);
      this.#meet();
    }, 1000 * tries);
  }

  /** A link is checked: what failed before is forgotten. */
  stands(id: string): void {
    this.#tries.delete(id);
    this.tell('link', id);
  }

  async #signalled(from: string, d: any): Promise<void> {
    if (this.#over) return;
    if (!this.member(from)) {
      const waiting = this.#early.get(from) ?? [];
      if (waiting.length < HELD && this.#early.size < HELD) this.#early.set(from, [...waiting, d]);
      return;
    }
    let link = this.#links.get(from);
    if (d?.type === 'bye') {
      if (link && link.id === d.link) this.failed(from, link);
      return;
    }
    if (!link || (d?.type === 'offer' && d.link !== link.id)) {
      if (d?.type !== 'offer' || !this.member(from)?.fp) return;
      if (link) this.drop(from, link);
      link = new Link(this, from, false, d.link);
      this.#links.set(from, link);
    }
    await link.signalled(d);
  }

  // Withdrawing comes first: nobody sees one frame more than allowed.
  #apply(): void {
    for (const [id, link] of this.#links) link.applyTracks((lane) => this.trackFor(id, lane));
    for (const link of this.#links.values()) link.grantsCame();
  }

  // A hub that hangs does not close the socket: its silence counts like a loss.
  #silence(silent: boolean): void {
    if (!silent && this.#room.state !== 'in') return;
    this.#blind = silent;
    this.#apply();
  }

  #state(state: string): void {
    if (state === 'in') {
      clearTimeout(this.#lost);
      this.#lost = undefined;
      this.#blind = false;
      this.#meet();
      this.#apply();
    } else if (state === 'broken' || state === 'door') {
      // Counted from the loss: a hub that opens the door and shuts it again is away, too.
      this.#lost ??= setTimeout(() => {
        this.#blind = true;
        this.#apply();
      }, LOST_MS);
    } else if (state === 'left' || state === 'refused') {
      this.close();
    }
  }
}

/** Joins a room with links to everybody, by a certificate of its own; the promise is kept once the room has let it in. */
export async function connectMesh(url: string, options: ConnectOptions & Pick<MeshOptions, 'ice' | 'placeholders'> = {}): Promise<Mesh> {
  const { ice, placeholders, ...rest } = options;
  const made = await newCertificate();
  const room = connectRoom(url, { ...rest, fp: made.fp });
  const mesh = new Mesh(room, { ...made, key: rest.key, ice, placeholders });
  await new Promise<void>((done, fail) => {
    room.on('live', () => done());
    room.on('door', (f) => f.code && fail(new Refused(f.code, f.reason ?? f.status)));
    room.on('state', (s) => ['left', 'refused'].includes(s) && fail(room.refusal ?? new Refused('left', 'left the room')));
  });
  return mesh;
}

const contents = ['chat', 'app', 'pay', 'ink', 'schema'];
const rightOf = (c: any): string => (c?.k === 'app' && c.data?.__kib_agent === 'act' ? 'act' : 'send-chat');

/** One pair of participants. */
class Link {
  id: string;
  checked = false;
  #mesh: Mesh;
  #peer: string;
  #pc: RTCPeerConnection;
  #channel: RTCDataChannel;
  #senders: Partial<Record<Lane, RTCRtpTransceiver>> = {};
  /** The certificate is the roster's; an agent's key is, too. */
  #fits = false;
  #proven = false;
  #proving = false;
  #held: { text: string; right: string }[] = [];
  #heldBytes = 0;
  /** What came before the link was checked. */
  #inbox: string[] = [];
  #inboxBytes = 0;
  #early: RTCIceCandidateInit[] = [];
  #remote: { lane: Lane; track: MediaStreamTrack }[] = [];
  #shown = false;
  #closed = false;
  #making = false;
  #offering: boolean;
  #sending: boolean;
  #timer: ReturnType<typeof setTimeout>;

  constructor(mesh: Mesh, peer: string, offers: boolean, id: string = crypto.randomUUID()) {
    this.#mesh = mesh;
    this.#peer = peer;
    this.#offering = offers;
    this.id = id;
    this.#sending = mesh.speaks;
    this.#pc = mesh.connection();
    this.#channel = this.#pc.createDataChannel('kbz', { negotiated: true, id: 0 });
    this.#channel.addEventListener('open', () => void this.#opened());
    this.#channel.addEventListener('message', (event) => this.#heard(event.data));
    this.#pc.addEventListener('icecandidate', ({ candidate }) => candidate && mesh.signal(peer, { link: this.id, type: 'candidate', candidate: candidate.toJSON() }));
    this.#pc.addEventListener('track', ({ track, transceiver }) => this.#track(track, transceiver));
    this.#pc.addEventListener('connectionstatechange', () => ['failed', 'closed'].includes(this.#pc.connectionState) && mesh.failed(peer, this));
    this.#timer = setTimeout(() => !this.checked && mesh.failed(peer, this), DIAL_MS);
    if (offers) {
      for (const lane of lanes) this.#senders[lane] = this.#pc.addTransceiver(lane === 'audio' ? 'audio' : 'video', { direction: this.#sending ? 'sendrecv' : 'recvonly' });
      this.applyTracks((lane) => mesh.trackFor(peer, lane));
      void this.#offer();
    }
  }

  async #offer(): Promise<void> {
    if (this.#closed || this.#making) return;
    this.#making = true;
    try {
      await this.#pc.setLocalDescription();
      this.#mesh.signal(this.#peer, { link: this.id, type: 'offer', sdp: this.#pc.localDescription!.sdp });
    } finally {
      this.#making = false;
    }
  }

  async signalled(d: any): Promise<void> {
    if (this.#closed || d.link !== this.id) return;
    try {
      if (d.type === 'offer') await this.#answer(d.sdp);
      else if (d.type === 'answer') {
        await this.#pc.setRemoteDescription({ type: 'answer', sdp: d.sdp });
        await this.#flush();
      } else if (d.type === 'candidate') {
        if (this.#pc.remoteDescription) await this.#pc.addIceCandidate(d.candidate);
        else this.#early.push(d.candidate);
      }
    } catch (error) {
      if (!this.#closed) console.warn('a link failed', error);
    }
  }

  async #answer(sdp: string): Promise<void> {
    // Both offered at once: the side that dialled gives way to nobody, the other does.
    if (this.#pc.signalingState !== 'stable' && this.#offering) return;
    await this.#pc.setRemoteDescription({ type: 'offer', sdp });
    if (this.#closed) return;
    for (const [i, t] of this.#pc.getTransceivers().entries()) {
      const lane = lanes[i];
      if (!lane) continue;
      this.#senders[lane] = t;
      if (t.currentDirection !== 'stopped') t.direction = this.#sending ? 'sendrecv' : 'recvonly';
    }
    this.applyTracks((lane) => this.#mesh.trackFor(this.#peer, lane));
    await this.#pc.setLocalDescription();
    this.#mesh.signal(this.#peer, { link: this.id, type: 'answer', sdp: this.#pc.localDescription!.sdp });
    await this.#flush();
  }

  async #flush(): Promise<void> {
    for (const c of this.#early.splice(0)) await this.#pc.addIceCandidate(c);
  }

  applyTracks(track: (lane: Lane) => MediaStreamTrack | null): void {
    if (this.#closed) return;
    for (const lane of lanes) {
      const sender = this.#senders[lane]?.sender;
      const want = this.checked ? track(lane) : null;
      if (sender && sender.track !== want) void sender.replaceTrack(want).catch(() => {});
    }
  }

  /** Other rights: the link may open, what the other publishes may end, and our directions change, which needs a new offer. */
  grantsCame(): void {
    this.#advance();
    this.#show();
    if (this.#closed || this.#sending === this.#mesh.speaks) return;
    this.#sending = this.#mesh.speaks;
    for (const t of Object.values(this.#senders)) if (t.currentDirection !== 'stopped') t.direction = this.#sending ? 'sendrecv' : 'recvonly';
    if (this.#pc.signalingState === 'stable') void this.#offer();
  }

  async #opened(): Promise<void> {
    const member = this.#mesh.member(this.#peer);
    if (!(await this.#certificateFits(member?.fp))) return this.#mesh.failed(this.#peer, this);
    if (this.#closed) return;
    if (this.#mesh.options.key) this.#channel.send(JSON.stringify({ k: 'link', assertion: await this.#mesh.proof() }));
    // A person's link is proven by its certificate; an agent says more first.
    this.#fits = true;
    if (member.kind !== 'agent') this.#proven = true;
    else setTimeout(() => !this.checked && this.#mesh.failed(this.#peer, this), PROOF_MS);
    this.#advance();
  }

  async #certificateFits(fp: string | undefined): Promise<boolean> {
    const certificates = this.#pc.sctp?.transport.getRemoteCertificates() ?? [];
    if (!fp || !certificates[0]) return false;
    return colonHex(await sha256(new Uint8Array(certificates[0]))) === fp.trim().toLowerCase();
  }

  // Goes as far as is known: the certificate, the key, what the other may do.
  #advance(): void {
    if (this.#closed || this.checked || !this.#fits || this.#proving) return;
    if (this.#proven) {
      if (this.#mesh.knows(this.#peer)) this.#check();
      return;
    }
    const first = this.#inbox.shift();
    if (first === undefined) return;
    this.#proving = true;
    void this.#proves(first).then((proven) => {
      this.#proving = false;
      if (!proven) return this.#mesh.failed(this.#peer, this);
      this.#proven = true;
      this.#advance();
    });
  }

  #check(): void {
    this.checked = true;
    clearTimeout(this.#timer);
    for (const { text, right } of this.#held.splice(0)) this.send(text, right);
    this.applyTracks((lane) => this.#mesh.trackFor(this.#peer, lane));
    this.#show();
    this.#mesh.stands(this.#peer);
    for (const text of this.#inbox.splice(0)) this.#take(text);
  }

  // What somebody publishes who may not speak is not played.
  #show(): void {
    const may = this.checked && this.#mesh.can(this.#peer, 'speak');
    if (may) for (const { lane, track } of this.#remote) this.#mesh.tell('stream', { id: this.#peer, lane, track });
    else if (this.#shown) this.#mesh.tell('stream', { id: this.#peer, lane: undefined, track: undefined });
    this.#shown = may;
  }

  #heard(data: unknown): void {
    const text = typeof data === 'string' ? data : utf8Text(data as ArrayBuffer);
    if (this.checked) return this.#take(text);
    if (this.#inbox.length === HELD || this.#inboxBytes + text.length > HELD_BYTES) return;
    this.#inbox.push(text);
    this.#inboxBytes += text.length;
    this.#advance();
  }

  #take(text: string): void {
    try {
      this.#mesh.received(this.#peer, JSON.parse(text));
    } catch {
      // not content
    }
  }

  // An agent's first message: its key vouches for the certificate of this very link.
  async #proves(first: string): Promise<boolean> {
    const member = this.#mesh.member(this.#peer);
    try {
      const { k, assertion } = JSON.parse(first);
      if (k !== 'link' || typeof assertion !== 'string' || !member?.key) return false;
      const [body, sig] = assertion.split('.');
      const key = await crypto.subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', x: member.key.x, y: member.key.y }, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
      if (!(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, fromBase64url(sig!), utf8.encode(body!)))) return false;
      const claims = JSON.parse(utf8Text(fromBase64url(body!)));
      const age = Date.now() / 1000 - claims.iat;
      return claims.k === 'kbz-agent-key.v1' && claims.room === this.#mesh.room && age < 300 && age > -60 && String(claims.fp).trim().toLowerCase() === member.fp.trim().toLowerCase();
    } catch {
      return false;
    }
  }

  /** Passes a message on, or holds it until the link is checked; false when it does not fit. The right counts when it passes. */
  send(text: string, right: string): boolean {
    if (this.checked) {
      if (this.#channel.readyState === 'open' && this.#mesh.can(this.#peer, right)) this.#channel.send(text);
      return true;
    }
    if (this.#held.length === HELD || this.#heldBytes + text.length > HELD_BYTES) return false;
    this.#held.push({ text, right });
    this.#heldBytes += text.length;
    return true;
  }

  #track(track: MediaStreamTrack, transceiver: RTCRtpTransceiver): void {
    const lane = lanes[this.#pc.getTransceivers().indexOf(transceiver)];
    if (!lane) return;
    this.#remote.push({ lane, track });
    if (this.checked && this.#mesh.can(this.#peer, 'speak')) {
      this.#shown = true;
      this.#mesh.tell('stream', { id: this.#peer, lane, track });
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#mesh.signal(this.#peer, { link: this.id, type: 'bye' });
    this.#pc.close();
  }
}
