// Terminals: the list, and one attached screen.

import { asProblem, type Problem } from '../api';
import { board, type Board, type Envelope } from './link.svelte';

export interface Terminal {
  id: string;
  name: string;
  created_at: string;
  size: { rows: number; cols: number };
  task_id?: string;
  status: 'running' | 'exited';
  exit_code?: number;
  cwd?: string;
  command?: string;
  viewers?: number;
}

export class Terminals {
  rows = $state<Terminal[] | undefined>();
  problem = $state<Problem | null>(null);
  #board: Board;
  #leave: () => void;
  #timer: ReturnType<typeof setInterval>;

  constructor(over: Board = board) {
    this.#board = over;
    this.#leave = over.use((f) => this.#heard(f), () => void this.reload());
    // Agents open terminals too, and nobody tells those who are not attached.
    this.#timer = setInterval(() => over.state === 'open' && void this.reload(), 5000);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#leave();
  }

  async reload(): Promise<void> {
    try {
      this.rows = (await this.#board.request('terminal:list', {})).payload.terminals ?? [];
      this.problem = null;
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.offline || !this.rows) this.problem = problem;
    }
  }

  async create(options: { name?: string; command?: string; cwd?: string }): Promise<string> {
    const { payload } = await this.#board.request('terminal:create', options);
    await this.reload();
    return payload.terminal.id;
  }

  async end(id: string): Promise<void> {
    await this.#board.request('terminal:close', { terminal_id: id });
    await this.reload();
  }

  #heard(frame: Envelope): void {
    if (frame.type === 'terminal:exit' || frame.type === 'terminal:created') void this.reload();
  }
}

/** What shows a terminal's bytes. */
export interface Glass {
  /** again: it was printed before, and is shown once more. */
  write(data: string, again: boolean): void;
  reset(): void;
  resize(cols: number, rows: number): void;
}

/** One viewer. After a break it starts over with the scrollback. */
export class Screen {
  exit = $state<{ code?: number; signal?: string } | undefined>();
  cut = $state(false);
  problem = $state<Problem | null>(null);
  size = $state({ rows: 24, cols: 80 });
  #board: Board;
  #id: string;
  #glass: Glass;
  #leave: () => void;

  constructor(over: Board, id: string, glass: Glass) {
    this.#board = over;
    this.#id = id;
    this.#glass = glass;
    this.#leave = over.use((f) => this.#heard(f), () => void this.#attach());
  }

  async #attach(): Promise<void> {
    try {
      await this.#board.request('terminal:attach', { terminal_id: this.#id });
      this.problem = null;
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.offline) this.problem = problem;
    }
  }

  input(data: string): void {
    this.#board.send('terminal:input', { terminal_id: this.#id, data });
  }

  resize(rows: number, cols: number): void {
    this.#board.send('terminal:resize', { terminal_id: this.#id, rows, cols });
  }

  close(): void {
    this.#board.send('terminal:detach', { terminal_id: this.#id });
    this.#leave();
  }

  #heard(frame: Envelope): void {
    const p = frame.payload;
    if (p?.terminal_id !== this.#id) return;
    if (frame.type === 'terminal:attached') {
      this.#glass.reset();
      this.#fit(p.size);
      this.cut = !!p.truncated;
    } else if (frame.type === 'terminal:output') {
      if (p.truncated) this.cut = true;
      this.#glass.write(p.data, !!p.replay);
    } else if (frame.type === 'terminal:resized') {
      this.#fit(p);
    } else if (frame.type === 'terminal:exit') {
      this.exit = { code: p.exit_code, signal: p.signal };
    }
  }

  #fit(size: { rows: number; cols: number } | undefined): void {
    if (!size) return;
    this.size = { rows: size.rows, cols: size.cols };
    this.#glass.resize(size.cols, size.rows);
  }
}
