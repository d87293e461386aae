// When a list of conversations is old: something was said, titled or archived in
// one of them, on whatever device.

import { AgentEventKind } from '../../gen/agentfirst_pb.js';
import { Link } from './link.svelte';

/** Between two reloads: a list that changes faster than it is read helps nobody. */
const PAUSE = 500;

const news = new Set([AgentEventKind.USER_MESSAGE, AgentEventKind.DONE, AgentEventKind.COMPACTED, AgentEventKind.TITLED]);

/**
 * Calls fn when the list of an agent's conversations (of all agents: '') has
 * changed, until the returned function is called.
 */
export function onNews(agent: string, sender: string, fn: () => void, link = new Link()): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  const tell = () => {
    if (timer) {
      again = true;
      return;
    }
    fn();
    timer = setTimeout(() => {
      timer = undefined;
      if (again) tell();
      again = false;
    }, PAUSE);
  };
  const stop = link.listen({
    agent, sender,
    begun: tell, // what happened before was not told
    event: (event) => {
      if (news.has(event.kind)) tell();
    },
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
