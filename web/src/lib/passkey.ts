// Passkeys: the browser's half of the two ceremonies, in and out as JSON.

import { Problem } from './api';

/** The first half of a ceremony, as the hub gives it. */
export interface Ceremony {
  ceremony: string;
  options: { publicKey: Record<string, any> };
}

/** The second half, as the hub wants it back. */
export interface Proof {
  ceremony: string;
  response: unknown;
}

type Where = Pick<Location, 'protocol' | 'hostname' | 'port' | 'pathname' | 'search'>;

/** Why passkeys cannot be used on this page, and where they can, or null when they can. */
export function obstacle(where: Where = location, capable = 'PublicKeyCredential' in globalThis): { text: string; href?: string } | null {
  const { hostname } = where;
  if (/^(127(\.\d+){3}|\[::1\])$/.test(hostname)) {
    const port = where.port ? `:${where.port}` : '';
    return { text: 'Browsers allow passkeys only where an address has a name.', href: `${where.protocol}//localhost${port}${where.pathname}${where.search}` };
  }
  if (/^(\d+\.){3}\d+$|^\[/.test(hostname)) return { text: 'Browsers allow passkeys only where an address has a name: open the hub by its host name, over https.' };
  if (!capable) return { text: 'This browser has no passkeys here. They need https, or localhost, and a recent browser.' };
  return null;
}

/** Has the browser make a passkey. */
export async function make(c: Ceremony): Promise<Proof> {
  const made = await ask(c, () => navigator.credentials.create({ publicKey: creation(c.options.publicKey) }));
  return { ceremony: c.ceremony, response: written(made) };
}

/** Has the browser prove that it holds a passkey. */
export async function use(c: Ceremony): Promise<Proof> {
  const used = await ask(c, () => navigator.credentials.get({ publicKey: request(c.options.publicKey) }));
  return { ceremony: c.ceremony, response: written(used) };
}

async function ask(c: Ceremony, run: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  let found: Credential | null;
  try {
    found = await run();
  } catch (error) {
    throw explain(error, c.options.publicKey['rp']?.id ?? c.options.publicKey['rpId'] ?? '');
  }
  if (!found) throw new Problem(-1, 'passkey', 'No passkey was used', 'The browser gave none.');
  return found as PublicKeyCredential;
}

/** What a browser says about a failed ceremony, in words that help. */
export function explain(error: unknown, name: string): Problem {
  const kind = error instanceof Error || error instanceof DOMException ? error.name : '';
  const words: Record<string, string> = {
    NotAllowedError: 'It was cancelled, took too long, or this device has no passkey for this hub.',
    SecurityError: `Passkeys of this hub belong to the name ${name || 'localhost'}: open the page there.`,
    InvalidStateError: 'This device has a passkey for this hub already.',
    NotSupportedError: 'This device cannot make such a passkey.',
    AbortError: 'It was cancelled.',
  };
  return new Problem(-1, 'passkey', 'No passkey was used', words[kind] ?? (error instanceof Error ? error.message : String(error)));
}

// Browsers that are too old to convert by themselves get it done here.

type Json = Record<string, any>;
const own = () => PublicKeyCredential as unknown as { parseCreationOptionsFromJSON?: (o: Json) => PublicKeyCredentialCreationOptions; parseRequestOptionsFromJSON?: (o: Json) => PublicKeyCredentialRequestOptions };

function creation(options: Json): PublicKeyCredentialCreationOptions {
  return own().parseCreationOptionsFromJSON?.(options) ?? readCreation(options);
}

function request(options: Json): PublicKeyCredentialRequestOptions {
  return own().parseRequestOptionsFromJSON?.(options) ?? readRequest(options);
}

const read = (list: Json[] | undefined) => list?.map((c) => ({ ...c, id: bytes(c['id']) })) as PublicKeyCredentialDescriptor[] | undefined;

export function readCreation(o: Json): PublicKeyCredentialCreationOptions {
  return { ...o, challenge: bytes(o['challenge']), user: { ...o['user'], id: bytes(o['user'].id) }, excludeCredentials: read(o['excludeCredentials']) ?? [] } as unknown as PublicKeyCredentialCreationOptions;
}

export function readRequest(o: Json): PublicKeyCredentialRequestOptions {
  return { ...o, challenge: bytes(o['challenge']), allowCredentials: read(o['allowCredentials']) ?? [] } as unknown as PublicKeyCredentialRequestOptions;
}

function written(credential: PublicKeyCredential): Json {
  return typeof credential.toJSON === 'function' ? (credential.toJSON() as unknown as Json) : write(credential);
}

export function write(c: PublicKeyCredential): Json {
  const response: Json = {};
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    const value = (c.response as unknown as Json)[name];
    if (value) response[name] = text(value);
  }
  return { id: c.id, rawId: text(c.rawId), type: c.type, authenticatorAttachment: c.authenticatorAttachment ?? undefined, clientExtensionResults: c.getClientExtensionResults(), response };
}

/** Bytes of unpadded base64url. */
export function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
}

/** Unpadded base64url of bytes. */
export function text(data: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(data))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
