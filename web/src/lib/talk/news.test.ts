import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AgentEventKind, AgentEventSchema } from '../../gen/agentfirst_pb.js';
import type { Link, Listener } from './link.svelte';
import { onNews } from './news';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listening() {
  const fn = vi.fn();
  let listener!: Listener;
  const left = vi.fn();
  const link = { listen: (l: Listener) => ((listener = l), left) } as unknown as Link;
  const stop = onNews('a', '', fn, link);
  const event = (kind: AgentEventKind) => listener.event(create(AgentEventSchema, { kind } as MessageInitShape<typeof AgentEventSchema>));
  return { fn, event, begun: () => listener.begun(), stop, left };
}

it('a new title, new words and the end of a run make a list old; text that streams does not', () => {
  const { fn, event } = listening();
  event(AgentEventKind.TEXT_DELTA);
  expect(fn).not.toHaveBeenCalled();
  for (const kind of [AgentEventKind.TITLED, AgentEventKind.USER_MESSAGE, AgentEventKind.DONE, AgentEventKind.COMPACTED]) {
    fn.mockClear();
    event(kind);
    expect(fn).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(1000);
  }
});

it('much news at once is told twice: at once, and when it is over', () => {
  const { fn, event } = listening();
  for (let i = 0; i < 50; i++) event(AgentEventKind.DONE);
  expect(fn).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(500);
  expect(fn).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(5000);
  expect(fn).toHaveBeenCalledTimes(2);
});

it('a list is loaded again after a break, and not after leaving', () => {
  const { fn, event, begun, stop, left } = listening();
  begun();
  expect(fn).toHaveBeenCalledTimes(1);
  event(AgentEventKind.TITLED);
  stop();
  vi.advanceTimersByTime(5000);
  expect(fn).toHaveBeenCalledTimes(1);
  expect(left).toHaveBeenCalledOnce();
});
