// Something loaded from the hub: its data, or why there is none. A reload
// keeps what is shown until the new answer is there.

import { asProblem, type Problem } from './api';

export class Resource<T> {
  data = $state<T | undefined>();
  problem = $state<Problem | null>(null);
  loading = $state(false);
  #load: () => Promise<T>;
  #turn = 0;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  async reload(): Promise<void> {
    const turn = ++this.#turn;
    this.loading = true;
    try {
      const data = await this.#load();
      if (turn !== this.#turn) return;
      this.data = data;
      this.problem = null;
    } catch (error) {
      if (turn === this.#turn) this.problem = asProblem(error);
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }
}
