import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ConversationEventSchema, StopReason, StreamEventSchema } from '../../gen/agentfirst_pb.js';
import { Problem } from '../api';
import { Chat, type Entry } from './chat.svelte';
import type { Answer, Ask, Follower, Link } from './link.svelte';
import type { ToolUse } from '../types';
import { Run } from './run.svelte';

type StreamInit = MessageInitShape<typeof StreamEventSchema>['event'];

/** A link whose hub is the test. */
class Hub {
  asked: Ask[] = [];
  sender = 'ada';
  answers: Answer[] = [];
  follower!: Follower;
  followed = 0;
  take: (answer: Answer) => boolean = () => false;
  fail: (problem: Problem) => void = () => {};

  get link(): Link {
    return {
      sender: this.sender,
      follow: (f: Follower) => {
        this.follower = f;
        this.followed++;
        return () => {};
      },
      ask: async (m: Ask) => {
        this.asked.push(m);
        return this.answers.shift() ?? ({ case: 'pong', value: {} } as Answer);
      },
      each: (m: Ask, take: (a: Answer) => boolean) => {
        this.asked.push(m);
        this.take = take;
        return new Promise<void>((_, reject) => (this.fail = reject));
      },
    } as unknown as Link;
  }

  event(event: MessageInitShape<typeof ConversationEventSchema>['event'], runId = '') {
    this.follower.event(create(ConversationEventSchema, { agent: 'a', runId, event }));
  }
  message(seq: number, role: string, content: string, runId = '', agent = '') {
    this.event({ case: 'message', value: { seq: BigInt(seq), role, content, agent } }, runId);
  }
  attached(event: StreamInit, runId = 'r1') {
    this.event({ case: 'stream', value: { event } }, runId);
  }
  own(event: StreamInit) {
    return this.take({ case: 'stream', value: create(StreamEventSchema, { event }) });
  }
}

function open() {
  const hub = new Hub();
  return { hub, chat: new Chat(hub.link, { agent: 'a', sender: '', thread: '' }) };
}

const words = (e: Entry) => (e instanceof Run ? e.parts.map((p) => ('text' in p ? p.text : p.kind)).join('|') : e.kind === 'said' ? e.text : e.title);
const shown = (chat: Chat) => chat.entries.map((e) => `${e.kind}:${words(e)}`);

describe('a conversation', () => {
  it('shows stored messages in order, each once', () => {
    const { hub, chat } = open();
    hub.message(2, 'assistant', 'two');
    hub.message(1, 'user', 'one');
    hub.message(2, 'assistant', 'two');
    hub.event({ case: 'caughtUp', value: true });
    expect(shown(chat)).toEqual(['said:one', 'said:two']);
    expect(chat.caughtUp).toBe(true);
  });

  it('shows another device’s turn as it happens, and its stored reply not again', () => {
    const { hub, chat } = open();
    hub.message(1, 'user', 'hi', 'r1');
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    hub.attached({ case: 'chunk', value: { content: 'hel' } });
    hub.attached({ case: 'chunk', value: { content: 'lo' } });
    hub.message(2, 'assistant', 'hello', 'r1');
    hub.attached({ case: 'end', value: { agent: 'a', stop: StopReason.DONE, seq: 2n } });
    hub.message(2, 'assistant', 'hello');
    expect(shown(chat)).toEqual(['said:hi', 'run:hello']);
    expect(chat.run).toBeUndefined();
  });

  it('believes one of the two that tell its own run', () => {
    const { hub, chat } = open();
    void chat.say('hi');
    expect(chat.pending.map((p) => p.text)).toEqual(['hi']);
    hub.message(1, 'user', 'hi', 'r1');
    expect(chat.pending).toEqual([]);
    for (const tell of [(e: StreamInit) => hub.own(e), (e: StreamInit) => hub.attached(e)]) tell({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    for (const piece of ['one ', 'two']) {
      hub.attached({ case: 'chunk', value: { content: piece } });
      hub.own({ case: 'chunk', value: { content: piece } });
    }
    expect(shown(chat)).toEqual(['said:hi', 'run:one two']);
  });

  it('shows the turn before its own first, also if it hears of it later', () => {
    const { hub, chat } = open();
    void chat.say('hotel');
    hub.message(1, 'user', 'golf');
    hub.own({ case: 'start', value: { runId: 'r2', agent: 'a', seq: 3n } });
    hub.own({ case: 'chunk', value: { content: 'hotel, too' } });
    hub.attached({ case: 'start', value: { runId: 'r1', agent: 'a', seq: 1n } });
    hub.attached({ case: 'chunk', value: { content: 'golf, too' } });
    expect(shown(chat)).toEqual(['said:golf', 'run:golf, too', 'said:hotel', 'run:hotel, too']);
  });

  it('shows the turn before its own first, also if its own has ended when it hears of it', () => {
    const { hub, chat } = open();
    hub.event({ case: 'caughtUp', value: true });
    void chat.say('mine');
    hub.own({ case: 'start', value: { agent: 'a', runId: 'r2', seq: 3n } });
    hub.own({ case: 'chunk', value: { content: 'second' } });
    hub.own({ case: 'end', value: { seq: 4n } });
    hub.message(1, 'user', 'theirs', 'r1');
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } }, 'r1');
    hub.attached({ case: 'chunk', value: { content: 'first' } }, 'r1');
    expect(shown(chat)).toEqual(['said:theirs', 'run:first', 'said:mine', 'run:second']);
  });

  it('shows its own turn even if nobody tells it as a message', () => {
    const { hub, chat } = open();
    void chat.say('hi');
    hub.own({ case: 'queued', value: { position: 2, runId: 'r1' } });
    expect(chat.pending[0]?.position).toBe(2);
    hub.own({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 7n } });
    expect(shown(chat)).toEqual(['said:hi', 'run:']);
    hub.message(7, 'user', 'hi', 'r1');
    expect(shown(chat)).toEqual(['said:hi', 'run:']);
  });

  it('keeps a refused turn and sends it again under the same key', async () => {
    const { hub, chat } = open();
    const sent = chat.say('hi');
    hub.fail(new Problem(429, '429', 'Too much', 'the queue is full'));
    await sent;
    expect(chat.pending[0]?.problem?.status).toBe(429);
    void chat.again(chat.pending[0]!);
    const keys = hub.asked.map((m) => (m?.case === 'stream' ? m.value.key : ''));
    expect(keys[0]).toBeTruthy();
    expect(keys[0]).toBe(keys[1]);
    expect(chat.pending[0]?.problem).toBeNull();
  });

  it('always asks for a run that goes on without the page', () => {
    const { hub, chat } = open();
    void chat.say('hi', { guest: 'critic', mode: 'interrupt' });
    expect(hub.asked[0]).toMatchObject({ case: 'stream', value: { agent: 'a', detached: true, guest: 'critic', mode: 2 } });
  });

  it('shows steering once, inside the run', () => {
    const { hub, chat } = open();
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    void chat.say('left', { mode: 'steer' });
    const steered: StreamInit = { case: 'steered', value: { content: 'left', seq: 2n } };
    expect(hub.own(steered)).toBe(true);
    hub.attached(steered, 'the id of the turn that steers');
    hub.message(2, 'user', 'left', 'r1');
    expect(chat.pending).toEqual([]);
    expect(shown(chat)).toEqual(['run:left']);
  });

  it('pairs tool calls with their results', () => {
    const { hub, chat } = open();
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1' } });
    hub.attached({ case: 'toolStart', value: { calls: [{ name: 'x', callId: 'c1' }, { name: 'y', callId: 'c2' }] } });
    hub.attached({ case: 'toolStart', value: { calls: [{ name: 'x', callId: 'c1', arguments: '{"n":1}' }, { name: 'y', callId: 'c2', arguments: '{}' }] } });
    hub.attached({ case: 'toolResult', value: { callId: 'c2', output: 'why', durationMs: 3n } });
    hub.attached({ case: 'toolResult', value: { callId: 'c1', output: 'bad', isError: true } });
    expect((chat.entries[0] as Run).parts).toMatchObject([
      { name: 'x', arguments: '{"n":1}', output: 'bad', state: 'failed' },
      { name: 'y', output: 'why', state: 'done', ms: 3 },
    ]);
  });

  it('closes questions and calls when the run ends, and says why', () => {
    const { hub, chat } = open();
    hub.attached({ case: 'start', value: { agent: 'g', runId: 'r1' } });
    hub.attached({ case: 'askUser', value: { askId: 'q', questions: [{ question: 'Tea?' }] } });
    hub.attached({ case: 'toolStart', value: { calls: [{ name: 'x', callId: 'c1' }] } });
    hub.attached({ case: 'end', value: { error: 'cancelled', stop: StopReason.CANCELLED } });
    const run = chat.entries[0] as Run;
    expect(run.agent).toBe('g');
    expect(run.error).toBe('Stopped.');
    expect(run.parts).toMatchObject([{ kind: 'ask', open: false }, { kind: 'tool', state: 'failed' }]);
  });

  it('after a break goes on from what is certain', () => {
    const { hub, chat } = open();
    hub.message(1, 'user', 'hi', 'r1');
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    hub.attached({ case: 'chunk', value: { content: 'half an ans' } });
    expect(hub.follower.resume()).toBe(1);
    hub.message(2, 'assistant', 'half an answer', 'r1');
    expect(shown(chat)).toEqual(['said:hi', 'said:half an answer']);
  });

  it('follows a conversation that its first turn has made', () => {
    const { hub, chat } = open();
    hub.follower.refused(new Problem(404, '404', 'Not found', ''));
    expect([chat.caughtUp, chat.problem]).toEqual([true, null]);
    void chat.say('hi');
    hub.own({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    hub.own({ case: 'chunk', value: { content: 'yo' } });
    expect(hub.own({ case: 'end', value: { stop: StopReason.DONE, seq: 2n, usage: { totalTokens: 9, costMicros: 2_000_000n } } })).toBe(true);
    expect(hub.followed).toBe(2);
    expect(hub.follower.resume()).toBe(2);
    expect((chat.entries.at(-1) as Run).cost).toBe(2);
  });

  it('says when it may have cost more: what was stored before a tool ran, an end, an archive, a new connection', () => {
    const { hub, chat } = open();
    let asked = 0;
    chat.spent = () => asked++;
    const asks = (what: () => void) => {
      const before = asked;
      what();
      return asked - before;
    };
    expect(asks(() => hub.event({ case: 'caughtUp', value: true }))).toBe(1);
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    expect(asks(() => hub.attached({ case: 'chunk', value: { content: 'a' } }))).toBe(0);
    expect(asks(() => hub.attached({ case: 'toolResult', value: { callId: 'c1', output: '' } }))).toBe(1);
    expect(asks(() => hub.attached({ case: 'waiting', value: { approvalId: 'p' } }))).toBe(1);
    expect(asks(() => hub.attached({ case: 'askUser', value: { askId: 'q', questions: [] } }))).toBe(1);
    expect(asks(() => hub.attached({ case: 'end', value: { stop: StopReason.DONE, seq: 2n } }))).toBe(1);
    expect(asks(() => hub.attached({ case: 'compacted', value: { archiveId: 'x' } }))).toBe(1);
  });

  it('loads what came before, page by page, each message once', async () => {
    const { hub, chat } = open();
    hub.message(5, 'user', 'five');
    hub.event({ case: 'caughtUp', value: true });
    expect(chat.more).toBe(true);
    const other = { agent: 'a', sender: 'ada', thread: 'other', filePath: 'no' };
    const here = { agent: 'a', sender: 'ada', thread: '', filePath: 'h' };
    const page = (truncated: boolean, ...seqs: number[]) => [
      { case: 'conversationList', value: { conversations: [other, here] } },
      { case: 'conversationHistory', value: { truncated, messages: seqs.map((n) => ({ seq: BigInt(n), role: 'user', content: `m${n}`, agent: '', at: '', summary: false, files: [] })) } },
    ] as unknown as Answer[];
    hub.answers = page(true, 3, 4, 5);
    await Promise.all([chat.earlier(), chat.earlier()]);
    expect(hub.asked[1]).toMatchObject({ case: 'getConversationHistory', value: { filePath: 'h', beforeSeq: 5n, archived: true } });
    expect(shown(chat)).toEqual(['said:m3', 'said:m4', 'said:five']);
    hub.answers = page(false, 1, 2);
    await chat.earlier();
    expect(shown(chat)).toEqual(['said:m1', 'said:m2', 'said:m3', 'said:m4', 'said:five']);
    expect(chat.more).toBe(false);
    const asked = hub.asked.length;
    await chat.earlier();
    expect(hub.asked.length).toBe(asked);
  });

  it('has nothing earlier when it shows the first message', () => {
    const { hub, chat } = open();
    hub.message(1, 'user', 'one');
    hub.event({ case: 'caughtUp', value: true });
    expect(chat.more).toBe(false);
  });

  it('marks what was archived', () => {
    const { hub, chat } = open();
    hub.message(1, 'user', 'hi');
    const compacted: StreamInit = { case: 'compacted', value: { archiveId: 'x', title: 'Greetings.', messages: 2 } };
    hub.attached(compacted, '');
    hub.attached(compacted, '');
    expect(shown(chat)).toEqual(['said:hi', 'archived:Greetings.']);
  });

  it('learns of a new title without showing it as a remark', () => {
    const { hub, chat } = open();
    let changed = 0;
    chat.changed = () => void changed++;
    hub.message(1, 'user', 'hi');
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r1', seq: 1n } });
    hub.attached({ case: 'notice', value: { code: 'titled', text: 'Greetings' } }, '');
    expect(changed).toBe(1);
    expect(shown(chat)).toEqual(['said:hi', 'run:']);
  });

  it('answers a question with labels under their questions', async () => {
    const { hub, chat } = open();
    await chat.answer('q1', [{ question: 'Tea?' }, { question: 'Milk?' }], ['yes', 'no, thanks']);
    expect(hub.asked[0]).toMatchObject({ case: 'replyToAsk', value: { askId: 'q1', content: '{"Tea?":"yes","Milk?":"no, thanks"}' } });
  });

  it('shows again what tools did before it came', async () => {
    const hub = new Hub();
    const use = (seq: number, call_id: string, more: Partial<ToolUse> = {}): ToolUse => ({ seq, run_id: 'r2', call_id, name: 't', arguments: '{}', output: 'out', answered: true, ...more });
    const asked: number[][] = [];
    const chat = new Chat(hub.link, { agent: 'a', sender: '', thread: '' }, async (after, before) => {
      asked.push([after, before]);
      return [use(2, 'c1', { run_id: 'r1', failed: true }), use(5, 'c2'), use(7, 'c3', { answered: false, output: '' })];
    });
    hub.message(1, 'user', 'one');
    hub.message(2, 'assistant', 'two', 'r1');
    hub.message(4, 'user', 'four');
    // A run that is at its third round; the second said nothing.
    hub.message(9, 'assistant', 'nine', 'r2');
    hub.attached({ case: 'start', value: { agent: 'a', runId: 'r2', seq: 4n } }, 'r2');
    hub.event({ case: 'caughtUp', value: true });
    await Promise.resolve();
    await Promise.resolve();
    expect(asked).toEqual([[0, 0]]);
    const calls = () => chat.entries.map((e) => (e.kind === 'said' ? `${e.seq}:${e.calls.map((c) => `${c.id} ${c.state}`).join()}` : e.kind));
    expect(calls()).toEqual(['1:', '2:c1 failed', '4:', '5:c2 done', '7:c3 running', '9:', 'run']);
    expect(chat.entries.map((_, at) => chat.continues(at))).toEqual([false, false, false, false, true, true, true]);
    // What was running ends as it would have in the run.
    hub.attached({ case: 'toolResult', value: { callId: 'c3', output: 'late', isError: false } }, 'r2');
    expect(calls()[4]).toBe('7:c3 done');
    // What is heard is not shown a second time.
    hub.attached({ case: 'toolStart', value: { calls: [{ callId: 'c2', name: 't', arguments: '{}' }] } }, 'r2');
    hub.event({ case: 'caughtUp', value: true });
    await Promise.resolve();
    await Promise.resolve();
    expect(calls()[3]).toBe('5:c2 done');
  });
});
