// The hub's event stream: one connection for the whole page. It reconnects by
// itself; after every (re)connection the hub says hello, and whoever keeps a
// list loads it again, so that nothing missed in between stays missed.

import { session } from './session.svelte';
import type { Approval, Resolution, Status } from './types';

/** Something about a machine; only while a page about machines is open. */
export interface MachineChange {
  agent_id: string;
  agent?: unknown;
}

export interface LiveEvents {
  hello: unknown;
  approval: Approval;
  approval_resolved: Resolution;
  status: Status;
  machine: MachineChange;
  call: MachineChange;
  event: MachineChange;
  removed: MachineChange;
}

type Name = keyof LiveEvents;

/** After this many failed attempts in a row "reconnecting" would be a white lie. */
const GIVE_UP_HOPE = 4;

class Live {
  state = $state<'idle' | 'live' | 'reconnecting' | 'offline'>('idle');
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #listeners = new Map<string, Set<(data: never) => void>>();

  constructor() {
    window.addEventListener('online', () => this.retry());
    window.addEventListener('offline', () => {
      if (this.#source || this.#timer) this.state = 'offline';
    });
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) return this.#rest();
      this.#letGo?.();
      if (this.#resting) this.#wake();
      else if (this.state !== 'live' && this.#timer) this.retry();
    });
  }

  #resting = false;
  #letGo: (() => void) | undefined;

  // A browser opens six connections to one hub, for all its tabs together: with
  // a stream in each, the seventh tab would wait for ever. So of all tabs nobody
  // looks at, one keeps its stream, for the count in its title; the others catch
  // up when they are looked at again.
  #rest(): void {
    if (!this.#source || !navigator.locks) return;
    void navigator.locks.request('parley-hidden-tab', { ifAvailable: true }, (lock) => {
      if (!document.hidden) return;
      if (lock) return new Promise<void>((done) => (this.#letGo = done));
      this.#source?.close();
      this.#source = null;
      this.#resting = true;
    });
  }

  #wake(): void {
    this.#resting = false;
    this.state = 'reconnecting';
    this.#open();
  }

  start(): void {
    // The stream is about approvals; who may not see them has none.
    if (session.can('approval:read') && !this.#source && !this.#timer && !this.#resting) this.#open();
  }

  #machines = 0;
  #hasMachines = false;

  /** Has the one stream tell of machines too, until the returned function is called. */
  machines(): () => void {
    this.#machines++;
    if (!this.#hasMachines && !this.#resting) {
      this.#close();
      this.#open();
    }
    let held = true;
    return () => {
      if (held) this.#machines--;
      held = false; // the stream goes on as it is until it is opened again
    };
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.close();
    this.#source = null;
  }

  stop(): void {
    this.#resting = false;
    this.#close();
    this.state = 'idle';
  }

  /** Tries again now, instead of when the waiting time is over. */
  retry(): void {
    if (!this.#source && !this.#timer) return;
    this.stop();
    this.#open();
  }

  on<N extends Name>(name: N, fn: (data: LiveEvents[N]) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set);
    set.add(fn as (data: never) => void);
    this.#bind(name);
    return () => set.delete(fn as (data: never) => void);
  }

  #bound = new Set<string>();

  #bind(name: string): void {
    if (!this.#source || this.#bound.has(name)) return;
    this.#bound.add(name);
    this.#source.addEventListener(name, (event) => this.#emit(name, (event as MessageEvent).data));
  }

  #open(): void {
    this.#timer = undefined;
    if (this.state === 'idle') this.state = 'reconnecting';
    this.#hasMachines = this.#machines > 0;
    const source = new EventSource(this.#hasMachines ? '/api/events?machines=1' : '/api/events');
    this.#source = source;
    this.#bound.clear();
    source.addEventListener('open', () => {
      this.#attempt = 0;
      this.state = 'live';
    });
    source.addEventListener('error', () => this.#failed(source));
    for (const name of this.#listeners.keys()) this.#bind(name);
  }

  #failed(source: EventSource): void {
    if (source !== this.#source) return;
    source.close();
    this.#source = null;
    this.#attempt++;
    this.state = this.#attempt >= GIVE_UP_HOPE || !navigator.onLine ? 'offline' : 'reconnecting';
    const wait = Math.min(10_000, 400 * 2 ** Math.min(this.#attempt, 5)) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#open(), wait);
    // The stream does not tell why it ended; the session does.
    void session.check();
  }

  #emit(name: string, data: string): void {
    let body: unknown;
    try {
      body = data ? JSON.parse(data) : {};
    } catch {
      return; // not ours to interpret
    }
    for (const fn of this.#listeners.get(name) ?? []) fn(body as never);
  }
}

export const live = new Live();
