import { describe, expect, it } from 'vitest';
import { Board, type Envelope } from './link.svelte';
import { Task } from './task.svelte';

/** A socket in the hands of the test. */
class Socket extends EventTarget {
  sent: Envelope[] = [];
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.dispatchEvent(new Event('close'));
  }
  hear(type: string, payload: object, more: object = {}) {
    this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ type, id: crypto.randomUUID(), timestamp: new Date().toISOString(), payload, ...more }) }));
  }
  last(type: string): Envelope {
    return this.sent.findLast((f) => f.type === type)!;
  }
}

function start() {
  const sockets: Socket[] = [];
  const board = new Board(() => {
    const s = new Socket();
    sockets.push(s);
    return s as unknown as WebSocket;
  });
  const task = new Task(board, 't1');
  const greet = () => {
    const s = sockets.at(-1)!;
    s.hear('connection:welcome', {});
    s.hear('connection:authenticated', { granted_scopes: ['task:read'] });
    return s;
  };
  return { board, task, sockets, greet };
}

const snapshot = (more = {}) => ({ task_id: 't1', status: 'running', goal: 'g', agent: 'parley', last_seq: 0, oldest_seq: 1, turn: 1, ...more });

describe('a followed task', () => {
  it('proves itself without a token and resumes', () => {
    const { greet } = start();
    const s = greet();
    expect(s.last('connection:auth').payload.token).toBeUndefined();
    expect(s.last('task:resume').payload).toEqual({ task_id: 't1' });
  });

  it('joins fragments, keeps turns apart, and applies no event twice', () => {
    const { greet, task } = start();
    const s = greet();
    s.hear('task:snapshot', snapshot(), { reply_to: s.last('task:resume').id });
    const said = (seq: number, text: string, turn = 1) => s.hear('task:delta', { task_id: 't1', seq, turn, delta_type: 'text', text });
    said(2, 'Hel');
    said(3, 'lo');
    said(3, 'lo');
    s.hear('task:delta', { task_id: 't1', seq: 4, turn: 1, delta_type: 'tool_call', tool_call: { id: 'c', name: 'shell', arguments: '{"comm' } });
    s.hear('task:delta', { task_id: 't1', seq: 5, turn: 1, delta_type: 'tool_call', tool_call: { id: 'c', name: 'shell', arguments: 'and":"ls"}' } });
    s.hear('task:delta', { task_id: 't1', seq: 6, turn: 1, delta_type: 'tool_result', tool_result: { tool_call_id: 'c', result: { ok: true, output: { exit_code: 0 } } } });
    said(7, 'next', 2);
    expect(task.entries.map((e) => (e.kind === 'text' ? e.text : e.kind === 'call' ? [e.arguments, e.state, e.exit] : e))).toEqual(['Hello', ['{"command":"ls"}', 'done', 0], 'next']);
  });

  it('goes on after a break where it was', () => {
    const { greet, task, sockets, board } = start();
    let s = greet();
    s.hear('task:snapshot', snapshot(), { reply_to: s.last('task:resume').id });
    s.hear('task:delta', { task_id: 't1', seq: 2, turn: 1, delta_type: 'text', text: 'one ' });
    s.close();
    expect(board.state).toBe('broken');
    board.retry();
    expect(sockets).toHaveLength(2);
    s = greet();
    expect(s.last('task:resume').payload).toEqual({ task_id: 't1', after_seq: 2 });
    s.hear('task:snapshot', snapshot({ last_seq: 3 }), { reply_to: s.last('task:resume').id });
    s.hear('task:delta', { task_id: 't1', seq: 3, turn: 1, delta_type: 'text', text: 'two' });
    expect(task.entries).toEqual([{ kind: 'text', turn: 1, text: 'one two' }]);
  });

  it('shows what waits until the agent has it, and gives back what it never got', async () => {
    const { greet, task } = start();
    const s = greet();
    s.hear('task:snapshot', snapshot(), { reply_to: s.last('task:resume').id });
    const first = task.say('first', 'followup');
    s.hear('task:message_ack', { task_id: 't1', message_id: 'm1', disposition: 'queued', position: 1 }, { reply_to: s.last('task:message').id });
    await first;
    const second = task.say('second', 'followup');
    s.hear('task:message_ack', { task_id: 't1', message_id: 'm2', disposition: 'queued', position: 2 }, { reply_to: s.last('task:message').id });
    await second;
    expect(task.queue.map((w) => w.text)).toEqual(['first', 'second']);
    s.hear('task:user_message', { task_id: 't1', seq: 2, turn: 2, message_id: 'm1', message: { role: 'user', content: 'first' }, mode: 'followup', by: 'person:owner' });
    expect(task.queue.map((w) => w.text)).toEqual(['second']);
    s.hear('task:stopped', { task_id: 't1', seq: 3, turn: 2, by: 'person:owner', unprocessed_messages: [{ message_id: 'm2', message: { role: 'user', content: 'second' }, mode: 'followup' }] });
    expect(task.over).toBe(true);
    expect(task.returned.map((w) => w.text)).toEqual(['second']);
  });

  it('is not misled by questions that are sent before the replay', () => {
    const { greet, task } = start();
    const s = greet();
    s.hear('approval:required', { task_id: 't1', seq: 9, approval_id: 'a', tool_call: { id: 'c', name: 'shell', arguments: {} } });
    s.hear('task:snapshot', snapshot({ last_seq: 9 }), { reply_to: s.last('task:resume').id });
    s.hear('task:delta', { task_id: 't1', seq: 2, turn: 1, delta_type: 'text', text: 'early' });
    expect(task.entries).toEqual([{ kind: 'text', turn: 1, text: 'early' }]);
  });

  it('pauses while something waits for consent', () => {
    const { greet, task } = start();
    const s = greet();
    s.hear('task:snapshot', snapshot(), { reply_to: s.last('task:resume').id });
    s.hear('task:delta', { task_id: 't1', seq: 2, turn: 1, delta_type: 'tool_call', tool_call: { id: 'c', name: 'shell', arguments: '{}' } });
    s.hear('approval:required', { task_id: 't1', seq: 3, approval_id: 'a', tool_call: { id: 'c', name: 'shell', arguments: {} }, reason: 'r' });
    expect(task.status).toBe('paused');
    s.hear('approval:resolved', { task_id: 't1', seq: 4, approval_id: 'a', outcome: 'rejected', by: 'person:owner' });
    expect(task.status).toBe('running');
    expect(task.entries[0]).toMatchObject({ approval: { outcome: 'rejected' } });
  });

  it('tells a refusal to whoever asked', async () => {
    const { greet, task } = start();
    const s = greet();
    const stopping = task.stop();
    s.hear('task:error', { task_id: 't1', error: { type: 'task_not_found', message: 'it has ended', recoverable: false }, final: false }, { reply_to: s.last('task:stop').id });
    await expect(stopping).rejects.toThrow('it has ended');
  });
});
