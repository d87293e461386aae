// Sealed rooms: the hub relays what it cannot read. The secret is in the link's
// fragment, which browsers never send.

import { fromBase64url, toBase64url, utf8, utf8Text } from './codec';

const hidden: Record<string, string> = { chat: 'text', app: 'data', schema: 'schema' };
const labels = ['chat', 'view', 'act'];

export class Seal {
  #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  static async from(secret: string, room: string): Promise<Seal> {
    const raw = await crypto.subtle.importKey('raw', fromBase64url(secret), 'HKDF', false, ['deriveKey']);
    const key = await crypto.subtle.deriveKey(
      { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(room), info: utf8.encode('parley-room-seal.v1') },
      raw, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'],
    );
    return new Seal(key);
  }

  /** Content with its inside in a box. What cannot be sealed is refused. */
  async seal(c: any, to = ''): Promise<any> {
    const member = hidden[c.k];
    if (!member) throw new Error(`${c.k} cannot be sealed`);
    const e = label(c);
    const inside: Record<string, unknown> = { [member]: c[member] };
    if (c.k === 'chat' && c.dm) inside['dm'] = c.dm;
    const nonce = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce, additionalData: utf8.encode(`${c.k}|${e}|${to}`) }, this.#key, utf8.encode(JSON.stringify(inside)));
    const box = new Uint8Array(12 + sealed.byteLength);
    box.set(nonce);
    box.set(new Uint8Array(sealed), 12);
    return { k: c.k, ...(e ? { e } : {}), ...(c.k === 'schema' ? { name: c.name, version: c.version } : {}), box: toBase64url(box) };
  }

  /** The content, or nothing if it cannot be opened or is not what its label says. */
  async open(c: any, to = ''): Promise<any> {
    const member = hidden[c?.k];
    if (!member || typeof c.box !== 'string') return undefined;
    try {
      const box = fromBase64url(c.box);
      const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: box.subarray(0, 12), additionalData: utf8.encode(`${c.k}|${c.e ?? ''}|${to}`) }, this.#key, box.subarray(12));
      const inside = JSON.parse(utf8Text(plain));
      if (!(member in inside)) return undefined;
      const opened = { k: c.k, [member]: inside[member], ...(c.k === 'schema' ? { name: c.name, version: c.version } : {}), ...(inside.dm ? { dm: inside.dm } : {}) };
      return label(opened) === (c.e ?? '') ? opened : undefined;
    } catch {
      return undefined;
    }
  }
}

function label(c: any): string {
  if (c.k !== 'app') return '';
  const kind = c.data?.__kib_agent;
  return typeof kind === 'string' && labels.includes(kind) ? kind : 'data';
}
