// An agent in a room, whatever carries it: what it perceives and what it does.

export interface Participant {
  id: string;
  name: string;
  kind?: string;
  meta?: Record<string, unknown>;
  [more: string]: unknown;
}

export interface Grant {
  perceive: string[];
  act: string[];
  backend?: string;
  egress?: boolean;
  expiresAt?: number;
}

export interface Schema {
  name: string;
  version: string;
  schema: unknown;
  from?: string;
}

/**
 * What carries an agent: a relay, a mesh, a page's own widget, a test. The names are those
 * that existing agents are written against; the last four are optional.
 */
export interface Controller {
  broadcast(data: unknown): unknown;
  sendTo(id: string, data: unknown): unknown;
  onMessage(fn: (data: unknown, from: string) => void): () => void;
  getParticipants(): Participant[];
  on(event: 'participants', fn: (list: Participant[]) => void): () => void;
  /** Replaces what is told of this participant. */
  setMeta(meta: Record<string, unknown>): unknown;
  leave(): unknown;
  getSchemas?(): Schema[];
  onSchema?(fn: (schema: Schema) => void): () => void;
  /** What this participant may perceive and do now. */
  getGrant?(): Grant | undefined;
  onGrant?(fn: (grant: Grant) => void): () => void;
}

export interface Bridge {
  onView(fn: (view: unknown) => void): () => void;
  getView(): unknown;
  onChat(fn: (message: ChatLine) => void): () => void;
  say(text: string): unknown;
}

export interface ChatLine { from: string; name: string; text: string }
export interface Denied { code: string; reason: string }

const READ_ONLY = 'this agent is read-only';

/** Listeners that may come and go while they are called; one that throws stops no other. */
class Listeners<A extends unknown[]> {
  #fns = new Set<(...args: A) => void>();

  add = (fn: (...args: A) => void): (() => void) => {
    const own = (...args: A) => fn(...args);
    this.#fns.add(own);
    return () => void this.#fns.delete(own);
  };

  call(...args: A): void {
    for (const fn of [...this.#fns]) {
      if (!this.#fns.has(fn)) continue;
      try {
        fn(...args);
      } catch (error) {
        console.error(error);
      }
    }
  }
}

const envelope = (data: unknown): string => {
  const kind = data && typeof data === 'object' && !Array.isArray(data) ? (data as Record<string, unknown>)['__kib_agent'] : undefined;
  return typeof kind === 'string' ? kind : '';
};

export interface AgentOptions {
  /** It only watches: say, act and send throw. */
  readOnly?: boolean;
  /** The model that gets what the agent perceives; shown to everybody. */
  backend?: string;
  /** What it perceives leaves the room; so it is if a backend is named. */
  egress?: boolean;
}

/** An agent on whatever carries it. It says at once that it is one, which narrows what it may. */
export function createAgent(controller: Controller, options: AgentOptions = {}) {
  const readOnly = !!options.readOnly;
  const views = new Listeners<[unknown, string]>();
  const chats = new Listeners<[ChatLine]>();
  const datas = new Listeners<[unknown, string]>();
  const rosters = new Listeners<[Participant[]]>();
  const denials = new Listeners<[Denied]>();
  let view: unknown = null;
  let left = false;
  let seen = JSON.stringify(controller.getParticipants());

  void controller.setMeta({ role: 'agent', readOnly, ...(options.backend ? { backend: options.backend } : {}), ...(options.backend || options.egress ? { egress: true } : {}) });

  const ends = [
    controller.onMessage((data, from) => {
      const kind = envelope(data);
      const d = data as Record<string, any>;
      if (kind === 'view') {
        // Kept before anybody is told, so that a callback finds the newest.
        view = d['view'];
        views.call(view, from);
      } else if (kind === 'chat') {
        chats.call({ from, name: controller.getParticipants().find((p) => p.id === from)?.name ?? '', text: String(d['text'] ?? '') });
      } else if (!kind) {
        datas.call(data, from);
      }
    }),
    controller.on('participants', (list) => {
      const now = JSON.stringify(list);
      if (now === seen) return;
      seen = now;
      rosters.call(list);
    }),
  ];

  const grant = () => controller.getGrant?.();
  const may = () => {
    const g = grant();
    return !readOnly && (!controller.getGrant || !!g?.act.some((a) => a === 'send-chat' || a === 'act'));
  };
  // What the hub refuses later is told to onDenied; read-only throws at once and sends nothing.
  const emit = (data: unknown, to?: string) => {
    if (readOnly) throw new Error(READ_ONLY);
    if (left) throw new Error('this agent has left');
    const sent = to ? controller.sendTo(to, data) : controller.broadcast(data);
    if (sent instanceof Promise) sent.catch((e: Partial<Denied> & Error) => denials.call({ code: e.code ?? '', reason: e.reason ?? e.message }));
    return sent;
  };

  return {
    onView: views.add,
    getView: () => view,
    onChat: chats.add,
    onData: datas.add,
    onRoster: rosters.add,
    getRoster: () => controller.getParticipants(),
    onSchema: (fn: (s: Schema) => void) => controller.onSchema?.(fn) ?? (() => {}),
    getSchemas: () => controller.getSchemas?.() ?? [],
    onGrant: (fn: (g: Grant) => void) => controller.onGrant?.(fn) ?? (() => {}),
    getGrant: grant,
    onDenied: denials.add,
    get canAct() {
      return may();
    },
    say: (text: string) => emit({ __kib_agent: 'chat', text }),
    /** Asks the app to do something; `to` is the app, so that nobody else reads it. */
    act: (action: unknown, to?: string) => emit({ __kib_agent: 'act', action }, to),
    send: (data: unknown, to?: string) => emit(data, to),
    leave: () => {
      if (left) return;
      left = true;
      for (const end of ends) end();
      return controller.leave();
    },
  };
}

/** An agent on an app's own page: it sees what the app shows it and can only talk. */
export function createAgentFromBridge(bridge: Bridge, options: { readOnly?: boolean } = {}) {
  const readOnly = !!options.readOnly;
  return {
    // Called on the bridge itself: an app's methods may need their own `this`.
    onView: (fn: Parameters<Bridge['onView']>[0]) => bridge.onView(fn),
    getView: () => bridge.getView(),
    onChat: (fn: Parameters<Bridge['onChat']>[0]) => bridge.onChat(fn),
    canAct: !readOnly,
    say: (text: string) => {
      if (readOnly) throw new Error(READ_ONLY);
      return bridge.say(text);
    },
  };
}

/** Keeps an agent from flooding: ready if never stamped or long enough ago. */
export function cooldown(ms: number) {
  let last: number | undefined;
  return {
    ready: (now: number) => last === undefined || now - last >= ms,
    stamp: (now: number) => {
      last = now;
    },
  };
}
