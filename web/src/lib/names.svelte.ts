// The names agents registered with at this hub's place, by id. A name is a claim, and
// two may have the same: whoever shows one shows the id beside it.

import { place } from './place';

class Names {
  #known = $state.raw(new Map<string, string>());

  /** The name of an agent, '' if the place knows none. */
  of(id: string): string {
    const name = this.#known.get(id) ?? '';
    return name === id ? '' : name;
  }

  /** Asks for them again. Without an answer the ids have to do. */
  async reload(): Promise<void> {
    try {
      this.#known = new Map((await place.agents()).map((a) => [a.place ? `${a.id}@${a.place}` : a.id, a.name]));
    } catch {
      // The section itself says what is wrong with the hub.
    }
  }
}

export const names = new Names();
