// What a conversation has cost so far. The figure is the hub's, so every browser
// shows the same; it is asked for again whenever it may have grown. One question is
// on its way at a time: what happens meanwhile asks once more after it.

import { api } from '../api';
import type { Place } from './link.svelte';
import { about } from './stored';

export interface Used {
  tokens: number;
  /** In US dollars. */
  cost: number;
  /** Whether everything in it has a price. */
  whole: boolean;
}

const nothing: Used = { tokens: 0, cost: 0, whole: true };

export class Meter {
  used = $state.raw<Used>(nothing);
  #ask: () => Promise<Used>;
  #asking = false;
  #again = false;

  constructor(ask: () => Promise<Used>) {
    this.#ask = ask;
  }

  async refresh(): Promise<void> {
    this.#again = true;
    if (this.#asking) return;
    this.#asking = true;
    while (this.#again) {
      this.#again = false;
      try {
        const used = await this.#ask();
        if (!this.#again) this.used = used; // else it is old already
      } catch {
        // without the hub the last figure stays; it is asked again when the hub is back
      }
    }
    this.#asking = false;
  }
}

/** Asks the hub what a conversation has used; nothing while there is none. */
export function usageOf(place: Place, sender: () => string): () => Promise<Used> {
  const ask = about(place, sender);
  return async () => {
    const found = await ask((id) => api.conversation(id));
    if (!found) return nothing;
    const { usage } = found;
    return { tokens: usage?.total_tokens ?? 0, cost: usage?.cost_usd ?? 0, whole: usage?.cost_known ?? true };
  };
}
