// Checks an exported audit trail in the browser: every hash, every link and
// every signature. The format is docs/decisions/012-audit-chain.md.

/** What a walk along the chain found. */
export interface Walked {
  ok: boolean;
  entries: number;
  checkpoints: number;
  /** The last entry a good signature covers; nobody can tell what was cut off after it. */
  lastSigned: number;
  /** Whether this browser could check signatures; where it cannot, only hashes count. */
  signatures: 'checked' | 'unsupported';
  /** The first entry that is not as it was written, and why. */
  badSeq?: number;
  problem?: string;
}

/** Stops a walk. */
class Fault extends Error {
  constructor(readonly seq: number, problem: string) {
    super(problem);
  }
}

interface Checkpoint {
  at: number;
  hash: string;
  public_key: string;
  seq: number;
  signature: string;
}

const signed = 'at,hash,public_key,seq,signature';
const names = (object: object) => Object.keys(object).sort().join();
const members = 'action,actor,at,detail,digest,duration,on_behalf_of,outcome,seq,target';
const zero = '0'.repeat(64);
const utf8 = new TextEncoder();

/** Walks a trail line by line, in constant memory. Key is the hub's public key; without one a signature proves consistency, not origin. */
export class Walk {
  #seq = 0;
  #hash = zero;
  #key: string;
  #imported = new Map<string, CryptoKey>();
  readonly found: Walked = { ok: false, entries: 0, checkpoints: 0, lastSigned: 0, signatures: 'checked' };

  constructor(key?: Uint8Array) {
    this.#key = key ? hex(key) : '';
  }

  async line(text: string): Promise<void> {
    if (text.trim() === '') return;
    const read = this.#read(text);
    if (!('checkpoint' in read)) return this.#entry(read);
    const cp = read['checkpoint'] as Checkpoint;
    if (names(read) !== 'checkpoint' || names(cp ?? {}) !== signed) throw new Fault(this.#seq, 'a checkpoint cannot be read');
    return this.#checkpoint(cp);
  }

  done(error?: unknown): Walked {
    if (error instanceof Fault) [this.found.badSeq, this.found.problem] = [error.seq, error.message];
    else if (error) throw error;
    this.found.ok = !error;
    return this.found;
  }

  // A line counts only if it is spelled exactly as an export spells it: then
  // nothing can hide in a spelling that reads the same.
  #read(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Fault(this.#seq + 1, 'the line cannot be read');
    }
    if (typeof value !== 'object' || value === null || canonical(value) !== text) throw new Fault(this.#seq + 1, 'the line is not as it was written');
    return value as Record<string, unknown>;
  }

  async #entry(entry: Record<string, unknown>): Promise<void> {
    const want = this.#seq + 1;
    const { hash, prev, ...body } = entry;
    if (names(body) !== members) throw new Fault(want, 'the line is not as it was written');
    const seq = Number(body['seq']);
    if (seq !== want) throw new Fault(Math.min(want, seq), `entry ${want} is missing or out of order`);
    if (prev !== this.#hash) throw new Fault(seq, 'it does not follow the entry before it');
    const text = utf8.encode(canonical(body));
    const data = new Uint8Array(32 + text.length);
    data.set(bytes(this.#hash));
    data.set(text, 32);
    const sum = hex(new Uint8Array(await crypto.subtle.digest('SHA-256', data)));
    if (sum !== hash) throw new Fault(seq, 'its content does not match its hash');
    this.#seq = seq;
    this.#hash = sum;
    this.found.entries++;
  }

  async #checkpoint(cp: Checkpoint): Promise<void> {
    if (cp.seq > this.#seq) throw new Fault(this.#seq + 1, `the trail ends at ${this.#seq}, but a checkpoint signs entry ${cp.seq}`);
    if (cp.seq !== this.#seq || cp.seq < 1) throw new Fault(cp.seq, 'a checkpoint is out of order');
    if ((this.#key && cp.public_key !== this.#key) || !(await this.#signed(cp))) throw new Fault(cp.seq, 'a checkpoint’s signature is wrong or by an unknown key');
    if (cp.hash !== this.#hash) throw new Fault(cp.seq, 'the chain does not match its checkpoint');
    if (this.found.signatures === 'unsupported') return;
    this.found.checkpoints++;
    this.found.lastSigned = cp.seq;
  }

  async #signed(cp: Checkpoint): Promise<boolean> {
    if (!/^([0-9a-f]{2}){32}$/.test(cp.public_key) || !/^([0-9a-f]{2}){64}$/.test(cp.signature)) return false;
    const key = await this.#import(cp.public_key);
    if (!key) return true; // then hashes are all that can be checked, and the verdict says so
    const text = `parley-audit-checkpoint-v1\n${cp.seq}\n${cp.hash}\n${cp.at}\n${cp.public_key}`;
    return crypto.subtle.verify('Ed25519', key, bytes(cp.signature), utf8.encode(text));
  }

  async #import(key: string): Promise<CryptoKey | undefined> {
    if (this.found.signatures === 'unsupported') return undefined;
    const known = this.#imported.get(key);
    if (known) return known;
    try {
      const made = await crypto.subtle.importKey('raw', bytes(key), 'Ed25519', false, ['verify']);
      this.#imported.set(key, made);
      return made;
    } catch (error) {
      if ((error as Error).name !== 'NotSupportedError') return Promise.reject(new Fault(this.#seq, 'a checkpoint’s key is not one'));
      this.found.signatures = 'unsupported';
      return undefined;
    }
  }
}

/** Walks an export as it arrives. Progress is told the number of entries every so often. */
export async function walkExport(stream: ReadableStream<Uint8Array>, key?: Uint8Array, progress: (entries: number) => void = () => {}): Promise<Walked> {
  const walk = new Walk(key);
  const reader = stream.getReader();
  try {
    for await (const text of lines(reader)) {
      await walk.line(text);
      if (walk.found.entries % 250 === 0) progress(walk.found.entries);
    }
    return walk.done();
  } catch (error) {
    return walk.done(error);
  } finally {
    // Nobody reads on after a fault.
    void reader.cancel().catch(() => {});
  }
}

async function* lines(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const all = rest.split('\n');
    rest = all.pop() ?? '';
    yield* all;
    if (done) break;
  }
  yield rest;
}

/** JSON after RFC 8785: members sorted by UTF-16 code units, numbers and text as ECMAScript writes them. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const object = value as Record<string, unknown>;
  return `{${Object.keys(object).sort().map((name) => `${JSON.stringify(name)}:${canonical(object[name])}`).join(',')}}`;
}

function hex(data: Uint8Array): string {
  return Array.from(data, (b) => b.toString(16).padStart(2, '0')).join('');
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
