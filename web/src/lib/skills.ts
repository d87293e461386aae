// Skills of other agents over REST. Whatever they wrote is text.

import { api, part } from './api';

export interface Finding { rule: string; severity: string; line: number; text: string; excerpt: string; more?: number }
export interface Received { id: string; agent: string; name?: string; title: string; sender: string; place?: string; level: string; hash: string; hash_prefixed: string; size_bytes: number; origin: string; hop_count: number; chain: { agent: string; verified: boolean }[] | null; findings: Finding[] | null; state: string; approval_id?: string; unsolicited: boolean; public: boolean; received_at: string; reason?: string; agents: string[] | null; may_use?: string[] | null }
export interface Review extends Received { source: string; diff?: string; in_use?: string }
export interface Exchange { id: string; agent: string; peer: string; place?: string; side: string; state: string; skill_id: string; skill_name: string; reason?: string; changed_at: string }

export interface Extension { agent?: string; name: string; version: string; hash: string; state: string; sender?: string; actions: string[] | null; reason?: string; findings?: Finding[] | null; approval_id?: string; source?: string; changed_at?: string }
export interface Discussion { proposer: string; title: string; text: string; stances: Record<string, { support: boolean; reason: string }> | null; result: { summary: string; outcome: string } | null }
export interface Negotiation { terms: unknown; terms_hash: string; last: string; rounds: number; reason: string }
export interface Thread { id: string; agent: string; kind: string; peer: string; place?: string; state: string; approval_id?: string; body: Discussion & Negotiation; active_at: string }
export interface Visit { id: string; agent: string; agent_id: string; url: string; place: string; name: string; place_key?: string; keep: boolean; deposit: boolean; started_at: string; until: string; interactions: number; limit: number; warning?: string; problem?: string; peer?: string }
export interface Meeting extends Visit { proven: boolean; actions: string[] | null; extensions: string[] | null; skills: { id: string; name: string; summary: string }[] | null }

export interface Deposit { skill_id: string; owner: string; name: string; summary: string; tags: string[] | null; format: string; size_bytes: number; content_hash: string; deposited_at?: string; mine: boolean; first_lines?: string; said?: { agent: string; claim: string; signed: boolean }[] | null }

/** The answer that lets every agent use a skill. */
export const everyAgent = 'every agent';

export const skills = {
  received: async () => (await api.get<{ skills: Received[] | null }>('/api/skills/received')).skills ?? [],
  exchanges: async () => (await api.get<{ exchanges: Exchange[] | null }>('/api/skills/exchanges')).exchanges ?? [],
  review: (id: string) => api.get<Review>(`/api/skills/received/${part(id)}`),
  /** ask makes the question about a skill that nobody was asked about. */
  ask: (id: string) => api.post(`/api/skills/received/${part(id)}/ask`, {}),
  /** agents are those that may use it; none leaves it to the one it was sent to. */
  approve: (approval: string, dangers: number, agents: string[] = []) => api.post(`/api/approvals/${part(approval)}`, { approved: true, answers: [...Array(dangers).fill('acknowledged'), ...(agents.length ? [agents.join(', ')] : [])] }),
  reject: (approval: string) => api.post(`/api/approvals/${part(approval)}`, { approved: false }),
  extensions: () => api.get<{ extensions: Extension[] | null; off: { name: string; reason: string }[] | null }>('/api/skills/extensions'),
  switchExtension: (hash: string, enabled: boolean) => api.post(`/api/skills/extensions/${part(hash)}`, { enabled }),
  threads: async () => (await api.get<{ threads: Thread[] | null }>('/api/skills/threads')).threads ?? [],
  say: (t: Thread, action: string, payload: Record<string, unknown> = {}) => api.post('/api/skills/threads', { agent: t.agent, to: t.peer, place: t.place ?? '', thread: t.id, action, payload }),
  visits: async () => (await api.get<{ visits: Visit[] | null }>('/api/place/visits')).visits ?? [],
  visit: (body: { agent: string; url: string; minutes: number; keep: boolean; deposit: boolean }) => api.post('/api/place/visits', body),
  meet: (body: { agent: string; url: string; minutes: number }) => api.post<Meeting>('/api/place/meet', body),
  endVisit: (id: string) => api.delete(`/api/place/visits/${part(id)}`),
  deposits: async (agent: string, place: string) => (await api.get<{ deposits: Deposit[] | null }>(`/api/place/deposits?agent=${part(agent)}&place=${part(place)}`)).deposits ?? [],
  deposit: (agent: string, place: string, owner: string, skill: string) => api.get<Deposit>(`/api/place/deposits/${part(owner)}/${part(skill)}?agent=${part(agent)}&place=${part(place)}`),
  acquire: (agent: string, place: string, owner: string, skill: string) => api.post('/api/skills/acquire', { agent, place, owner, skill }),
  attest: (agent: string, place: string, owner: string, skill: string, claim: string) => api.post('/api/skills/attest', { agent, place, owner, skill, claim }),
  revoke: (id: string) => api.post(`/api/skills/received/${part(id)}/revoke`, {}),
};
