// What the hub keeps of a conversation besides its words, asked for over REST.

import { api, asProblem } from '../api';
import type { ToolUse } from '../types';
import type { Place } from './link.svelte';

/** Runs a question about the conversation that is at a place now; nothing while there is none. */
export function about(place: Place, sender: () => string): <T>(ask: (id: string) => Promise<T>) => Promise<T | undefined> {
  let id: string | undefined;
  return async (ask) => {
    id ??= (await api.conversations(place.agent, place.sender || sender())).find((c) => c.thread === place.thread)?.id;
    if (!id) return undefined;
    try {
      return await ask(id);
    } catch (error) {
      if (asProblem(error).status !== 404) throw error;
      id = undefined; // deleted; another may begin in its place
      return undefined;
    }
  };
}

/** Asks what tools did between two messages; 0 is the end. */
export function toolsOf(place: Place, sender: () => string): (after: number, before: number) => Promise<ToolUse[]> {
  const ask = about(place, sender);
  return async (after, before) => (await ask((id) => api.conversationTools(id, after, before))) ?? [];
}
