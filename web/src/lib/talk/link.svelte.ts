// The connection to the hub's conversations: protobuf messages over one
// WebSocket, opened when first needed and again whenever it breaks.

import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ClientMessageSchema, ServerMessageSchema, type AgentEvent, type ClientMessage, type ConversationEvent, type ServerMessage,
} from '../../gen/agentfirst_pb.js';
import { Problem } from '../api';

export type Ask = MessageInitShape<typeof ClientMessageSchema>['message'];
export type Answer = ServerMessage['message'];

interface Waiting {
  /** Returns true when no more answers are expected. */
  take: (answer: Answer) => boolean;
  fail: (problem: Problem) => void;
}

/** A conversation: what `attach` names. */
export interface Place {
  agent: string;
  sender: string;
  thread: string;
}

/** Whoever wants to be told what happens in a conversation, also after a break. */
export interface Follower extends Place {
  /** Where to go on: stored messages after this number, or the last ones when it is 0. */
  resume: () => number;
  event: (event: ConversationEvent) => void;
  refused: (problem: Problem) => void;
}

/** Whoever wants to be told what happens in all conversations, or in those of an agent. */
export interface Listener {
  agent: string;
  sender: string;
  event: (event: AgentEvent) => void;
  /** It begins, also after a break: what happened before was not told. */
  begun: () => void;
}

const HISTORY = 100;

export class Link {
  state = $state<'closed' | 'opening' | 'open' | 'broken'>('closed');
  /** Whom the hub takes us for. */
  sender = $state('');
  #socket: WebSocket | null = null;
  #next = 1n;
  #waiting = new Map<bigint, Waiting>();
  #followers = new Set<Follower>();
  #listeners = new Set<Listener>();
  #ready: Promise<void> | null = null;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #open: () => WebSocket;

  constructor(open: () => WebSocket = () => new WebSocket(location.origin.replace(/^http/, 'ws') + '/talk/ws')) {
    this.#open = open;
  }

  /** Asks something that has one answer. */
  async ask(message: Ask): Promise<Answer> {
    await this.#connected();
    return new Promise((resolve, reject) => {
      this.#send(message, {
        take: (answer) => {
          if (answer.case === 'error') reject(problemOf(answer.value.code, answer.value.message));
          else resolve(answer);
          return true;
        },
        fail: reject,
      });
    });
  }

  /** Asks something that is answered bit by bit. `take` says when it was the last. */
  async each(message: Ask, take: (answer: Answer) => boolean): Promise<void> {
    await this.#connected();
    return new Promise((resolve, reject) => {
      this.#send(message, {
        take: (answer) => {
          if (answer.case === 'error') {
            reject(problemOf(answer.value.code, answer.value.message));
            return true;
          }
          if (!take(answer)) return false;
          resolve();
          return true;
        },
        fail: reject,
      });
    });
  }

  /** Tells a follower everything from now on, until the returned function is called. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    if (this.state === 'open') this.#attach(follower);
    else void this.#connected().catch(() => {}); // connecting attaches every follower, now or at a later attempt
    return () => {
      this.#followers.delete(follower);
      if (this.state === 'open') {
        const { agent, sender, thread } = follower;
        this.#send({ case: 'detach', value: { agent, sender, thread } }, { take: () => true, fail: () => {} });
      }
      if (!this.#wanted) this.#rest();
    };
  }

  /**
   * Tells a listener what happens, until the returned function is called. The wire
   * has no word for leaving: who listens for a while has a link of their own.
   */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.state === 'open') this.#subscribe(listener);
    else void this.#connected().catch(() => {});
    return () => {
      this.#listeners.delete(listener);
      if (!this.#wanted) this.#hangUp();
    };
  }

  get #wanted(): boolean {
    return this.#followers.size + this.#listeners.size > 0;
  }

  // Nobody wants it any more; whatever is asked next connects again.
  #hangUp(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    if (socket) this.#closed(socket);
    socket?.close(1000);
  }

  /** Tries again now. */
  retry(): void {
    if (this.state !== 'broken') return;
    clearTimeout(this.#timer);
    void this.#connected().catch(() => {});
  }

  #connected(): Promise<void> {
    this.#ready ??= this.#connect();
    return this.#ready;
  }

  #connect(): Promise<void> {
    clearTimeout(this.#timer);
    this.state = 'opening';
    const socket = this.#open();
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      socket.addEventListener('message', (event) => this.#received(event.data));
      socket.addEventListener('close', () => {
        reject(gone());
        this.#closed(socket);
      });
      socket.addEventListener('open', () => {
        this.#send(
          { case: 'hello', value: { version: 1, client: 'parley-page' } },
          {
            take: (answer) => {
              if (answer.case === 'hello') {
                this.sender = answer.value.sender;
                this.state = 'open';
                this.#attempt = 0;
                resolve();
                for (const f of this.#followers) this.#attach(f);
                for (const l of this.#listeners) this.#subscribe(l);
              } else if (answer.case === 'error') {
                reject(problemOf(answer.value.code, answer.value.message));
                for (const f of this.#followers) f.refused(problemOf(answer.value.code, answer.value.message));
              }
              return true;
            },
            fail: reject,
          },
        );
      });
    });
  }

  #attach(follower: Follower): void {
    if (!this.#followers.has(follower)) return;
    const { agent, sender, thread } = follower;
    const after = follower.resume();
    this.#send(
      { case: 'attach', value: { agent, sender, thread, afterSeq: BigInt(after), history: after ? 0 : HISTORY } },
      {
        take: (answer) => {
          if (answer.case === 'error') follower.refused(problemOf(answer.value.code, answer.value.message));
          else if (answer.case === 'conversationEvent') follower.event(answer.value);
          return answer.case === 'error';
        },
        fail: () => {}, // attached again after the reconnect
      },
    );
  }

  #subscribe(listener: Listener): void {
    const { agent, sender } = listener;
    const take = (answer: Answer) => {
      if (answer.case === 'agentEvent' && this.#listeners.has(listener)) listener.event(answer.value);
      return answer.case === 'error';
    };
    this.#send({ case: 'subscribeEvents', value: { agent, sender } }, { take, fail: () => {} });
    listener.begun();
  }

  #send(message: Ask, waiting: Waiting): void {
    const requestId = this.#next++;
    this.#waiting.set(requestId, waiting);
    const frame = create(ClientMessageSchema, { message, requestId } as MessageInitShape<typeof ClientMessageSchema>);
    try {
      this.#socket!.send(toBinary(ClientMessageSchema, frame as ClientMessage));
    } catch {
      this.#waiting.delete(requestId);
      waiting.fail(gone());
    }
  }

  #received(data: unknown): void {
    if (!(data instanceof ArrayBuffer)) return;
    const { message, requestId } = fromBinary(ServerMessageSchema, new Uint8Array(data));
    const waiting = this.#waiting.get(requestId);
    if (waiting) {
      if (waiting.take(message)) this.#waiting.delete(requestId);
    } else if (message.case === 'conversationEvent') {
      const event = message.value;
      for (const f of this.#followers) if (f.agent === event.agent && f.thread === event.thread) f.event(event);
    }
  }

  #closed(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#ready = null;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const w of lost) w.fail(gone());
    if (!this.#wanted) {
      this.state = 'closed';
      return;
    }
    this.state = 'broken';
    const wait = Math.min(10_000, 400 * 2 ** Math.min(this.#attempt++, 5)) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => void this.#connected().catch(() => {}), wait);
  }

  // Nobody follows anything: the connection is not needed until somebody does.
  #rest(): void {
    const socket = this.#socket;
    setTimeout(() => {
      if (this.#wanted || this.#waiting.size || socket !== this.#socket) return;
      this.#hangUp();
    }, 5000);
  }
}

function gone(): Problem {
  return new Problem(0, 'offline', 'The conversation is not connected', 'It goes on when the hub is back.');
}

function problemOf(code: number, message: string): Problem {
  const titles: Record<number, string> = { 401: 'Not signed in', 403: 'Not allowed', 404: 'Not found', 409: 'Not possible now', 413: 'Too large', 429: 'Too much at once', 502: 'The model failed', 504: 'The model did not answer' };
  return new Problem(code, String(code), titles[code] ?? 'The hub refused', message);
}

export const link = new Link();
