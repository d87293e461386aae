// Bytes, text and tokens as the rooms protocol writes them.

export const utf8 = new TextEncoder();
const text = new TextDecoder();

export function toBase64url(bytes: Uint8Array): string {
  let raw = '';
  for (const b of bytes) raw += String.fromCharCode(b);
  return btoa(raw).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function fromBase64url(coded: string): Uint8Array<ArrayBuffer> {
  const raw = atob(coded.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

export async function sha256(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', data));
}

export function utf8Text(bytes: BufferSource): string {
  return text.decode(bytes);
}

/** A room's id: what is in the address, made canonical. */
export function roomId(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40);
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' };

/** A private key as a JWK, or one made by WebCrypto. */
export type Key = JsonWebKey | CryptoKeyPair;

export async function keyPair(key: Key): Promise<{ sign: CryptoKey; public: JsonWebKey }> {
  if ('privateKey' in key) {
    const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', key.publicKey);
    return { sign: key.privateKey, public: { kty, crv, x, y } as JsonWebKey };
  }
  const { kty, crv, x, y } = key;
  return { sign: await crypto.subtle.importKey('jwk', { ...key, key_ops: ['sign'], ext: true }, curve, false, ['sign']), public: { kty, crv, x, y } as JsonWebKey };
}

/** Makes a key for an agent or a host. The private half stays where it is made. */
export async function newKey(): Promise<JsonWebKey> {
  const pair = await crypto.subtle.generateKey(curve, true, ['sign', 'verify']);
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', pair.privateKey);
  return { kty, crv, x, y, d } as JsonWebKey;
}

/** RFC 7638. */
export async function thumbprint(key: JsonWebKey): Promise<string> {
  return toBase64url(await sha256(utf8.encode(`{"crv":"${key.crv}","kty":"${key.kty}","x":"${key.x}","y":"${key.y}"}`)));
}

/** body.signature, over the bytes of the coded body. */
export async function signToken(sign: CryptoKey, claims: object): Promise<string> {
  const body = toBase64url(utf8.encode(JSON.stringify(claims)));
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, sign, utf8.encode(body));
  return `${body}.${toBase64url(new Uint8Array(signature))}`;
}

/** What a WebSocket is recognised by: the dialled origin, the room and the hub's nonce. */
export async function channelFingerprint(origin: string, room: string, nonce: string): Promise<string> {
  return colonHex(await sha256(utf8.encode(`kbz-ws.v1|${origin}|${room}|${nonce}`)));
}

export function colonHex(bytes: Uint8Array): string {
  return [...bytes].map((b) => b.toString(16).padStart(2, '0')).join(':');
}

/** The origin a client dialled, in the form both sides sign. */
export function dialledOrigin(url: URL): string {
  return `${url.protocol === 'wss:' || url.protocol === 'https:' ? 'https' : 'http'}://${url.host.toLowerCase()}`;
}
