// One task as it is followed: the events of the wire, put together to what a
// person reads. Every event is applied once, also after a break.

import { Problem } from '../api';
import type { Board, Envelope } from './link.svelte';

export interface Text { kind: 'text'; turn: number; text: string }
export interface Said { kind: 'said'; ids: string[]; text: string; mode: string; by: string }
export interface Call {
  kind: 'call';
  id: string;
  name: string;
  arguments: string;
  state: 'running' | 'done' | 'failed';
  output: string;
  exit?: number;
  started: number;
  ms?: number;
  /** The question that waits, or how it was decided. */
  approval?: { id: string; outcome: string; by: string; reason: string };
}
export interface Asked { kind: 'asked'; id: string; tool: string; outcome: string; by: string; reason: string }
export interface Note { kind: 'note'; text: string }
export type Entry = Text | Said | Call | Asked | Note;

export interface Step { id: string; title: string; status: string }
export interface Waiting { id: string; text: string; mode: string }
export interface Budget { used: number; limit: number; warning: boolean }
export type Status = 'loading' | 'running' | 'paused' | 'completed' | 'failed' | 'stopped';

export class Task {
  id: string;
  status = $state<Status>('loading');
  goal = $state('');
  agent = $state('');
  mode = $state('');
  key = $state('');
  started = $state('');
  ended = $state('');
  entries = $state<Entry[]>([]);
  steps = $state<Step[]>([]);
  planText = $state('');
  queue = $state<Waiting[]>([]);
  /** Messages the task never got to; they go back to whoever wrote them. */
  returned = $state<Waiting[]>([]);
  phase = $state('');
  step = $state('');
  message = $state('');
  tokens = $state(0);
  cost = $state<number | undefined>();
  budget = $state<Budget | undefined>();
  error = $state<{ type: string; message: string; recoverable: boolean; suggestion: string } | undefined>();
  artifacts = $state<{ id: string; title?: string; ref?: string }[]>([]);
  turns = $state(0);
  problem = $state<Problem | null>(null);
  /** How many events came at once after a break. */
  caughtUp = $state(0);
  gap = $state(false);

  last = 0;
  #board: Board;
  #leave: () => void;
  #resumed = false;
  /** Whether this connection's replay has begun: questions that wait are sent before it, with numbers of their own. */
  #replaying = false;
  #calls = new Map<string, Call>();

  constructor(board: Board, id: string) {
    this.#board = board;
    this.id = id;
    this.#leave = board.use((frame) => this.#heard(frame), () => void this.#resume());
  }

  get over(): boolean {
    return ['completed', 'failed', 'stopped'].includes(this.status);
  }

  close(): void {
    if (this.#resumed) this.#board.send('task:unsubscribe', { task_id: this.id });
    this.#leave();
  }

  async #resume(): Promise<void> {
    const before = this.last;
    this.#replaying = false;
    try {
      const { payload } = await this.#board.request('task:resume', { task_id: this.id, ...(before ? { after_seq: before } : {}) });
      this.#resumed = true;
      this.problem = null;
      if (before) this.caughtUp = payload.last_seq - before;
    } catch (error) {
      const problem = error as Problem;
      if (!problem.offline) this.problem = problem;
    }
  }

  async say(text: string, mode: 'steer' | 'followup' | 'collect'): Promise<void> {
    const { payload } = await this.#board.request('task:message', { task_id: this.id, message: { role: 'user', content: text }, injection_mode: mode });
    // The event that the agent has it may be here before the answer.
    if (!this.entries.some((e) => e.kind === 'said' && e.ids.includes(payload.message_id))) this.#wait(payload.message_id, text, mode);
  }

  async stop(reason = ''): Promise<void> {
    await this.#board.request('task:stop', { task_id: this.id, ...(reason ? { reason } : {}) });
  }

  #wait(id: string, text: string, mode: string): void {
    if (!this.queue.some((w) => w.id === id)) this.queue.push({ id, text, mode });
  }

  #heard(frame: Envelope): void {
    const p = frame.payload;
    if (!p || p.task_id !== this.id) return;
    if (frame.type === 'task:snapshot') {
      this.#replaying = true;
      return this.#snapshot(p);
    }
    if (typeof p.seq !== 'number' || !this.#replaying) return;
    if (p.seq <= this.last) return;
    this.last = p.seq;
    this.#apply(frame.type, p, Date.parse(frame.timestamp ?? '') || Date.now());
  }

  #snapshot(p: any): void {
    this.goal = p.goal ?? this.goal;
    this.agent = p.agent ?? this.agent;
    this.key = p.idempotency_key ?? this.key;
    this.started = p.started_at ?? this.started;
    this.status = p.status;
    this.turns = p.turn ?? this.turns;
    this.queue = (p.queued_messages ?? []).map(waiting);
    this.#usage(p.usage);
    if (p.plan) this.#plan(p.plan);
    if (p.gap) {
      this.gap = true;
      this.entries = p.text ? [{ kind: 'text', turn: p.turn ?? 1, text: p.text }] : [];
    }
  }

  #apply(type: string, p: any, at: number): void {
    switch (type) {
      case 'task:started':
        this.status = 'running';
        this.started = p.started_at;
        this.agent = p.agent ?? this.agent;
        this.mode = p.effective_mode ?? '';
        this.key = p.idempotency_key ?? this.key;
        return;
      case 'task:progress':
        return this.#progress(p);
      case 'task:delta':
        return this.#delta(p, at);
      case 'task:user_message':
        return this.#said(p);
      case 'approval:required':
        return this.#asked(p);
      case 'approval:resolved':
        return this.#resolved(p);
      case 'task:completed':
        this.artifacts = p.result?.artifact_refs ?? [];
        for (const u of p.result?.plan_updates ?? []) this.#stepUpdate(u);
        return this.#end('completed', p, p.result?.text, p.completed_at);
      case 'task:stopped':
        this.entries.push({ kind: 'note', text: `Stopped${p.by ? ` by ${p.by}` : ''}${p.reason ? `: ${p.reason}` : ''}` });
        return this.#end('stopped', p, p.partial_result?.text);
      case 'task:error':
        this.error = { type: p.error?.type ?? '', message: p.error?.message ?? '', recoverable: !!p.error?.recoverable, suggestion: p.error?.suggestion ?? '' };
        return this.#end('failed', p, p.partial_result?.text);
    }
  }

  #end(status: Status, p: any, text: string | undefined, at?: string): void {
    // A task that does not stream tells its text only at the end.
    if (text && !this.entries.some((e) => e.kind === 'text')) this.entries.push({ kind: 'text', turn: p.turn ?? 1, text });
    for (const c of this.#calls.values()) if (c.state === 'running') c.state = 'failed';
    this.status = status;
    this.ended = at ?? new Date().toISOString();
    this.turns = p.turns ?? this.turns;
    this.#usage(p.usage);
    this.returned = (p.unprocessed_messages ?? []).map(waiting);
    this.queue = [];
    this.message = '';
  }

  #progress(p: any): void {
    if (this.status !== 'paused') this.status = 'running';
    this.phase = p.status ?? this.phase;
    this.message = p.message ?? '';
    this.step = p.current_step ?? this.step;
    if (p.current_step) for (const s of this.steps) if (s.id === p.current_step && s.status === 'pending') s.status = 'in_progress';
    this.tokens = Math.max(this.tokens, p.tokens_used ?? 0);
    if (p.cost_estimate_usd !== undefined) this.cost = p.cost_estimate_usd;
    if (p.budget) this.budget = { used: p.budget.used_usd, limit: p.budget.limit_usd, warning: !!p.budget.warning };
  }

  #delta(p: any, at: number): void {
    if (p.delta_type === 'text') {
      const end = this.entries.at(-1);
      if (end?.kind === 'text' && end.turn === (p.turn ?? 1)) end.text += p.text;
      else this.entries.push({ kind: 'text', turn: p.turn ?? 1, text: p.text });
    } else if (p.delta_type === 'tool_call') {
      const known = this.#calls.get(p.tool_call.id);
      if (known) known.arguments += p.tool_call.arguments;
      else this.#addCall({ kind: 'call', id: p.tool_call.id, name: p.tool_call.name, arguments: p.tool_call.arguments ?? '', state: 'running', output: '', started: at });
    } else {
      this.#result(p.tool_result, !!p.truncated, at);
    }
  }

  // What is kept is what the list holds: it is watched, the given object is not.
  #addCall(call: Call): Call {
    this.entries.push(call);
    const kept = this.entries.at(-1) as Call;
    this.#calls.set(call.id, kept);
    return kept;
  }

  #result(r: any, cut: boolean, at: number): void {
    const call = this.#calls.get(r?.tool_call_id);
    if (!call) return;
    const result = typeof r.result === 'string' ? parse(r.result) : r.result;
    call.state = result?.ok === false ? 'failed' : 'done';
    call.ms = at - call.started;
    call.exit = result?.output?.exit_code;
    call.output = typeof r.result === 'string' ? r.result : JSON.stringify(r.result, null, 2);
    if (cut) call.output += '\n…';
    // The agent says how far it is by a call: its step ticks at once, not with the end.
    if (call.name === 'plan_update' && call.state === 'done') {
      const said = parse(call.arguments);
      if (said?.step) this.#stepUpdate({ id: said.step, status: said.status });
    }
  }

  #said(p: any): void {
    const ids: string[] = p.message_ids ?? [p.message_id];
    this.queue = this.queue.filter((w) => !ids.includes(w.id));
    this.entries.push({ kind: 'said', ids, text: p.message?.content ?? '', mode: p.mode, by: p.by ?? '' });
  }

  #asked(p: any): void {
    this.status = 'paused';
    const call = this.#calls.get(p.tool_call?.id);
    if (call) call.approval = { id: p.approval_id, outcome: '', by: '', reason: p.reason ?? '' };
    else this.entries.push({ kind: 'asked', id: p.approval_id, tool: p.tool_call?.name ?? '', outcome: '', by: '', reason: p.reason ?? '' });
  }

  #resolved(p: any): void {
    let open = 0;
    for (const e of this.entries) {
      const asked = e.kind === 'asked' ? e : e.kind === 'call' ? e.approval : undefined;
      if (!asked) continue;
      if (asked.id === p.approval_id) Object.assign(asked, { outcome: p.outcome, by: p.by ?? '', reason: p.reason ?? asked.reason });
      if (!asked.outcome) open++;
    }
    if (!open && this.status === 'paused') this.status = 'running';
  }

  #plan(plan: any): void {
    if (plan.format === 'structured') this.steps = (plan.content?.steps ?? []).map((s: Step) => ({ ...s }));
    else this.planText = String(plan.content ?? '');
  }

  #stepUpdate(u: Partial<Step>): void {
    const step = this.steps.find((s) => s.id === u.id);
    if (step) Object.assign(step, u);
  }

  #usage(u: any): void {
    if (!u) return;
    this.tokens = Math.max(this.tokens, u.total_tokens ?? 0);
    if (u.cost_usd !== undefined) this.cost = u.cost_usd;
  }

  /** What was said and done, to keep. */
  markdown(): string {
    const lines = [`# ${this.goal.split('\n')[0]}`, '', `${this.agent}, ${this.started}, ${this.status}`, ''];
    for (const e of this.entries) {
      if (e.kind === 'text') lines.push(e.text, '');
      else if (e.kind === 'said') lines.push(`> ${e.text.replaceAll('\n', '\n> ')}`, '');
      else if (e.kind === 'call') lines.push(`\`${e.name}\``, '', '```json', e.arguments, '```', '', '```', e.output, '```', '');
      else if (e.kind === 'note') lines.push(`*${e.text}*`, '');
    }
    return lines.join('\n');
  }
}

function waiting(m: any): Waiting {
  return { id: m.message_id, text: typeof m.message === 'string' ? m.message : (m.message?.content ?? ''), mode: m.mode ?? 'followup' };
}

function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
