// The list of tasks, live.

import { asProblem, type Problem } from '../api';
import { board, type Board, type Envelope } from './link.svelte';

export interface Row {
  task_id: string;
  goal: string;
  status: 'running' | 'paused' | 'completed' | 'failed' | 'stopped';
  agent: string;
  started_at: string;
  ended_at?: string;
  last_seq: number;
  pending_approvals: number;
}

export class Tasks {
  rows = $state<Row[] | undefined>();
  more = $state('');
  problem = $state<Problem | null>(null);
  #board: Board;
  #leave: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(over: Board = board) {
    this.#board = over;
    this.#leave = over.use((f) => this.#heard(f), () => void this.reload());
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#leave();
  }

  async reload(): Promise<void> {
    try {
      const { payload } = await this.#board.request('task:list', { limit: 100 });
      this.rows = payload.tasks ?? [];
      this.more = payload.next_cursor ?? '';
      this.problem = null;
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.offline || !this.rows) this.problem = problem;
    }
  }

  async older(): Promise<void> {
    const { payload } = await this.#board.request('task:list', { limit: 100, cursor: this.more });
    this.rows = [...(this.rows ?? []), ...(payload.tasks ?? [])];
    this.more = payload.next_cursor ?? '';
  }

  // Life-cycle frames say that the list is old; many at once are one reload.
  #heard(frame: Envelope): void {
    if (!/^(task:(started|completed|error|stopped)|approval:(required|resolved)|status:agent)$/.test(frame.type)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.reload(), 150);
  }
}
