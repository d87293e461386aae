// A room's policy as a form: which fields there are, how each is asked for, and how a
// document becomes what the controls show and back. Whatever is in a document and not
// in here stays in it untouched.

export type Doc = Record<string, any>;

export type Kind = 'check' | 'choice' | 'number' | 'text' | 'address' | 'lines' | 'pem' | 'when' | 'grant';

export interface Field {
  /** Where it is, e.g. humans.mode. */
  path: string;
  kind: Kind;
  label: string;
  help: string;
  choices?: [value: string, name: string][];
  min?: number;
  max?: number;
  /** Without it nobody could enter. */
  needed?: boolean;
  /** What is wrong with one line of a list. */
  line?: (text: string) => string;
  /** Whether it means anything with the rest of the policy. */
  when?: (policy: Doc) => boolean;
}

export interface Group { title: string; fields: Field[] }

const gated = (p: Doc) => at(p, 'agents.mode') === 'gated';
const oidc = (p: Doc) => at(p, 'humans.mode') === 'oidc';
const paid = (p: Doc) => at(p, 'credits.requireAgentCredits') === true;

export const groups: Group[] = [
  {
    title: 'The room',
    fields: [
      { path: 'notice', kind: 'text', label: 'Notice', help: 'Told to everybody who comes in.' },
      { path: 'max', kind: 'number', min: 1, max: 10_000, label: 'Places', help: 'How many may be in the room at once.' },
      { path: 'exp', kind: 'when', label: 'Open until', help: 'Later nobody may enter. Empty: it never ends.' },
      { path: 'sealed', kind: 'check', label: 'Sealed', help: 'The hub relays only what it cannot read.' },
      { path: 'lobby.on', kind: 'check', label: 'Waiting room', help: 'People wait at the door until a host lets them in.' },
      { path: 'lobby.agents', kind: 'check', label: 'Waiting room for agents', help: 'Agents wait at the door, too.' },
    ],
  },
  {
    title: 'People',
    fields: [
      { path: 'humans.mode', kind: 'choice', label: 'Who may enter', help: 'Hosts always may.', choices: [['hub', 'people of this hub, or invited'], ['invite', 'invited people'], ['oidc', 'people an identity provider knows'], ['open', 'anyone with the link'], ['none', 'nobody']] },
      { path: 'humans.oidc.issuer', kind: 'address', when: oidc, label: 'Identity provider', needed: true, help: 'The address it names itself by (issuer).' },
      { path: 'humans.oidc.clientId', kind: 'text', when: oidc, label: 'Client id', needed: true, help: 'What the provider calls whoever asks for this room.' },
      { path: 'humans.oidc.jwksUri', kind: 'address', when: oidc, label: 'Address of the provider’s keys', needed: true, help: 'Where its key set is (jwks_uri).' },
      { path: 'humans.oidc.authUri', kind: 'address', when: oidc, label: 'Where people sign in', help: 'Its authorization address. It returns people to /signin of this hub with an ID token.' },
      { path: 'humans.oidc.emails', kind: 'lines', when: oidc, line: email, label: 'Email addresses', help: 'One a line. Without addresses and domains every verified one counts.' },
      { path: 'humans.oidc.domains', kind: 'lines', when: oidc, line: domain, label: 'Email domains', help: 'One a line, such as example.org.' },
      { path: 'humans.grant', kind: 'grant', label: 'What people may', help: 'The usual: everything.' },
      { path: 'humans.guestGrant', kind: 'grant', label: 'What guests may', help: 'Guests proved nothing. The usual: what people may.' },
    ],
  },
  {
    title: 'Agents',
    fields: [
      { path: 'agents.mode', kind: 'choice', label: 'Which may enter', help: 'An agent proves its key each time it connects.', choices: [['gated', 'those listed or vouched for below'], ['open', 'any, read-only'], ['none', 'none']] },
      { path: 'agents.invites', kind: 'check', when: gated, label: 'Invites for keys', help: 'An invite made for an agent’s key admits it.' },
    ],
  },
  {
    title: 'Agents others vouch for',
    fields: [
      { path: 'agents.ca.roots', kind: 'pem', when: gated, label: 'Root certificates', help: 'PEM. Agents with a certificate below one of these may enter.' },
      { path: 'agents.ca.spiffe', kind: 'text', when: gated, label: 'Names in certificates', help: 'A pattern, such as spiffe://example.org/agents/*.' },
    ],
  },
  {
    title: 'Credits',
    fields: [
      { path: 'credits.requireAgentCredits', kind: 'check', label: 'Agents pay', help: 'Each must bring a credential and renew it before it lapses.' },
      { path: 'credits.issuer', kind: 'lines', when: paid, label: 'Issuers of credits', help: 'One a line.' },
      { path: 'credits.jwksUri', kind: 'address', when: paid, label: 'Address of the issuer’s keys', help: 'https, or http on the hub’s own computer.' },
      { path: 'credits.kind', kind: 'text', when: paid, label: 'Kind of credit', help: 'Empty: any.' },
    ],
  },
  {
    title: 'Hosts',
    fields: [
      { path: 'host.email', kind: 'text', label: 'Host by email', help: 'Whoever verified this address may do everything.' },
      { path: 'host.name', kind: 'text', label: 'Host by name', help: 'Proves little: the first person so named may run the door.' },
    ],
  },
  {
    title: 'App and calls',
    fields: [
      { path: 'views.publishers', kind: 'lines', label: 'Who shows the app’s state', help: 'One a line: host, humans, or the id of a key.' },
      { path: 'views.directedOnly', kind: 'check', label: 'State for one at a time', help: 'Nothing of the app goes to everybody, so hidden state cannot slip out.' },
      { path: 'mesh.media', kind: 'check', label: 'Sound and pictures directly', help: 'Voices, cameras and screens go from browser to browser; off: not at all.' },
      { path: 'mesh.data', kind: 'check', label: 'Messages directly', help: 'Chat and app data go past the hub, which then keeps nothing of them.' },
    ],
  },
];

export const fields = groups.flatMap((g) => g.fields);

/** What the form asks for in other ways: lists with several fields each. */
const lists: Record<string, string[]> = { 'agents.keys': ['key', 'label', 'caps'], 'agents.issuers': ['iss', 'sub', 'aud', 'jwksUri'] };

/** The value at a path; undefined if there is none. */
export function at(doc: unknown, path: string): any {
  return path.split('.').reduce<any>((o, key) => o?.[key], doc);
}

/** The document with another value at a path; undefined takes it away. */
export function put(doc: Doc, path: string, value: unknown): Doc {
  const [key, ...rest] = path.split('.') as [string, ...string[]];
  if (rest.length) return { ...doc, [key]: put(doc[key] ?? {}, rest.join('.'), value) };
  const { [key]: _old, ...others } = doc;
  return value === undefined ? others : { ...doc, [key]: value };
}

/** The document as it is sent: lists without empty lines, texts that are empty left out. */
export function tidy(doc: Doc): Doc {
  for (const f of fields) {
    const value = at(doc, f.path);
    if (f.kind === 'lines' && Array.isArray(value)) doc = put(doc, f.path, value.map((v) => String(v).trim()).filter(Boolean));
    if (f.kind === 'pem' && Array.isArray(value)) doc = put(doc, f.path, certificates(value.join('\n')));
    if ((f.kind === 'text' || f.kind === 'address') && typeof value === 'string') doc = put(doc, f.path, value.trim() || undefined);
  }
  return doc;
}

/** One text for each certificate; what is none stays, so that somebody is told. */
function certificates(text: string): string[] {
  const found = text.match(/-----BEGIN [\s\S]*?-----END [^\n-]*-----/g);
  return found ?? (text.trim() ? [text.trim()] : []);
}

/** What is wrong, by path; only with what is shown. */
export function problems(doc: Doc): Record<string, string> {
  const found: Record<string, string> = {};
  for (const f of fields) {
    if (f.when && !f.when(doc)) continue;
    const wrong = problem(f, at(doc, f.path));
    if (wrong) found[f.path] = wrong;
  }
  return found;
}

function problem(f: Field, value: any): string {
  if (f.kind === 'number') {
    const [min, max] = [f.min ?? 0, f.max ?? Number.MAX_SAFE_INTEGER];
    return value === undefined || (Number.isInteger(value) && value >= min && value <= max) ? '' : `A whole number from ${min} to ${max}.`;
  }
  if (value === undefined || value === '') return f.needed ? 'Needed: without it nobody is admitted.' : '';
  if (f.kind === 'address') return /^https:\/\/[^\s/]+|^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/.test(String(value).trim()) ? '' : 'An address that begins with https://.';
  if (f.kind === 'lines') return value.map((l: string) => l.trim() && (f.line?.(l.trim()) ?? '')).find(Boolean) ?? '';
  if (f.kind === 'pem') return certificates(value.join('\n')).every((c) => c.startsWith('-----BEGIN CERTIFICATE-----')) ? '' : 'Certificates begin with -----BEGIN CERTIFICATE-----.';
  if (f.path === 'host.email') return email(String(value).trim());
  return '';
}

function email(text: string): string {
  return /^[^\s@]+@[^\s@]+$/.test(text) ? '' : `“${text}” is no email address.`;
}

function domain(text: string): string {
  return /^[^\s@/:]+\.[^\s@/:]+$/.test(text) ? '' : `“${text}” is no domain.`;
}

/** Which field a sentence of the hub is about; '' if none of the form. */
export function about(sentence: string): string {
  const pointer = / at (\/\S+)/.exec(sentence)?.[1];
  const named = pointer ? pointer.slice(1).replaceAll('/', '.') : '';
  return [...fields].sort((a, b) => b.path.length - a.path.length).find((f) => (named ? `${named}.`.startsWith(`${f.path}.`) : mentions(sentence, f.path)))?.path ?? '';
}

function mentions(sentence: string, path: string): boolean {
  return sentence.split(/[\s,]+/).includes(path);
}

/** Paths of what is in a document and the form does not show. */
export function beyond(doc: Doc): string[] {
  const shown = (path: string) => fields.some((f) => f.path === path);
  const walk = (value: unknown, path: string): string[] => {
    if (shown(path)) return [];
    const list = lists[path];
    if (list && Array.isArray(value)) return [...new Set(value.flatMap((entry) => Object.keys(entry ?? {}).filter((k) => !list.includes(k)).map((k) => `${path}.${k}`)))];
    if (value && typeof value === 'object' && !Array.isArray(value) && fields.some((f) => f.path.startsWith(`${path}.`))) return Object.entries(value).flatMap(([k, v]) => walk(v, `${path}.${k}`));
    return [path];
  };
  return Object.entries(doc).flatMap(([k, v]) => walk(v, k));
}

/** Epoch seconds as a field for date and time wants them, in local time, and back. */
export function toLocal(seconds: number | undefined): string {
  if (!seconds) return '';
  const d = new Date(seconds * 1000);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocal(text: string): number {
  return text ? Math.floor(new Date(text).getTime() / 1000) : 0;
}
