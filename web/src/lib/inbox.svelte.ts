// Everything that waits for the person, in one list that every page shares.

import { api, asProblem, type Problem } from './api';
import { live } from './live.svelte';
import { session } from './session.svelte';
import { toasts } from './toasts.svelte';
import type { Approval, ApprovalAnswer, Outcome } from './types';

class Inbox {
  items = $state<Approval[]>([]);
  loaded = $state(false);
  problem = $state<Problem | null>(null);
  /** Ids whose answer is on its way. */
  busy = $state<Record<string, boolean>>({});
  /** Whether the drawer is open. */
  open = $state(false);
  /** The last thing that happened, for screen readers. */
  said = $state('');
  #resolved = new Map<string, Outcome>();

  constructor() {
    live.on('hello', () => void this.reload());
    live.on('approval', (event) => this.#arrived(event));
    live.on('approval_resolved', (event) => this.#gone(event.id, event.outcome, event.by));
  }

  get count(): number {
    return this.items.length;
  }

  async reload(): Promise<void> {
    if (!session.can('approval:read')) return;
    try {
      const items = await api.approvals();
      this.items = items.filter((a) => !this.#resolved.has(a.id)).sort(byDeadline);
      this.problem = null;
      this.loaded = true;
    } catch (error) {
      this.problem = asProblem(error);
    }
  }

  /** Sends an answer. The recorded outcome may differ: whoever answers first decides. */
  async answer(approval: Approval, answer: ApprovalAnswer): Promise<boolean> {
    if (this.busy[approval.id]) return false;
    this.busy[approval.id] = true;
    try {
      const result = await api.answer(approval.id, answer);
      if (result.outcome === 'pending') {
        toasts.say('Counted. It needs the consent of others too.', 'good');
        return true;
      }
      this.#gone(approval.id, result.outcome);
      const wanted: Outcome = answer.approved ? 'approved' : 'rejected';
      if (result.outcome === wanted) toasts.say(`${approval.kind === 'note' && !approval.arguments ? 'Noted' : label(result.outcome)}: ${titleOf(approval)}`, answer.approved ? 'good' : 'plain');
      else toasts.say(`Already ${result.outcome}${result.by ? ` by ${result.by}` : ''}: ${titleOf(approval)}`);
      return true;
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 404 || problem.status === 409 || problem.status === 410) this.#gone(approval.id, 'cancelled');
      toasts.fail(problem);
      return false;
    } finally {
      delete this.busy[approval.id];
    }
  }

  #arrived(approval: Approval): void {
    if (!approval?.id || this.#resolved.has(approval.id)) return;
    const others = this.items.filter((a) => a.id !== approval.id);
    const isNew = others.length === this.items.length;
    this.items = [...others, approval].sort(byDeadline);
    if (!isNew) return;
    this.said = `Needs you: ${titleOf(approval)}`;
    notify(approval);
  }

  #gone(id: string, outcome: Outcome, by?: string): void {
    const item = this.items.find((a) => a.id === id);
    this.#resolved.set(id, outcome);
    if (!item) return;
    this.items = this.items.filter((a) => a.id !== id);
    this.said = `${label(outcome)}${by ? ` by ${by}` : ''}: ${titleOf(item)}`;
  }
}

function byDeadline(a: Approval, b: Approval): number {
  return Date.parse(a.expires_at) - Date.parse(b.expires_at) || a.id.localeCompare(b.id);
}

/** What it is about, in a few words. */
export function titleOf(approval: Approval): string {
  return approval.title || approval.tool || approval.kind;
}

export function label(outcome: Outcome): string {
  return { pending: 'Waiting', approved: 'Approved', rejected: 'Rejected', expired: 'Expired', cancelled: 'Withdrawn' }[outcome] ?? outcome;
}

// A notification only while the page is not looked at, and only if the person asked for them.
function notify(approval: Approval): void {
  if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return;
  const note = new Notification('Parley needs you', { body: titleOf(approval), tag: approval.id, icon: '/icon-192.png' });
  note.addEventListener('click', () => {
    window.focus();
    inbox.open = true;
    note.close();
  });
}

export const inbox = new Inbox();
