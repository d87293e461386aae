// The connection for tasks and terminals: JSON envelopes over one WebSocket,
// opened while somebody uses it and again whenever it breaks. The page proves
// itself by its cookie, so no token is ever in its hands.

import { Problem } from '../api';

export interface Envelope {
  type: string;
  id: string;
  timestamp?: string;
  reply_to?: string;
  payload: any;
}

type Listener = (frame: Envelope) => void;

interface Waiting {
  done: (frame: Envelope) => void;
  fail: (problem: Problem) => void;
}

/** How many frames the inspector remembers. */
const KEPT = 400;
const BEAT = 15_000;

export class Board {
  state = $state<'closed' | 'opening' | 'open' | 'broken'>('closed');
  scopes = $state<string[]>([]);
  /** What went over the wire lately, for the inspector; null while nobody looks. */
  frames = $state.raw<{ out: boolean; at: number; frame: Envelope }[]>([]);
  roundTrip = $state<number | undefined>();

  #socket: WebSocket | null = null;
  #users = 0;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  #waiting = new Map<string, Waiting>();
  #listeners = new Set<Listener>();
  #openers = new Set<() => void>();
  #queued: Envelope[] = [];
  #open: () => WebSocket;

  constructor(open: () => WebSocket = () => new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws')) {
    this.#open = open;
  }

  /** Keeps the connection until the returned function is called. `opened` is called on every connection, `heard` with every frame. */
  use(heard: Listener, opened: () => void = () => {}): () => void {
    this.#users++;
    this.#listeners.add(heard);
    this.#openers.add(opened);
    if (this.state === 'open') opened();
    else this.#connect();
    return () => {
      this.#users--;
      this.#listeners.delete(heard);
      this.#openers.delete(opened);
      if (!this.#users) setTimeout(() => !this.#users && this.#rest(), 5000);
    };
  }

  /** Sends and waits for the first frame that answers. */
  request(type: string, payload: object): Promise<Envelope> {
    return new Promise((done, fail) => {
      const frame = envelope(type, payload);
      this.#waiting.set(frame.id, { done, fail });
      this.#put(frame);
    });
  }

  /** Sends something that is not answered. */
  send(type: string, payload: object): void {
    if (this.state === 'open') this.#put(envelope(type, payload));
  }

  retry(): void {
    if (this.state === 'broken') this.#connect();
  }

  #put(frame: Envelope): void {
    if (this.state !== 'open') {
      this.#queued.push(frame);
      this.#connect();
      return;
    }
    this.#keep(true, frame);
    this.#socket!.send(JSON.stringify(frame));
  }

  #connect(): void {
    if (this.#socket) return;
    clearTimeout(this.#timer);
    this.state = 'opening';
    const socket = this.#open();
    this.#socket = socket;
    socket.addEventListener('message', (event) => this.#received(socket, String(event.data)));
    socket.addEventListener('close', () => this.#closed(socket));
  }

  #received(socket: WebSocket, text: string): void {
    const frame = JSON.parse(text) as Envelope;
    this.#keep(false, frame);
    if (frame.type === 'connection:welcome') {
      const auth = envelope('connection:auth', { device_id: 'page', role: 'operator', scopes: ['*', 'terminal:create'], client: { name: 'parley-page', version: '1' } });
      this.#keep(true, auth);
      socket.send(JSON.stringify(auth));
      return;
    }
    if (frame.type === 'connection:authenticated') this.#opened(frame);
    if (frame.type === 'health:pong') this.roundTrip = Date.now() - Date.parse(frame.payload.client_time);
    const waiting = frame.reply_to ? this.#waiting.get(frame.reply_to) : undefined;
    if (waiting) {
      this.#waiting.delete(frame.reply_to!);
      const problem = refusal(frame);
      if (problem) waiting.fail(problem);
      else waiting.done(frame);
    }
    for (const heard of this.#listeners) heard(frame);
  }

  #opened(frame: Envelope): void {
    this.scopes = frame.payload.granted_scopes ?? [];
    this.state = 'open';
    this.#attempt = 0;
    clearInterval(this.#beat);
    this.#beat = setInterval(() => this.send('health:ping', { client_time: new Date().toISOString() }), BEAT);
    this.send('health:ping', { client_time: new Date().toISOString() });
    for (const opened of this.#openers) opened();
    for (const waiting of this.#queued.splice(0)) this.#put(waiting);
  }

  #closed(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    clearInterval(this.#beat);
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#queued = [];
    for (const w of lost) w.fail(gone());
    if (!this.#users) {
      this.state = 'closed';
      return;
    }
    this.state = 'broken';
    const wait = Math.min(15_000, 400 * 2 ** Math.min(this.#attempt++, 6)) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#connect(), wait);
  }

  // The base protocol's polite end; the hub answers with goodbye and closes.
  #rest(): void {
    clearTimeout(this.#timer);
    if (this.state === 'open') this.#put(envelope('connection:close', { reason: 'page' }));
    else this.#socket?.close();
  }

  #keep(out: boolean, frame: Envelope): void {
    this.frames = [...this.frames.slice(1 - KEPT), { out, at: Date.now(), frame }];
  }
}

function envelope(type: string, payload: object): Envelope {
  return { type, id: crypto.randomUUID(), timestamp: new Date().toISOString(), payload };
}

/** What a frame refuses, if it does. */
export function refusal(frame: Envelope): Problem | null {
  const p = frame.payload ?? {};
  if (frame.type === 'connection:error') return new Problem(statusOf(p.code), p.details?.reason ?? p.code, 'The hub refused', p.message ?? '');
  if (frame.type === 'task:error' && p.final === false && p.error?.type !== 'already_running') return new Problem(p.error?.type === 'task_not_found' ? 404 : 409, p.error?.type ?? '', 'Not possible', p.error?.message ?? '');
  if (frame.type === 'terminal:error') return new Problem(p.error?.type === 'terminal_not_found' ? 404 : 409, p.error?.type ?? '', 'The terminal refused', p.error?.message ?? '');
  return null;
}

function statusOf(code: string): number {
  return { auth_failed: 403, invalid_token: 401, rate_limited: 429, protocol_error: 400 }[code] ?? 500;
}

function gone(): Problem {
  return new Problem(0, 'offline', 'The hub is not connected', 'It goes on when the hub is back.');
}

export const board = new Board();
