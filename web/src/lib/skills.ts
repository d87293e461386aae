// Skills of other agents over REST. Whatever they wrote is text.

import { api, part } from './api';

export interface Finding { rule: string; severity: string; line: number; text: string; excerpt: string }
export interface Received { id: string; agent: string; name?: string; title: string; sender: string; level: string; hash: string; hash_prefixed: string; size_bytes: number; origin: string; hop_count: number; chain: { agent: string; verified: boolean }[] | null; findings: Finding[] | null; state: string; approval_id?: string; unsolicited: boolean; public: boolean; received_at: string; reason?: string }
export interface Review extends Received { preview: string; source: string; diff?: string; in_use?: string }
export interface Exchange { id: string; agent: string; peer: string; place?: string; side: string; state: string; skill_id: string; skill_name: string; reason?: string; changed_at: string }

export const skills = {
  received: async () => (await api.get<{ skills: Received[] | null }>('/api/skills/received')).skills ?? [],
  exchanges: async () => (await api.get<{ exchanges: Exchange[] | null }>('/api/skills/exchanges')).exchanges ?? [],
  review: (id: string) => api.get<Review>(`/api/skills/received/${part(id)}`),
  approve: (approval: string, dangers: number) => api.post(`/api/approvals/${part(approval)}`, { approved: true, answers: Array(dangers).fill('acknowledged') }),
  reject: (approval: string) => api.post(`/api/approvals/${part(approval)}`, { approved: false }),
  revoke: (id: string) => api.post(`/api/skills/received/${part(id)}/revoke`, {}),
};
