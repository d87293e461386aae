// What the hub's REST interface speaks. Times are RFC 3339 strings.

export interface Principal {
  id: string;
  name: string;
  kind: 'person' | 'agent' | 'machine' | 'device';
}

export interface Session {
  principal: Principal;
  scopes: string[];
  csrf: string;
  expires_at: string;
}

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

export interface Status {
  name: string;
  version: string;
  hub_id: string;
  /** Ed25519, in base64: what signs the audit trail. */
  public_key: string;
  started_at: string;
  uptime_s: number;
  healthy: boolean;
  checks: Check[];
  counts: Partial<Record<'people' | 'devices' | 'tokens' | 'approvals_pending' | 'agents' | 'conversations' | 'running' | 'tasks_running' | 'tasks_paused' | 'terminals' | 'machines' | 'machines_online' | 'rooms_live' | 'room_members' | 'place_agents' | 'skills_waiting', number>>;
  model: { active: string; provider: string };
  spend_today_usd: number;
  warnings: { code: string; text: string }[];
}

/** Which hubs run, and what they share. */
export interface Cluster {
  /** No second hub can join: the database is a file of this one. */
  alone: boolean;
  hubs: Member[];
  database: Engine;
  bus: Engine;
  door: Door;
}

export interface Member {
  id: string;
  /** The hub that answered. */
  here: boolean;
  alive: boolean;
  started_at: string;
  silent_after: string;
  holds: Record<string, number>;
}

export interface Engine {
  kind: 'sqlite' | 'postgres' | 'local' | 'nats';
  where: string;
  ok: boolean;
  detail?: string;
}

export interface Door {
  listen: string;
  url: string;
  tls: 'none' | 'files' | 'acme' | 'proxy';
  certificate?: { names: string[]; issuer: string; not_after: string };
  verdict: 'good' | 'note' | 'bad';
  found: string;
  advice?: string;
}

/** What one agent used; money is in US dollars. */
export interface AgentSpend {
  agent: string;
  today_usd: number;
  today_tokens: number;
  month_usd: number;
  month_tokens: number;
}

/** What one agent may use; what is missing has no limit. */
export interface Budget {
  run_usd?: number;
  run_tokens?: number;
  day_usd?: number;
  day_tokens?: number;
  month_usd?: number;
  hard?: boolean;
}

export interface Question {
  question: string;
  header?: string;
  options?: { label: string; description?: string }[];
  multi_select?: boolean;
}

export interface Approval {
  id: string;
  kind: string;
  title?: string;
  tool?: string;
  arguments?: unknown;
  target?: string;
  reason?: string;
  requested_by?: string;
  on_behalf_of?: string;
  /** Who wants it, or whose agent does, and how they came to the hub; via is that in words. */
  asker?: { person?: string; via?: string; where?: string; agent?: string; run?: string; address?: string };
  machines?: string[] | null;
  /** Words of strangers had entered the run. */
  tainted?: { since?: string; by?: string };
  /** Another person than the asking one must answer. */
  not_asker?: boolean;
  created_at: string;
  expires_at: string;
  task_id?: string;
  conversation_id?: string;
  questions?: Question[] | null;
  /** Whether the same may be allowed for the rest of the task. */
  may_remember?: boolean;
  /** How many different people must agree. */
  quorum?: number;
}

/** `pending` is the answer to one yes of several that are needed. */
export type Outcome = 'pending' | 'approved' | 'rejected' | 'expired' | 'cancelled';

export interface ApprovalAnswer {
  approved: boolean;
  reason?: string;
  remember?: 'once' | 'task';
  answers?: string[];
}

export interface Resolution {
  id: string;
  outcome: Outcome;
  by?: string;
  reason?: string;
  resolved_at?: string;
}

export interface AuditEntry {
  seq: number;
  at: string;
  actor: string;
  on_behalf_of?: string;
  action: string;
  target?: string;
  outcome: string;
  duration_ms?: number;
  digest?: string;
  detail?: Record<string, unknown>;
  hash: string;
}

export interface AuditPage {
  entries: AuditEntry[];
  next?: number | string;
}

export interface AuditHour {
  at: string;
  count: number;
  failed: number;
}

/** A cut of the trail that a checkpoint kept outside the database shows. */
export interface AuditCut {
  after: number;
  exact?: boolean;
  up_to: number;
  kept: string;
  rewritten?: boolean;
  acknowledged?: { by: string; at: string; seq: number; reason?: string };
}

/** The trail held against the checkpoints kept outside the database. */
export interface AuditComparison {
  kept?: { where: string; agree: number; last?: number; foreign?: number }[];
  cuts?: AuditCut[];
}

export interface AuditVerdict {
  ok: boolean;
  entries: number;
  checkpoints: number;
  last_signed?: number;
  bad_seq?: number;
  problem?: string;
}

export interface Token {
  id: string;
  name: string;
  role: string;
  scopes: string[];
  principal: Principal;
  kind: string;
  created_at: string;
  expires_at?: string;
  last_used_at?: string;
  revoked_at?: string;
}

export interface WorkspaceGrant {
  id: string;
  owner: string;
  person: string;
  mine: boolean;
  folder: string;
  path?: string;
  read_only: boolean;
  until?: string;
}

export interface NewToken {
  id: string;
  token: string;
  scopes?: string[];
  expires_at: string;
  old_valid_until?: string;
}

export interface Person {
  id: string;
  name: string;
  owner: boolean;
  created_at: string;
}

/** A program with a key of its own. */
export interface Device {
  id: string;
  name: string;
  principal: Principal;
  created_at: string;
  last_seen_at?: string;
  revoked_at?: string;
}

/** A browser in which somebody is signed in. */
export interface Browser {
  id: string;
  principal: Principal;
  /** What it calls itself. */
  agent: string;
  current: boolean;
  created_at: string;
  expires_at: string;
  last_used_at: string;
}

export interface Passkey {
  id: string;
  name: string;
  principal: Principal;
  scopes: string[];
  created_at: string;
  last_used_at?: string;
}

export interface Pairing {
  code: string;
  expires_at: string;
}

export interface Agent {
  name: string;
  description?: string;
  model?: string;
  tools?: string[];
  skills?: string[];
  members?: string[];
  mcps?: string[];
  error?: string;
  prompt?: string;
  max_iterations?: number;
  thinking?: string | boolean;
  auto_approve?: string[];
  guest_tools?: string[];
  [key: string]: unknown;
}

/** What a tool did in a conversation. */
export interface ToolUse {
  /** Number of the message that made the call. */
  seq: number;
  run_id: string;
  agent?: string;
  call_id: string;
  name: string;
  arguments: string;
  output: string;
  left_out_bytes?: number;
  failed?: boolean;
  answered: boolean;
}

/** A conversation as the hub stores it. */
export interface StoredConversation {
  id: string;
  agent: string;
  sender: string;
  thread: string;
  /** Only in the answer about one conversation. */
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number; cost_usd?: number; cost_known: boolean; rounds: number };
}
