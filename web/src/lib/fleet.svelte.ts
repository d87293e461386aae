// Machines over REST, and the stream that says what changed.

import { api, asProblem, part, type Problem } from './api';
import { live } from './live.svelte';

export type Health = 'ok' | 'warn' | 'crit' | 'unknown';

export interface Machine {
  agent_id: string;
  name?: string;
  hostname: string;
  online: boolean;
  presence: 'online' | 'off' | 'reconnecting' | 'overdue';
  last_seen?: string;
  meta: { hostname: string; os: string; version: string; arch?: string };
  overall: Health;
  flagged_sections: string[] | null;
  crit_sections: string[] | null;
  warn_sections: string[] | null;
  summary?: string;
  collected_at?: string;
  received_at?: string;
  clock_off?: boolean;
  tags: string[] | null;
  enrolled: boolean;
  mobile: boolean;
  control?: string;
  maintenance?: { from: string; until: string; reason?: string };
  mutes?: Record<string, { reason: string; until: string }>;
  created_at: string;
}

export interface Counts { ok: number; warn: number; crit: number; unknown: number; online: number; off: number; overdue: number }
export interface Overview { overall: Health; counts: Counts; agents: Machine[] | null; next_cursor?: string }
export interface Verdict { status: Health; summary: string; reason?: string; muted?: boolean }
export interface Report { overall: Health; received_at?: string; sections: Record<string, Verdict> | null }
export interface TrendDay { day: string; ok: number; warn: number; crit: number; crit_members?: string[] | null; warn_members?: string[] | null }
export interface Point { at: string; label?: string; value: number; min: number; max: number }
export interface CallRow {
  call_id: string; at: string; agent_id: string; tool: string; class: string; actor: string; on_behalf_of?: string; surface: string; arguments: unknown;
  approval?: { by: string; how: string }; state: string; code?: string; message?: string; exit_code?: number; duration_ms: number; queue_ms: number;
}
export interface FleetEvent { seq: number; at: string; agent_id: string; source: string; kind: string; level: string; target: string; message: string; fields?: unknown }
export interface Rule { id: string; applies_to: string; class?: string; pattern: string; reason: string }
export interface Rules { builtin: Rule[] | null; operator: Rule[] | null; revision: number }
export interface Tool { name: string; description: string; class: string; os: string[] | null; timeout_s?: number; schema: Schema }
export interface Schema { type?: string; properties?: Record<string, Schema>; required?: string[]; description?: string; enum?: string[]; default?: unknown; minimum?: number; maximum?: number; items?: Schema }
export interface Rollout { id: string; version: string; state: string; wave: number; reason?: string; by: string; created_at: string; machines: { agent_id: string; wave: number; state: string; error?: string }[] | null }
export interface Binary { platform: string; version: string; sha256: string; size: number; added_at: string }
export interface Shot { n: number; at: string; by: string; width: number; height: number; call_id: string }
export interface CallAnswer { ok: boolean; call_id: string; result?: any; state?: string; expires_at?: string; approval_id?: string }
/** What a call on several machines came to; asking: nobody has said yes yet. */
export interface FanAnswer { items?: FanItem[] | null; state?: string; approval_id?: string }
export interface FanItem { agent_id: string; state: string; canary?: boolean; result?: unknown; error?: { code: string; message: string } }

/** For a page that was opened with a token: such a page is asked like the token. */
export const asksInInbox = 'This page was opened with a token, so a person must say yes in the inbox first, on a page they logged in to by link or passkey. The call log shows how it goes on.';

const at = (id: string, rest = '') => `/api/machines/${part(id)}${rest}`;

export const fleet = {
  overview: (query: Record<string, string>) => api.get<Overview>('/api/fleet', query),
  trend: async (days: number) => (await api.get<{ days: TrendDay[] | null }>('/api/fleet/trend', { days })).days ?? [],
  machine: (id: string) => api.get<Machine>(at(id)),
  edit: (id: string, body: object) => api.patch<Machine>(at(id), body),
  remove: (id: string) => api.delete(at(id)),
  health: (id: string) => api.get<Report>(at(id, '/health')),
  snapshot: (id: string) => api.get<{ snapshot: Record<string, any> | null; received_at?: string }>(at(id, '/snapshot')),
  history: async (id: string, metric: string, from: Date) => (await api.get<{ points?: Point[] | null }>(at(id, '/history'), { metric, from: from.toISOString() })).points ?? [],
  calls: async (id: string) => (await api.get<{ calls: CallRow[] | null }>(id ? at(id, '/calls') : '/api/fleet/calls')).calls ?? [],
  cancel: (call: string) => api.delete(`/api/fleet/calls/${part(call)}`),
  events: async (id: string) => (await api.get<{ events: FleetEvent[] | null }>(id ? at(id, '/events') : '/api/fleet/events')).events ?? [],
  call: (id: string, body: { tool: string; args: object; timeout_s?: number; queue_for_s?: number }) => api.post<CallAnswer>(at(id, '/calls'), { ...body, approval_wait_s: 0 }),
  callMany: (body: object) => api.post<FanAnswer>('/api/fleet/calls', { ...body, approval_wait_s: 0 }),
  collect: (id: string) => api.post<CallAnswer>(at(id, '/collect'), {}),
  token: (id: string, rekey: boolean) => api.post<{ token: string; url: string; server_public_key: string; expires_at: string }>(at(id, '/token'), { rekey }),
  link: (id: string) => api.post<{ sh?: string; ps1?: string; expires_at: string }>(at(id, '/install-link'), {}),
  create: (id: string) => api.post<Machine>('/api/machines', { agent_id: id }),
  tools: async () => (await api.get<{ tools: Tool[] | null }>('/api/fleet/tools')).tools ?? [],
  rules: () => api.get<Rules>('/api/fleet/policy/rules'),
  addRule: (rule: object) => api.post<Rules>('/api/fleet/policy/rules', rule),
  removeRule: (id: string) => api.delete(`/api/fleet/policy/rules/${part(id)}`),
  testRule: (body: object) => api.post<{ blocked: boolean; rule?: Rule }>('/api/fleet/policy/test', body),
  // The hub answers 404 until there is a picture.
  shots: async (id: string): Promise<Shot[]> => {
    try {
      return (await api.get<{ screenshots: Shot[] | null }>(at(id, '/screenshots'))).screenshots ?? [];
    } catch (error) {
      if (asProblem(error).status === 404) return [];
      throw error;
    }
  },
  shoot: (id: string) => api.post<Shot>(at(id, '/screenshots'), {}),
  shotURL: (id: string, n: number) => at(id, `/screenshots/${n}.png`),
  removeShot: (id: string, n: number) => api.delete(at(id, `/screenshots/${n}.png`)),
  rollouts: async () => (await api.get<{ updates: Rollout[] | null }>('/api/fleet/updates')).updates ?? [],
  changeRollout: (id: string, state: string) => api.patch<Rollout>(`/api/fleet/updates/${part(id)}`, { state }),
  startRollout: (body: object) => api.post<Rollout>('/api/fleet/updates', body),
  binaries: async () => (await api.get<{ binaries: Binary[] | null }>('/api/fleet/binaries')).binaries ?? [],
  exportURL: '/api/fleet/calls?format=jsonl',
};

/** How something is, in words. */
export const healthWord: Record<Health, string> = { ok: 'well', warn: 'to look at', crit: 'critical', unknown: 'not known yet' };

const sectionNames: Record<string, string> = {
  app_updates: 'App updates', event_log: 'Event log', os_support: 'System support', reboot_pending: 'Restart', time_sync: 'Clock', wifi_quality: 'Wi-Fi', win_update: 'Windows Update', defender: 'Defender',
};

/** What a part of a measurement, or a kind of rule, is called. */
export function sectionName(id: string): string {
  return sectionNames[id] ?? (id[0] ?? '').toUpperCase() + id.slice(1).replaceAll('_', ' ');
}

/** The words a machine goes by. */
export function title(m: Machine): string {
  return m.name || m.agent_id;
}

/** What the person at the machine allows, where that is less than everything. */
export function switched(m: Machine): { tone: string; short: string; says: string } | undefined {
  switch (m.control) {
    case 'ask': return { tone: 'accent', short: 'asks there', says: 'changes are asked at the machine too' };
    case 'off': return { tone: 'warn', short: 'switched off', says: 'remote control is switched off there' };
    case 'private': return { tone: 'warn', short: 'switched off', says: 'remote control is switched off there, files and screen too' };
  }
  return undefined;
}

/** Worst first: crit, overdue, warn, unknown, ok, off. */
export function rank(m: Machine): number {
  if (m.overall === 'crit') return 0;
  if (m.presence === 'overdue') return 1;
  if (m.overall === 'warn') return 2;
  if (m.presence === 'off') return 5;
  return m.overall === 'unknown' ? 3 : 4;
}

/** The whole fleet, live. */
export class Fleet {
  machines = $state<Machine[] | undefined>();
  counts = $state<Counts | undefined>();
  more = $state('');
  problem = $state<Problem | null>(null);
  filter = $state<{ q?: string; tag?: string; presence?: string; overall?: string }>({});
  #leave: (() => void)[];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heard: (kind: string, machine: string) => void;

  constructor(heard: (kind: string, machine: string) => void = () => {}) {
    this.#heard = heard;
    this.#leave = (['machine', 'call', 'event', 'removed'] as const).map((kind) => live.on(kind, (change) => this.#change(kind, change as { agent_id: string; agent?: Machine })));
    this.#leave.push(live.on('hello', () => void this.reload()), live.machines());
    void this.reload();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const leave of this.#leave) leave();
  }

  async reload(): Promise<void> {
    try {
      const o = await fleet.overview({ ...this.filter });
      this.machines = o.agents ?? [];
      this.counts = o.counts;
      this.more = o.next_cursor ?? '';
      this.problem = null;
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.offline || !this.machines) this.problem = problem;
    }
  }

  async next(): Promise<void> {
    if (!this.more) return;
    const cursor = this.more;
    this.more = '';
    const o = await fleet.overview({ ...this.filter, cursor });
    this.machines = [...(this.machines ?? []), ...(o.agents ?? [])];
    this.more = o.next_cursor ?? '';
  }

  #change(kind: string, change: { agent_id: string; agent?: Machine }): void {
    this.#heard(kind, change.agent_id);
    if (kind === 'machine' && change.agent) {
      const i = this.machines?.findIndex((m) => m.agent_id === change.agent_id) ?? -1;
      if (i >= 0) this.machines![i] = change.agent;
    }
    if (kind === 'machine' || kind === 'removed') {
      // Counts and order come from the hub; many changes are one question.
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.reload(), 400);
    }
  }
}
