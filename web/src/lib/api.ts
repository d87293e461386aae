// One small client for the hub's REST interface. Every failure is a Problem,
// so that a page has one thing to catch and one thing to show.

import type {
  Agent, AgentSpend, Approval, ApprovalAnswer, AuditComparison, AuditHour, AuditPage, AuditVerdict, Browser, Cluster, Device, NewToken, Pairing, Passkey, Person, Resolution, RuleTerms, RuleTrial, Session, StandingRule, Status, StoredConversation, MemoryShare, Token, ToolUse, Website, WorkspaceGrant,
} from './types';
import type { Stored } from './attach';
import type { Ceremony, Proof } from './passkey';

/** A refusal or failure, read from a problem document (RFC 9457) where the hub sent one. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly requestId = '',
  ) {
    super(detail || title);
    this.name = 'Problem';
  }

  /** The hub could not be reached at all. */
  get offline(): boolean {
    return this.status === 0;
  }
}

/** Turns anything that was thrown into a Problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new Problem(-1, 'page_error', 'Something went wrong in the page', text);
}

async function problemOf(answer: Response): Promise<Problem> {
  const fallback = answer.statusText || `The hub answered ${answer.status}`;
  try {
    const body = (await answer.json()) as Record<string, any>;
    return new Problem(
      answer.status,
      String(body['code'] ?? body['error']?.code ?? ''),
      String(body['title'] ?? fallback),
      String(body['detail'] ?? body['error']?.message ?? ''),
      String(body['request_id'] ?? ''),
    );
  } catch {
    return new Problem(answer.status, '', fallback, '');
  }
}

type Query = Record<string, string | number | boolean | undefined | null>;

/** Joins a path and its query, leaving out what is empty. */
export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** What the client needs from outside; replaced in tests. */
export interface Surroundings {
  fetch: typeof fetch;
  /** Called when the hub says that nobody is signed in any more. */
  signedOut: () => void;
}

export class Client {
  #csrf = '';
  #around: Surroundings;

  constructor(around: Partial<Surroundings> = {}) {
    this.#around = { fetch: (...args) => globalThis.fetch(...args), signedOut: () => {}, ...around };
  }

  /** Sets what happens when the session has ended. */
  onSignedOut(fn: () => void): void {
    this.#around.signedOut = fn;
  }

  async #once(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: 'application/json', ...more };
    const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' };
    if (body instanceof Blob) {
      headers['Content-Type'] = 'application/octet-stream';
      init.body = body;
    } else if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    if (method !== 'GET' && this.#csrf) headers['X-Parley-CSRF'] = this.#csrf;
    try {
      return await this.#around.fetch(path, init);
    } catch {
      throw new Problem(0, 'offline', 'The hub cannot be reached', 'Check that it runs and that you are connected to it.');
    }
  }

  async #request<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
    let answer = await this.#once(method, path, body, headers);
    if (answer.status === 403 && method !== 'GET') {
      // Another tab may have signed in anew: then our CSRF value is old, and asking once for the current one is enough.
      const problem = await problemOf(answer);
      if (!problem.code.startsWith('csrf')) throw problem;
      await this.session();
      answer = await this.#once(method, path, body, headers);
    }
    if (!answer.ok) {
      const problem = await problemOf(answer);
      if (problem.status === 401 && !path.startsWith('/api/session')) this.#around.signedOut();
      throw problem;
    }
    if (answer.status === 204) return undefined as T;
    const type = answer.headers.get('Content-Type') ?? '';
    return (type.includes('json') && !type.includes('jsonl') ? await answer.json() : await answer.text()) as T;
  }

  get<T>(path: string, query?: Query): Promise<T> {
    return this.#request<T>('GET', address(path, query));
  }

  post<T>(path: string, body?: unknown): Promise<T> {
    return this.#request<T>('POST', path, body);
  }

  put<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
    return this.#request<T>('PUT', path, body, headers);
  }

  patch<T>(path: string, body?: unknown): Promise<T> {
    return this.#request<T>('PATCH', path, body);
  }

  delete<T = void>(path: string): Promise<T> {
    return this.#request<T>('DELETE', path);
  }

  // Session

  async session(): Promise<Session> {
    return this.#keep(await this.get<Session>('/api/session'));
  }

  async signIn(proof: ({ login: string } | { pairing: string } | { token: string } | { passkey: Proof }) & { name: string }): Promise<Session> {
    return this.#keep(await this.post<Session>('/api/session', proof));
  }

  beginPasskeySignIn = () => this.post<Ceremony>('/api/session/passkey', {});

  async signOut(): Promise<void> {
    await this.delete('/api/session');
    this.#csrf = '';
  }

  #keep(session: Session): Session {
    this.#csrf = session.csrf ?? '';
    return session;
  }

  // Hub

  /** Everything the hub keeps, as a file. */
  backup = async () => {
    const answer = await this.#once('POST', '/api/backup');
    if (!answer.ok) throw await problemOf(answer);
    return answer.blob();
  };

  /** Puts a picture, a PDF or a voice note into the hub. */
  putFile = (file: File) => this.post<Stored>(address('/api/files', { name: file.name }), file);

  status = () => this.get<Status>('/api/status');
  cluster = () => this.get<Cluster>('/api/cluster');

  // Approvals

  /** The person's own files in what asks. */
  approvalFiles = async (id: string) => (await this.get<{ files: Stored[] | null }>(`/api/approvals/${encodeURIComponent(id)}/files`)).files ?? [];
  approvals = async () => (await this.get<{ approvals: Approval[] | null }>('/api/approvals')).approvals ?? [];
  answer = (id: string, answer: ApprovalAnswer) => this.post<Resolution>(`/api/approvals/${part(id)}`, answer);

  pushKey = () => this.get<{ public_key: string }>('/api/push');
  pushSubscribe = (body: { endpoint: string; p256dh: string; auth: string }) => this.post<void>('/api/push/subscriptions', body);
  pushUnsubscribe = (endpoint: string) => this.delete(address('/api/push/subscriptions', { endpoint }));

  // Audit

  audit = (query: Query) => this.get<AuditPage>('/api/audit', query);
  auditHours = async (hours: number, filter: Record<string, string> = {}) => (await this.get<{ hours: AuditHour[] | null }>('/api/audit/hours', { ...filter, hours })).hours ?? [];
  /** The whole trail as it comes. */
  auditExport = async (): Promise<ReadableStream<Uint8Array>> => {
    const answer = await this.#once('GET', '/api/audit/export');
    if (!answer.ok) throw await problemOf(answer);
    return answer.body ?? new Blob([]).stream();
  };
  auditVerify = () => this.get<AuditVerdict>('/api/audit/verify');
  auditCompare = () => this.get<AuditComparison>('/api/audit/compare');

  // People, devices, tokens

  tokens = async () => list<Token>(await this.get('/api/tokens'), 'tokens');
  createToken = (body: { name: string; role: string; scopes: string[]; ttl?: string; principal?: string; pairing?: boolean }) =>
    this.post<NewToken>('/api/tokens', body);
  rotateToken = (id: string) => this.post<NewToken>(`/api/tokens/${part(id)}/rotate`, {});
  websites = async () => list<Website>(await this.get('/api/websites'), 'websites');
  listWebsite = (origin: string) => this.post<Website>('/api/websites', { origin });
  unlistWebsite = (origin: string) => this.delete(`/api/websites?${new URLSearchParams({ origin })}`);
  passToRoom = (room: string, origin: string) => this.post<{ token: string }>(`/api/rooms/${part(room)}/pass`, { origin });
  workspaceGrants = async () => list<WorkspaceGrant>(await this.get('/api/workspace/grants'), 'grants');
  shareFolder = (body: { person: string; folder?: string; read_only?: boolean; until?: string }) => this.post<WorkspaceGrant>('/api/workspace/grants', body);
  memoryShares = async () => list<MemoryShare>(await this.get('/api/memory/shares'), 'shares');
  shareMemory = (body: { agent: string; archive_id?: string; to_agent: string; to_sender?: string; expires_at?: string }) => this.post<MemoryShare>('/api/memory/shares', body);
  unshareMemory = (id: string) => this.delete(`/api/memory/shares/${part(id)}`);
  unshareFolder = (id: string) => this.delete(`/api/workspace/grants/${part(id)}`);
  rules = async () => list<StandingRule>(await this.get('/api/rules'), 'rules');
  tryRule = (body: RuleTerms & { approval_id: string }) => this.post<RuleTrial>('/api/rules/try', body);
  revokeRule = (id: string) => this.delete(`/api/rules/${part(id)}`);
  revokeToken = (id: string) => this.delete(`/api/tokens/${part(id)}`);
  people = async () => list<Person>(await this.get('/api/people'), 'people');
  addPerson = (body: { name: string }) => this.post<Person>('/api/people', body);
  devices = async () => list<Device>(await this.get('/api/devices'), 'devices');
  removeDevice = (id: string) => this.delete(`/api/devices/${part(id)}`);
  browsers = async () => list<Browser>(await this.get('/api/browsers'), 'browsers');
  removeBrowser = (id: string) => this.delete(`/api/browsers/${part(id)}`);
  passkeys = async () => list<Passkey>(await this.get('/api/passkeys'), 'passkeys');
  beginPasskey = () => this.post<Ceremony>('/api/passkeys/begin', {});
  addPasskey = (body: Proof & { name: string }) => this.post<Passkey>('/api/passkeys', body);
  removePasskey = (id: string) => this.delete(`/api/passkeys/${part(id)}`);
  /** A one-time way in, as a path of the page: for oneself, or for the person named. */
  loginLink = (principal?: string) => this.post<{ path: string; expires_at?: string }>('/api/login-links', principal ? { principal } : {});
  pair = (body: { name?: string; scopes?: string[] }) => this.post<Pairing>('/api/pairing', body);

  // Agents. Conversations have a protocol of their own: see talk/.

  agents = async () => list<Agent>(await this.get('/api/agents'), 'agents');
  agent = (name: string) => this.get<Agent>(`/api/agents/${part(name)}`);
  conversations = async (agent: string, sender: string) => list<StoredConversation>(await this.get('/api/conversations', { agent, sender }), 'conversations');
  conversation = (id: string) => this.get<StoredConversation>(`/api/conversations/${part(id)}`);
  conversationTools = async (id: string, after: number, before: number) => list<ToolUse>(await this.get(`/api/conversations/${part(id)}/tools`, { after: `${after}`, before: `${before}` }), 'tools');
  /** Summarises an archive again from its raw messages. */
  redoArchive = (id: string, focus: string) => this.post<{ title: string; summary: string }>(`/api/archives/${part(id)}/redo`, { focus });
  spend = async () => list<AgentSpend>(await this.get('/api/spend'), 'agents');
  createAgent = (body: Record<string, unknown>) => this.post<Agent>('/api/agents', body);
  updateAgent = (name: string, body: Record<string, unknown>) => this.put<Agent>(`/api/agents/${part(name)}`, body);
  removeAgent = (name: string) => this.delete(`/api/agents/${part(name)}`);
}

/** One path segment. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

// A list comes either bare or under its name; null means empty.
function list<T>(body: unknown, name: string): T[] {
  if (Array.isArray(body)) return body as T[];
  return ((body as Record<string, T[] | null> | null)?.[name] ?? []) as T[];
}

export const api = new Client();
