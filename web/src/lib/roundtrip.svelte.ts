// How long the hub takes to answer, measured by its cheapest answer: when the
// connection is made, now and then while somebody looks, and when asked.

import { live } from './live.svelte';

const EVERY = 30_000;

class RoundTrip {
  /** Milliseconds of the last measurement, or undefined when the hub did not answer. */
  ms = $state<number | undefined>();
  #busy = false;

  constructor() {
    live.on('hello', () => void this.measure());
    setInterval(() => {
      if (!document.hidden && live.state === 'live') void this.measure();
    }, EVERY);
  }

  async measure(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const start = performance.now();
    try {
      const answer = await fetch('/healthz', { method: 'HEAD', cache: 'no-store', credentials: 'omit' });
      this.ms = answer.ok ? Math.max(1, Math.round(performance.now() - start)) : undefined;
    } catch {
      this.ms = undefined;
    } finally {
      this.#busy = false;
    }
  }
}

export const roundTrip = new RoundTrip();
