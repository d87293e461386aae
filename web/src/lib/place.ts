// The meeting place over REST: who is there and how much passes, never what.

import { api, part } from './api';

export interface Overview { place_id: string; place_key: string; name: string; auth: string; features: string[] | null; agents: number; postings: number; pending_messages: number; started_at: string; warnings: string[] | null }
export interface Agent { id: string; name: string; description: string; capabilities: string[] | null; place?: string; proven: boolean; trust: string; key_id?: string; registered_at: string; last_seen: string; expires_at: string }
export interface Edge { from: string; to: string; messages: number; bytes: number; last_at: string }
export interface Posting { id: string; agent_id: string; agent_name: string; type: string; skill_name: string; summary: string; format: string; tags: string[] | null; proven: boolean; created_at: string; expires_at: string }
export interface Queue { agent: string; pending: number; leased: number; bytes: number; dropped: number; oldest_at: string; limit: number; outgoing: boolean }
export interface Pin { agent: string; key_id: string; fingerprint: string; previous_fingerprint?: string; proof: string; changed_at: string; proven_at: string; envelopes: number[] | null; trusted: boolean; sessions: number }
export interface PlaceEvent { at: string; event_type: string; action: string; participants?: string[]; message_type?: string; size_bytes?: number; agent_id?: string; key_id?: string; reason?: string; peer?: string }
export interface Peer { name: string; url: string; key: string; seen_at: string; problem: string; agents: number; waiting: number }
interface Hour { hour: string; relays: number; bytes: number }

const list = async <T>(path: string, name: string) => ((await api.get<Record<string, T[] | null>>(path))[name] ?? []) as T[];

export const place = {
  overview: () => api.get<Overview>('/api/place'),
  agents: () => list<Agent>('/api/place/agents', 'agents'),
  graph: () => list<Edge>('/api/place/graph', 'edges'),
  postings: () => list<Posting>('/api/place/postings', 'postings'),
  unpost: (id: string) => api.delete(`/api/place/postings/${part(id)}`),
  queues: () => list<Queue>('/api/place/queues', 'queues'),
  keys: () => list<Pin>('/api/place/keys', 'keys'),
  forget: (id: string) => api.delete(`/api/place/keys/${part(id)}`),
  trust: (address: string, key_id: string) => api.post('/api/place/trust', { address, key_id }),
  untrust: (key: string) => api.delete(`/api/place/trust/${part(key)}`),
  events: () => list<PlaceEvent>('/api/place/audit', 'events'),
  /** As the hour chart reads it. */
  hours: async () => (await list<Hour>('/api/place/audit/hours', 'hours')).map((h) => ({ at: `${h.hour.replace(' ', 'T')}:00Z`, count: h.relays, failed: 0 })),
  peers: () => list<Peer>('/api/place/peers', 'peers'),
  addPeer: (body: { name: string; url: string; key: string }) => api.post('/api/place/peers', body),
  removePeer: (name: string) => api.delete(`/api/place/peers/${part(name)}`),
};
