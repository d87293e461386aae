// One conversation as the page shows it: stored messages, runs as they
// happen, and what was typed but is not stored yet. It is built from events
// only, so that every device of a person ends up with the same picture.

import type { ConversationEvent, HistoryMessage, StreamEvent } from '../../gen/agentfirst_pb.js';
import { TurnMode } from '../../gen/agentfirst_pb.js';
import { asProblem, type Problem } from '../api';
import type { Stored } from '../attach';
import type { Question, ToolUse } from '../types';
import { finish, Run, type Call, type Result } from './run.svelte';
import type { Link, Place } from './link.svelte';
import { earlierLines, ending, filesOf, type Line } from './wire';

export interface Said {
  kind: 'said';
  seq: number;
  role: string;
  agent: string;
  text: string;
  at: string;
  summary: boolean;
  /** How its turn ended, if these are its last words and it did not end well. */
  ending: string;
  /** The run that said it; empty if the hub does not tell. */
  run: string;
  /** The tools it called after that; a message may have nothing else. */
  calls: Call[];
  files: Stored[];
}

export interface Archived {
  kind: 'archived';
  seq: number;
  id: string;
  title: string;
  messages: number;
}

export type Entry = Said | Run | Archived;

/** A turn of this page that the hub has not begun yet. */
export interface Pending {
  key: string;
  text: string;
  files: Stored[];
  guest: string;
  mode: TurnMode;
  /** Place in the queue; 0 while on its way. */
  position: number;
  problem: Problem | null;
}

export type Mode = 'queue' | 'steer' | 'interrupt';
// A round is stored before its tools run: whatever they tell comes after that.
const paid = new Set<string>(['toolResult', 'waiting', 'askUser']);

const modes: Record<Mode, TurnMode> = { queue: TurnMode.QUEUE, steer: TurnMode.STEER, interrupt: TurnMode.INTERRUPT };

export class Chat {
  entries = $state<Entry[]>([]);
  pending = $state<Pending[]>([]);
  /** Nothing is shown before the stored messages have arrived. */
  caughtUp = $state(false);
  /** Whether the hub has messages from before the first one shown. */
  more = $state(false);
  loading = $state(false);
  deleted = $state(false);
  problem = $state<Problem | null>(null);
  used = $state(0);
  limit = $state(0);
  /** Called after a run, an archive or a new title, when lists elsewhere are old. */
  changed: () => void = () => {};
  /** Called when the conversation may have cost more: the hub has stored something that a model was asked for. */
  spent: () => void = () => {};

  #link: Link;
  #stop: () => void;
  #tools: (after: number, before: number) => Promise<ToolUse[]>;
  readonly place: Place;

  constructor(link: Link, place: Place, tools: (after: number, before: number) => Promise<ToolUse[]> = async () => []) {
    this.#link = link;
    this.#tools = tools;
    this.place = place;
    this.#stop = this.#follow();
  }

  #follow(): () => void {
    return this.#link.follow({
      ...this.place,
      resume: () => this.#resume(),
      event: (event) => this.event(event),
      refused: (problem) => this.#refused(problem),
    });
  }

  close(): void {
    this.#stop();
  }

  /** Whether an entry goes on with what the one before it began: the same speaker, nothing in between. */
  continues(at: number): boolean {
    const speaker = (e: Entry | undefined) => (e?.kind === 'run' ? e.agent : e?.kind === 'said' && e.role !== 'user' && !e.summary ? e.agent || this.place.agent : '');
    const before = this.entries[at - 1];
    const id = (e: Entry | undefined) => (e?.kind === 'run' ? e.id : e?.kind === 'said' ? e.run : '');
    return !!speaker(before) && speaker(before) === speaker(this.entries[at]) && !!id(before) && id(before) === id(this.entries[at]);
  }

  /** Whether a run waits for consent to use a tool. */
  asks(run: string, tool: string): boolean {
    return this.entries.some((e) => e.kind === 'run' && e.id === run && !e.ended && e.parts.some((p) => p.kind === 'consent' && p.tool === tool && !p.resolved));
  }

  get run(): Run | undefined {
    return this.entries.findLast((e): e is Run => e.kind === 'run' && !e.ended);
  }

  /** Loads a page of what was said before; the caller keeps the reader's place. */
  async earlier(): Promise<void> {
    const first = this.#first();
    if (!this.more || this.loading || !first) return;
    this.loading = true;
    try {
      const { lines, more } = await earlierLines(this.#link, this.place, first);
      this.#prepend(lines);
      this.more = more && lines.length > 0;
      await this.#remember(Math.max(0, this.#first() - 1), first);
    } finally {
      this.loading = false;
    }
  }

  #prepend(lines: Line[]): void {
    const first = this.#first();
    const fresh = lines.filter((l) => l.seq > 0 && l.seq < first);
    this.entries.unshift(...fresh.map((l): Said => ({ kind: 'said', run: '', calls: [], ...l })));
  }

  #first(): number {
    const seqs = this.entries.map((e) => e.seq).filter((seq) => seq > 0);
    return seqs.length ? Math.min(...seqs) : 0;
  }

  // Sending

  async say(text: string, options: { guest?: string; mode?: Mode; files?: Stored[] } = {}): Promise<void> {
    const turn: Pending = { key: crypto.randomUUID(), text, files: options.files ?? [], guest: options.guest ?? '', mode: modes[options.mode ?? 'queue'], position: 0, problem: null };
    this.pending.push(turn);
    await this.#submit(turn);
  }

  /** Sends a refused turn again, under the same key, so that it runs once. */
  async again(turn: Pending): Promise<void> {
    const mine = this.pending.find((p) => p.key === turn.key);
    if (!mine) return;
    mine.problem = null;
    await this.#submit(mine);
  }

  drop(turn: Pending): void {
    this.pending = this.pending.filter((p) => p.key !== turn.key);
  }

  async #submit(turn: Pending): Promise<void> {
    const { key, text, guest, mode } = turn;
    const files = turn.files.map((f) => ({ digest: f.digest }));
    const value = { ...this.place, content: text, files, mode, key, detached: true, ...(guest ? { guest } : {}) };
    let run = '';
    try {
      await this.#link.each({ case: 'stream', value }, (answer) => {
        if (answer.case !== 'stream') return false;
        const event = answer.value.event;
        if (event.case === 'queued') this.#queued(key, event.value.position);
        if (event.case === 'start') {
          run = event.value.runId;
          this.#begun(key, Number(event.value.seq));
        }
        if (event.case === 'steered') {
          this.#take(key);
          this.#steered(run, event.value.content, Number(event.value.seq));
          return true; // from here on it is that run's business
        }
        this.stream(answer.value, run, 'own');
        return event.case === 'end';
      });
    } catch (error) {
      const mine = this.pending.find((p) => p.key === key);
      if (mine) mine.problem = asProblem(error);
    }
  }

  async stop(): Promise<void> {
    const run = this.run;
    await this.#link.ask({ case: 'cancel', value: { ...this.place, runId: run?.id ?? '' } });
  }

  async answer(askId: string, questions: Question[], answers: string[]): Promise<void> {
    const content = JSON.stringify(Object.fromEntries(questions.map((q, i) => [q.question, answers[i] ?? ''])));
    await this.#link.ask({ case: 'replyToAsk', value: { ...this.place, content, askId } });
  }

  // Receiving

  event(event: ConversationEvent): void {
    const { event: what } = event;
    if (what.case === 'message') this.#message(what.value, event.runId);
    else if (what.case === 'stream') this.stream(what.value, event.runId, 'attached');
    else if (what.case === 'caughtUp') this.#ready();
    else if (what.case === 'deleted') this.deleted = true;
  }

  // After a break the pages loaded before are still there, and so is what is known about them.
  #ready(): void {
    if (!this.caughtUp) this.more = this.#first() > 1;
    this.caughtUp = true;
    this.spent();
    void this.#remember(Math.max(0, this.#first() - 1), 0);
  }

  // What tools did is not among the words that are told again; without it they stand alone.
  async #remember(after: number, before: number): Promise<void> {
    try {
      for (const use of await this.#tools(after, before)) this.#used(use);
    } catch {
      // it is asked for again after the next break
    }
  }

  #used(use: ToolUse): void {
    const run = this.entries.find((e): e is Run => e.kind === 'run' && e.id === use.run_id);
    if (run && (run.ended || run.called(use.call_id))) return; // heard as it happened
    const call: Call = {
      kind: 'tool', id: use.call_id, name: use.name, arguments: use.arguments, output: use.output,
      state: use.answered ? (use.failed ? 'failed' : 'done') : run ? 'running' : 'failed', ms: 0, leftOut: use.left_out_bytes ?? 0,
    };
    let said = this.entries.find((e): e is Said => e.kind === 'said' && e.seq === use.seq);
    if (!said) {
      // A going run comes after its earlier rounds, though its number is that of its turn.
      const at = this.entries.findIndex((e) => e === run || (e.kind !== 'run' && e.seq > use.seq));
      this.entries.splice(at < 0 ? this.entries.length : at, 0, {
        kind: 'said', seq: use.seq, role: 'assistant', agent: use.agent ?? '', text: '', at: '', summary: false, ending: '', run: use.run_id, calls: [], files: [],
      });
      said = this.entries.find((e): e is Said => e.kind === 'said' && e.seq === use.seq)!;
    }
    said.run ||= use.run_id;
    if (!said.calls.some((c) => c.id === use.call_id)) said.calls.push(call);
  }

  // A call of an earlier round, which was stored before we came, has ended.
  #stored(runId: string, done: (call: Call) => void): void {
    for (const e of this.entries) if (e.kind === 'said' && e.run === runId) e.calls.filter((c) => c.state === 'running').forEach(done);
  }

  #result(run: Run, r: Result): boolean {
    if (run.called(r.callId)) return false;
    let found = false;
    this.#stored(run.id, (call) => {
      if (call.id !== r.callId) return;
      finish(call, r);
      found = true;
    });
    return found;
  }

  #message(m: HistoryMessage, runId: string): void {
    const seq = Number(m.seq);
    if (m.role === 'user') this.#takeText(m.content);
    // What a run said is in the run already; its stored form adds nothing.
    if (m.role !== 'user' && runId && this.entries.some((e) => e.kind === 'run' && e.id === runId)) return;
    if (this.entries.some((e) => (e.kind === 'said' && e.seq === seq) || (e.kind === 'run' && e.holds(seq)))) return;
    if (m.role !== 'user' && this.entries.some((e) => e.kind === 'run' && e.seq === seq)) return;
    this.#insert({ kind: 'said', seq, role: m.role, agent: m.agent, text: m.content, at: m.at, summary: m.summary, ending: ending(m.outcome, m.outcomeCode), run: runId, calls: [], files: filesOf(m) });
  }

  // A run may be told twice on one connection: as the answer to our turn and
  // because we are attached. The first that begins it is the one believed.
  stream(message: StreamEvent, runId: string, source: 'own' | 'attached'): void {
    const { event } = message;
    if (event.case === undefined) return;
    if (event.case === 'notice' && event.value.code === 'titled') {
      this.changed(); // it is in the lists, not in what was said
      return;
    }
    if (event.case === 'compacted') {
      this.#compacted(event.value.archiveId, event.value.title, event.value.messages);
      return;
    }
    if (event.case === 'start') {
      this.#start(event.value.runId || runId, event.value.agent, Number(event.value.seq), source);
      return;
    }
    if (event.case === 'steered') {
      this.#steered(runId, event.value.content, Number(event.value.seq));
      return;
    }
    const run = this.#find(runId, source);
    if (!run) return;
    if (event.case !== 'toolResult' || !this.#result(run, event.value)) run.take(event);
    if (event.case === 'end') this.#stored(run.id, (call) => (call.state = 'failed'));
    if (event.case === 'roundUsage') {
      this.used = Number(event.value.contextUsed);
      this.limit = Number(event.value.contextLimit ?? 0n);
    } else if (event.case === 'end') this.#ended();
    else if (paid.has(event.case)) this.spent();
  }

  #start(id: string, agent: string, seq: number, source: 'own' | 'attached'): void {
    const known = this.entries.find((e): e is Run => e.kind === 'run' && e.id === id);
    if (known) {
      // After a reconnect the hub tells a going run from its beginning.
      if (known.source === source && !known.ended) known.restart();
      return;
    }
    this.entries.splice(this.#turn(seq), 0, new Run(id, agent || this.place.agent, seq, source));
  }

  // Our own turn may be told sooner than the one before it, which somebody else asked for.
  #turn(seq: number): number {
    const later = seq ? this.entries.findIndex((e) => e.kind === 'run' && e.seq > seq) : -1;
    if (later < 0) return this.entries.length;
    // The words that asked for it, by their place: the number of a run that has ended is that of its last words.
    const asked = this.entries.findLastIndex((e, at) => at < later && e.kind === 'said' && e.role === 'user' && e.seq > seq);
    return asked >= 0 ? asked : later;
  }

  // Steering is told to whoever steered and to the attached; it is shown once.
  #steered(id: string, text: string, seq: number): void {
    this.#takeText(text);
    // It is told under the number of its own turn or of the run that it joined.
    const run = this.entries.findLast((e): e is Run => e.kind === 'run' && e.id === id) ?? this.run;
    run?.steered(text, seq);
  }

  #find(id: string, source: 'own' | 'attached'): Run | undefined {
    const run = id ? this.entries.findLast((e): e is Run => e.kind === 'run' && e.id === id) : this.run;
    return run?.source === source ? run : undefined;
  }

  #insert(said: Said): void {
    const after = this.entries.findLastIndex((e) => e.kind !== 'run' ? e.seq <= said.seq : e.seq > 0 && e.seq <= said.seq);
    this.entries.splice(after + 1, 0, said);
  }

  #compacted(id: string, title: string, messages: number): void {
    if (this.entries.some((e) => e.kind === 'archived' && e.id === id)) return;
    const last = Math.max(0, ...this.entries.map((e) => e.seq));
    this.entries.push({ kind: 'archived', seq: last, id, title, messages });
    this.used = 0;
    this.changed();
    this.spent();
  }

  #ended(): void {
    this.changed();
    this.spent();
    if (!this.#new) return;
    // The first turn has made the conversation; now it can be followed.
    this.#new = false;
    this.#stop();
    this.#stop = this.#follow();
  }

  #queued(key: string, position: number): void {
    const mine = this.pending.find((p) => p.key === key);
    if (mine) mine.position = position;
  }

  // Our turn has begun: what was pending is a message now.
  #begun(key: string, seq: number): void {
    const mine = this.pending.find((p) => p.key === key);
    if (!mine) return;
    this.#take(key);
    if (seq && this.entries.some((e) => e.kind === 'said' && e.seq === seq)) return;
    this.#insert({ kind: 'said', seq: seq || this.#last() + 1, role: 'user', agent: '', text: mine.text, at: new Date().toISOString(), summary: false, ending: '', run: '', calls: [], files: mine.files });
  }

  #take(key: string): void {
    this.pending = this.pending.filter((p) => p.key !== key);
  }

  #takeText(text: string): void {
    const mine = this.pending.find((p) => p.text === text && !p.problem);
    if (mine) this.#take(mine.key);
  }

  #last(): number {
    return Math.max(0, ...this.entries.map((e) => e.seq));
  }

  // After a break: everything before the first unfinished run is certain;
  // the rest is asked for again.
  #resume(): number {
    const open = this.entries.findIndex((e) => e.kind === 'run' && !e.ended);
    if (open >= 0) this.entries.splice(open);
    return this.#last();
  }

  // A conversation begins with its first turn; until then there is nothing to follow.
  #new = false;

  #refused(problem: Problem): void {
    if (problem.status === 404) this.#new = true;
    else this.problem = problem;
    this.caughtUp = true;
  }
}
