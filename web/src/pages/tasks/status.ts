// How a task's state is shown, everywhere the same.

import type { IconName } from '../../parts/Icon.svelte';

interface Look { word: string; tone: '' | 'good' | 'warn' | 'bad' | 'accent'; icon: IconName }

const looks: Record<string, Look> = {
  loading: { word: 'loading', tone: '', icon: 'clock' },
  running: { word: 'running', tone: 'accent', icon: 'bolt' },
  paused: { word: 'needs you', tone: 'warn', icon: 'lock' },
  completed: { word: 'done', tone: 'good', icon: 'check' },
  failed: { word: 'failed', tone: 'bad', icon: 'warn' },
  stopped: { word: 'stopped', tone: '', icon: 'stop' },
};

export function lookOf(status: string): Look {
  return looks[status] ?? { word: status, tone: '', icon: 'info' };
}

/** The modes of asking, in plain words. */
export const modes = [
  { id: 'always_ask', name: 'Ask before every step', more: 'You see and approve each tool call, reading included.' },
  { id: 'agent_decides', name: 'Ask when it matters', more: 'Reading just happens; what changes something asks first.' },
  { id: 'always_execute', name: 'Do not ask', more: 'Nothing asks. What is denied stays denied.', needs: 'task:unattended' },
] as const;

export function modeName(id: string): string {
  return modes.find((m) => m.id === id)?.name ?? id;
}
