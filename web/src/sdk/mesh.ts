// Links between participants: media lanes, and data where a room wants it. The
// room's socket carries the signalling. Each link is checked against the roster
// before anything passes, and whoever may not see or hear gets a placeholder.

import { colonHex, fromBase64url, keyPair, sha256, signToken, utf8, utf8Text, type Key } from './codec';
import type { RoomConnection } from './connect';
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
  ice?: RTCIceServer[];
}

type Fn = (value: any) => void;

const HELD = 256;
const HELD_BYTES = 1 << 20;
const PROOF_MS = 5000;
const DIAL_MS = 10_000;
const LOST_MS = 12_000;

/** All links of one participant. */
export class Mesh {
  #room: RoomConnection;
  #options: MeshOptions;
  #links = new Map<string, Link>();
  #tracks = new Map<Lane, MediaStreamTrack>();
  #tries = new Map<string, number>();
  #over = false;
  /** Signals of participants the roster does not show yet: it comes less often. */
  #early = new Map<string, unknown[]>();
  #listeners = new Map<string, Set<Fn>>();
  #ends: (() => void)[];
  #lost: ReturnType<typeof setTimeout> | undefined;
  /** While the hub is away for long nobody can say who may perceive what. */
  #blind = false;
  #placeholders: Record<'audio' | 'video', Placeholder> = { audio: silentTrack(), video: blackTrack() };

  constructor(room: RoomConnection, options: MeshOptions) {
    this.#room = room;
    this.#options = options;
    this.#ends = [
      room.on('roster', () => this.#meet()),
      room.on('caps', () => this.#apply()),
      room.on('sig', (f) => void this.#signalled(f.from, f.d)),
      room.on('state', (state) => this.#state(state)),
    ];
    this.#meet();
  }

  on(event: 'stream' | 'link' | 'content', fn: Fn): () => void {
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

  /** Sends content over the links, to those who may perceive it. */
  send(c: unknown, to = ''): void {
    for (const [id, link] of this.#links) {
      if (to ? id === to && this.can(id, 'receive-directed') : this.can(id, 'read-chat')) link.send(c);
    }
  }

  /** Ids of those a checked link stands with. */
  get linked(): string[] {
    return [...this.#links].filter(([, l]) => l.checked).map(([id]) => id);
  }

  close(): void {
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

  member(id: string): any {
    return this.#room.roster.members.find((m: any) => m.id === id);
  }

  get speaks(): boolean {
    return this.can(this.#room.self?.id, 'speak');
  }

  /** The real track where a caps permits it; else something that flows and says nothing. */
  trackFor(id: string, lane: Lane): MediaStreamTrack | null {
    if (!this.speaks) return null;
    const real = this.#tracks.get(lane);
    if (!real) return null;
    const may = !this.#blind && this.can(id, lane === 'audio' ? 'hear-audio' : 'see-screen');
    return may ? real : this.#placeholders[lane === 'audio' ? 'audio' : 'video'].track();
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

  get room(): string {
    return this.#room.room;
  }

  // --- Who is there

  #meet(): void {
    const me = this.#room.self?.id;
    if (!me) return;
    const there = new Set<string>();
    for (const m of this.#room.roster.members) {
      if (m.id === me || !m.fp) continue;
      there.add(m.id);
      // The smaller id offers, so that a pair dials once.
      if (!this.#links.has(m.id) && me < m.id) this.#links.set(m.id, new Link(this, m.id, true));
    }
    for (const [id, link] of this.#links) if (!there.has(id)) this.drop(id, link);
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
    this.#again(id);
    this.tell('stream', { id, lane: undefined, track: undefined });
  }

  // A link that failed is tried again a few times, while both are there.
  #again(id: string): void {
    const tries = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, tries);
    if (tries <= 5) setTimeout(() => !this.#over && this.#meet(), 1000 * tries);
  }

  async #signalled(from: string, d: any): Promise<void> {
    if (!this.member(from)) {
      const waiting = this.#early.get(from) ?? [];
      if (waiting.length < HELD && this.#early.size < HELD) this.#early.set(from, [...waiting, d]);
      return;
    }
    let link = this.#links.get(from);
    if (d?.type === 'bye') {
      if (link) this.drop(from, link);
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
    for (const link of this.#links.values()) link.negotiateIfNeeded();
  }

  #state(state: string): void {
    clearTimeout(this.#lost);
    if (state === 'in') {
      this.#blind = false;
      this.#meet();
      this.#apply();
    } else if (state === 'broken' || state === 'door') {
      this.#lost = setTimeout(() => {
        this.#blind = true;
        this.#apply();
      }, LOST_MS);
    } else if (state === 'left' || state === 'refused') {
      this.close();
    }
  }
}

/** One pair of participants. */
class Link {
  id: string;
  checked = false;
  #mesh: Mesh;
  #peer: string;
  #pc: RTCPeerConnection;
  #channel: RTCDataChannel;
  #senders: Partial<Record<Lane, RTCRtpTransceiver>> = {};
  #held: string[] = [];
  #heldBytes = 0;
  #early: RTCIceCandidateInit[] = [];
  #remote: { lane: Lane; track: MediaStreamTrack }[] = [];
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
    this.#pc = new RTCPeerConnection({ certificates: [mesh.options.certificate], iceServers: mesh.options.ice ?? [] });
    this.#channel = this.#pc.createDataChannel('kbz', { negotiated: true, id: 0 });
    this.#channel.addEventListener('open', () => void this.#opened());
    this.#channel.addEventListener('message', (event) => void this.#heard(event.data));
    this.#pc.addEventListener('icecandidate', ({ candidate }) => candidate && mesh.signal(peer, { link: this.id, type: 'candidate', candidate: candidate.toJSON() }));
    this.#pc.addEventListener('track', ({ track, transceiver }) => this.#track(track, transceiver));
    this.#pc.addEventListener('connectionstatechange', () => ['failed', 'closed'].includes(this.#pc.connectionState) && mesh.drop(peer, this));
    this.#timer = setTimeout(() => !this.checked && mesh.drop(peer, this), DIAL_MS);
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
      t.direction = this.#sending ? 'sendrecv' : 'recvonly';
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

  /** Being given or losing the right to speak changes the directions, which needs a new offer. */
  negotiateIfNeeded(): void {
    if (this.#closed || this.#sending === this.#mesh.speaks) return;
    this.#sending = this.#mesh.speaks;
    for (const t of Object.values(this.#senders)) t.direction = this.#sending ? 'sendrecv' : 'recvonly';
    if (this.#pc.signalingState === 'stable') void this.#offer();
  }

  async #opened(): Promise<void> {
    const member = this.#mesh.member(this.#peer);
    if (!(await this.#certificateFits(member?.fp))) return this.#mesh.drop(this.#peer, this);
    if (this.#mesh.options.key) this.#channel.send(JSON.stringify({ k: 'link', assertion: await this.#mesh.proof() }));
    // A person's link is proven by its certificate; an agent says more first.
    if (member.kind !== 'agent') this.#check();
    else setTimeout(() => !this.checked && this.#mesh.drop(this.#peer, this), PROOF_MS);
  }

  async #certificateFits(fp: string | undefined): Promise<boolean> {
    const certificates = this.#pc.sctp?.transport.getRemoteCertificates() ?? [];
    if (!fp || !certificates[0]) return false;
    return colonHex(await sha256(new Uint8Array(certificates[0]))) === fp.trim().toLowerCase();
  }

  #check(): void {
    if (this.#closed) return;
    this.checked = true;
    clearTimeout(this.#timer);
    for (const text of this.#held.splice(0)) this.#channel.send(text);
    this.applyTracks((lane) => this.#mesh.trackFor(this.#peer, lane));
    for (const { lane, track } of this.#remote) this.#mesh.tell('stream', { id: this.#peer, lane, track });
    this.#mesh.tell('link', this.#peer);
  }

  async #heard(data: unknown): Promise<void> {
    const text = typeof data === 'string' ? data : utf8Text(data as ArrayBuffer);
    let c: any;
    try {
      c = JSON.parse(text);
    } catch {
      return;
    }
    if (!this.checked) {
      if (c?.k === 'link' && (await this.#proves(c.assertion))) this.#check();
      else this.#mesh.drop(this.#peer, this);
      return;
    }
    // What the other may not say is dropped here, whatever its program thinks.
    const right = c?.k === 'app' && c.data?.__kib_agent === 'act' ? 'act' : 'send-chat';
    if (typeof c?.k === 'string' && c.k !== 'link' && this.#mesh.can(this.#peer, right)) this.#mesh.tell('content', { from: this.#peer, c });
  }

  async #proves(token: unknown): Promise<boolean> {
    const member = this.#mesh.member(this.#peer);
    if (typeof token !== 'string' || !member?.key) return false;
    const [body, sig] = token.split('.');
    try {
      const key = await crypto.subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', x: member.key.x, y: member.key.y }, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
      if (!(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, fromBase64url(sig!), utf8.encode(body!)))) return false;
      const claims = JSON.parse(utf8Text(fromBase64url(body!)));
      const age = Date.now() / 1000 - claims.iat;
      return claims.k === 'kbz-agent-key.v1' && claims.room === this.#mesh.room && age < 300 && age > -60 && String(claims.fp).trim().toLowerCase() === member.fp.trim().toLowerCase();
    } catch {
      return false;
    }
  }

  send(c: unknown): void {
    const text = JSON.stringify(c);
    if (this.checked && this.#channel.readyState === 'open') {
      this.#channel.send(text);
      return;
    }
    this.#heldBytes += text.length;
    if (this.#held.length < HELD && this.#heldBytes <= HELD_BYTES) this.#held.push(text);
  }

  #track(track: MediaStreamTrack, transceiver: RTCRtpTransceiver): void {
    const lane = lanes[this.#pc.getTransceivers().indexOf(transceiver)];
    if (!lane) return;
    this.#remote.push({ lane, track });
    if (this.checked) this.#mesh.tell('stream', { id: this.#peer, lane, track });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#mesh.signal(this.#peer, { link: this.id, type: 'bye' });
    this.#pc.close();
  }
}
