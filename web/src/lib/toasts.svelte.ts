// Short notes at the edge of the page. They are also read out.

import { asProblem } from './api';

export interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad' | 'plain';
}

class Toasts {
  items = $state<Toast[]>([]);
  #next = 1;

  say(text: string, tone: Toast['tone'] = 'plain'): void {
    const id = this.#next++;
    this.items = [...this.items.slice(-3), { id, text, tone }];
    setTimeout(() => this.drop(id), tone === 'bad' ? 9000 : 4500);
  }

  /** Tells about a failure; returns nothing, so that it can end a catch. */
  fail(error: unknown): void {
    const problem = asProblem(error);
    this.say(problem.detail ? `${problem.title}: ${problem.detail}` : problem.title, 'bad');
  }

  drop(id: number): void {
    this.items = this.items.filter((t) => t.id !== id);
  }
}

export const toasts = new Toasts();
