// What the hub's REST interface speaks: the types of its OpenAPI document, by the names the page
// has for them. Times are RFC 3339 strings.

import type { components } from '../gen/rest';

type Schemas = components['schemas'];

export type Principal = Schemas['Principal'];
export type Session = Schemas['Session'];
export type Check = Schemas['Check'];
export type Status = Schemas['Status'];
export type Cluster = Schemas['Cluster'];
export type Member = Schemas['Member'];
export type Engine = Schemas['Engine'];
export type Door = Schemas['Door'];
export type AgentSpend = Schemas['AgentSpend'];
export type Question = Schemas['Question'];
export type Approval = Schemas['Approval'];
export type ApprovalAnswer = Schemas['Answer'];
export type Outcome = Approval['outcome'];
export type AuditEntry = Schemas['AuditEntry'];
export type AuditPage = Schemas['AuditEntries'];
export type AuditHour = Schemas['AuditHour'];
export type AuditCut = Schemas['AuditCut'];
export type AuditComparison = Schemas['AuditComparison'];
export type AuditVerdict = Schemas['AuditReport'];
export type Token = Schemas['Token'];
export type Person = Schemas['Person'];
export type Device = Schemas['Device'];
export type Browser = Schemas['Browser'];
export type Passkey = Schemas['Passkey'];
export type Pairing = Schemas['Pairing'];
export type ToolUse = Schemas['ToolUse'];
export type StoredConversation = Schemas['Conversation'];
export type Website = Schemas['ListedWebsite'];
export type WorkspaceGrant = Schemas['WorkspaceGrant'];
export type MemoryShare = Schemas['Share'];
export type StandingRule = Schemas['StandingRule'];
export type RuleTerms = Schemas['RuleTerms'];
export type RuleTrial = Schemas['RuleTrial'];

/** A token's secret, when it is made and when it is replaced. */
export type NewToken = Schemas['NewToken'] & Partial<Schemas['Rotated']>;

/** How a question ended, as the live stream tells it. */
export type Resolution = Pick<Approval, 'id' | 'outcome' | 'by' | 'resolved_at'> & { reason?: string };

/** What one agent may use; what is missing has no limit. */
export interface Budget {
  run_usd?: number;
  run_tokens?: number;
  day_usd?: number;
  day_tokens?: number;
  month_usd?: number;
  hard?: boolean;
}

/** An agent: the keys of its file, which the hub does not limit, and these. */
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
