// One run of an agent: its words, what it thought, the tools it used, what it asked.

import type { StreamEvent } from '../../gen/agentfirst_pb.js';
import { StopReason } from '../../gen/agentfirst_pb.js';
import type { Question } from '../types';

export interface Words {
  kind: 'text' | 'thinking' | 'steered';
  text: string;
  /** Number of the stored message, of words that steered the run. */
  seq?: number;
}

export interface Call {
  kind: 'tool';
  id: string;
  name: string;
  arguments: string;
  output: string;
  state: 'running' | 'done' | 'failed';
  ms: number;
  leftOut: number;
}

export interface Asked {
  kind: 'ask';
  id: string;
  questions: Question[];
  expires: string;
  open: boolean;
  by: string;
}

export interface Consent {
  kind: 'consent';
  id: string;
  tool: string;
  summary: string;
  resolved: string;
}

export interface Note {
  kind: 'note';
  text: string;
}

export type Part = Words | Call | Asked | Consent | Note;
type Event = Exclude<StreamEvent['event'], { case: undefined }>;

const reasons: Partial<Record<StopReason, string>> = {
  [StopReason.SILENT]: 'It ended without a word.',
  [StopReason.CANCELLED]: 'Stopped.',
  [StopReason.KILLED]: 'Ended by force.',
  [StopReason.INTERRUPTED]: 'The hub restarted meanwhile.',
  [StopReason.BUDGET]: 'The budget is spent.',
  [StopReason.TIMEOUT]: 'It took too long.',
};

export interface Result {
  callId: string;
  output: string;
  durationMs: bigint;
  isError: boolean;
  leftOutBytes: bigint;
}

/** Writes down what came of a call. */
export function finish(call: Call, r: Result): void {
  call.output = r.output;
  call.state = r.isError ? 'failed' : 'done';
  call.ms = Number(r.durationMs);
  call.leftOut = Number(r.leftOutBytes);
}

export class Run {
  readonly kind = 'run' as const;
  parts = $state<Part[]>([]);
  ended = $state(false);
  error = $state('');
  model = $state('');
  tokens = $state(0);
  cost = $state<number | undefined>();
  /** Number of the reply, once it is stored; of the turn until then. */
  seq = $state(0);

  constructor(
    readonly id: string,
    readonly agent: string,
    seq: number,
    readonly source: 'own' | 'attached',
  ) {
    this.seq = seq;
  }

  restart(): void {
    this.parts = [];
  }

  take(event: Event): void {
    switch (event.case) {
      case 'chunk': return this.#say('text', event.value.content);
      case 'thinking': return this.#say('thinking', event.value.content);
      case 'toolStart': return this.#calls(event.value.calls);
      case 'toolResult': return this.#result(event.value);
      case 'askUser': return this.#ask(event.value.askId, event.value.questions, event.value.expiresAt);
      case 'askResolved': return this.#answered(event.value.askId, event.value.by);
      case 'waiting': return this.#consent(event.value);
      case 'notice': return void this.parts.push({ kind: 'note', text: event.value.text });
      case 'end': return this.#end(event.value);
    }
  }

  /** Words of a person that joined the run. */
  steered(text: string, seq: number): void {
    if (!this.holds(seq)) this.parts.push({ kind: 'steered', text, seq });
  }

  /** Whether the numbered message is part of this run. */
  holds(seq: number): boolean {
    return seq > 0 && this.parts.some((p) => p.kind === 'steered' && p.seq === seq);
  }

  #say(kind: 'text' | 'thinking', text: string): void {
    const last = this.parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) this.parts.push({ kind, text });
  }

  // A call is told first by name alone, then with its arguments.
  #calls(calls: { name: string; arguments: string; callId: string }[]): void {
    for (const c of calls) {
      const known = this.parts.find((p): p is Call => p.kind === 'tool' && (c.callId ? p.id === c.callId : p.name === c.name && p.state === 'running'));
      if (known) known.arguments = c.arguments || known.arguments;
      else this.parts.push({ kind: 'tool', id: c.callId, name: c.name, arguments: c.arguments, output: '', state: 'running', ms: 0, leftOut: 0 });
    }
  }

  /** Whether a call is part of what was heard of this run. */
  called(id: string): boolean {
    return this.parts.some((p) => p.kind === 'tool' && p.id === id);
  }

  #result(r: Result): void {
    const call = this.parts.find((p): p is Call => p.kind === 'tool' && p.id === r.callId) ?? this.parts.find((p): p is Call => p.kind === 'tool' && p.state === 'running');
    if (call) finish(call, r);
  }

  #ask(id: string, questions: { question: string; header: string; options: { label: string; description: string }[]; multiSelect: boolean }[], expires: string): void {
    if (this.parts.some((p) => p.kind === 'ask' && p.id === id)) return;
    this.parts.push({
      kind: 'ask', id, expires, open: true, by: '',
      questions: questions.map((q) => ({ question: q.question, header: q.header, options: q.options.map((o) => ({ label: o.label, description: o.description })), multi_select: q.multiSelect })),
    });
  }

  #answered(id: string, by: string): void {
    const part = this.parts.find((p): p is Asked => p.kind === 'ask' && p.id === id);
    if (part) [part.open, part.by] = [false, by];
  }

  #consent(w: { approvalId: string; tool: string; summary: string; resolved: string }): void {
    const known = this.parts.find((p): p is Consent => p.kind === 'consent' && p.id === w.approvalId);
    if (known) known.resolved = w.resolved;
    else this.parts.push({ kind: 'consent', id: w.approvalId, tool: w.tool, summary: w.summary, resolved: w.resolved });
  }

  #end(e: { error: string; model: string; stop: StopReason; seq: bigint; usage?: { totalTokens: number; costMicros?: bigint } }): void {
    this.ended = true;
    this.error = reasons[e.stop] ?? e.error;
    if (!e.error && e.stop === StopReason.DONE) this.error = '';
    this.model = e.model;
    this.tokens = e.usage?.totalTokens ?? 0;
    this.cost = e.usage?.costMicros === undefined ? undefined : Number(e.usage.costMicros) / 1e6;
    if (e.seq) this.seq = Number(e.seq);
    for (const p of this.parts) {
      if (p.kind === 'ask') p.open = false;
      if (p.kind === 'tool' && p.state === 'running') p.state = 'failed';
    }
  }
}
