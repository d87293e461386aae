// The audit trail, checked in this browser from what the hub hands out.

import { api, asProblem } from './api';
import { walkExport, type Walked } from './audit';
import { session } from './session.svelte';

/** Who did the checking: the browser, unless it may not compute here or the hub's export broke off. */
export type Verdict = Walked & { by: 'browser' | 'hub' };

export class Verification {
  running = $state(false);
  /** Entries checked so far, and how many there were at the start. */
  done = $state(0);
  total = $state(0);
  verdict = $state<Verdict | undefined>();

  async run(): Promise<void> {
    if (this.running) return;
    this.verdict = undefined;
    this.done = this.total = 0;
    this.running = true;
    try {
      // Browsers compute hashes only on https and on this very computer.
      this.verdict = 'subtle' in crypto ? await this.#here() : await this.#there();
    } finally {
      this.running = false;
    }
  }

  async #here(): Promise<Verdict> {
    const [newest, key] = await Promise.all([api.audit({ limit: 1 }), publicKey()]);
    this.total = newest.entries?.[0]?.seq ?? 0;
    const stream = await api.auditExport();
    try {
      return { by: 'browser', ...(await walkExport(stream, key, (n) => (this.done = n))) };
    } catch (error) {
      // A hub that finds its own trail broken cuts the export; then it can say where.
      const verdict = await this.#there();
      if (verdict.ok) throw asProblem(error);
      return verdict;
    }
  }

  async #there(): Promise<Verdict> {
    const v = await api.auditVerify();
    return {
      by: 'hub', ok: v.ok, entries: v.entries, checkpoints: v.checkpoints, lastSigned: v.last_signed ?? 0, signatures: 'checked',
      ...(v.bad_seq ? { badSeq: v.bad_seq } : {}), ...(v.problem ? { problem: v.problem } : {}),
    };
  }
}

async function publicKey(): Promise<Uint8Array | undefined> {
  if (!session.can('status:read')) return undefined;
  const { public_key: key } = await api.status();
  return key ? Uint8Array.from(atob(key), (c) => c.charCodeAt(0)) : undefined;
}
