import { address, part } from '../../lib/api';

/** Where a conversation is shown. */
export function chatPath(agent: string, at: { thread?: string; sender?: string } = {}): string {
  return address(`/agents/${part(agent)}`, { thread: at.thread, sender: at.sender });
}
