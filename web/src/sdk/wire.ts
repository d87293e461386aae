// App data may be anything that can be cloned. On the wire it is JSON: what JSON has stays
// as it is, so that every peer reads it, and what JSON lacks is written as
// {"__kib_type": NAME, "v": …}.

import { fromBase64url, toBase64url } from './codec';

const TYPE = '__kib_type';
const DEEPEST = 64;

type View = { buffer: ArrayBufferLike; byteOffset: number; byteLength: number };
const views: Record<string, new (buffer: ArrayBuffer) => View> = {
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView,
};

const wrap = (type: string, v?: unknown) => ({ [TYPE]: type, ...(v === undefined ? {} : { v }) });
const refuse = (what: string): never => {
  throw new TypeError(`app data cannot have ${what}`);
};

/** Data as JSON can carry it. */
export function toWire(data: unknown): unknown {
  return data === undefined ? null : write(data, 0, []);
}

function write(v: unknown, depth: number, above: object[]): unknown {
  switch (typeof v) {
    case 'number':
      return Number.isFinite(v) && !Object.is(v, -0) ? v : wrap('number', Object.is(v, -0) ? '-0' : String(v));
    case 'bigint':
      return wrap('bigint', String(v));
    case 'undefined':
      return wrap('undefined');
    case 'function':
    case 'symbol':
      return refuse(`a ${typeof v}`);
    case 'object':
      break;
    default:
      return v;
  }
  if (v === null) return v;
  if (depth >= DEEPEST) refuse(`more than ${DEEPEST} levels`);
  if (above.includes(v as object)) refuse('itself inside');
  const inside = [...above, v as object];
  const each = (list: Iterable<unknown>) => Array.from(list, (one) => write(one, depth + 1, inside));
  if (Array.isArray(v)) return each(v);
  if (v instanceof Date) return wrap('Date', Number.isNaN(v.getTime()) ? null : v.toISOString());
  if (v instanceof Map) return wrap('Map', Array.from(v, (pair) => each(pair)));
  if (v instanceof Set) return wrap('Set', each(v));
  if (v instanceof ArrayBuffer) return wrap('ArrayBuffer', toBase64url(new Uint8Array(v)));
  if (ArrayBuffer.isView(v)) return wrap(viewName(v), toBase64url(new Uint8Array(v.buffer, v.byteOffset, v.byteLength)));
  return writeObject(v as Record<string, unknown>, (one) => write(one, depth + 1, inside));
}

// Subclasses, such as Node's Buffer, go as what they are underneath.
function viewName(v: ArrayBufferView): string {
  return v instanceof DataView ? 'DataView' : (v as Uint8Array)[Symbol.toStringTag];
}

function writeObject(v: Record<string, unknown>, inner: (one: unknown) => unknown): unknown {
  const entries = Object.entries(v).filter(([, one]) => one !== undefined && typeof one !== 'function');
  const plain = Object.fromEntries(entries.map(([key, one]) => [key, inner(one)]));
  return Object.hasOwn(plain, TYPE) ? wrap('Object', plain) : plain;
}

/** The data again. A wrapper that is none of ours stays as it came. */
export function fromWire(v: any): any {
  if (v === null || typeof v !== 'object') return v;
  if (typeof v[TYPE] === 'string' && Object.keys(v).every((k) => k === TYPE || k === 'v')) {
    try {
      return unwrap(v[TYPE], v.v) ?? (v[TYPE] === 'undefined' ? undefined : v);
    } catch {
      return v;
    }
  }
  return readInside(v);
}

// In place, key by key: a key called __proto__ stays a key.
function readInside(v: any): any {
  for (const key of Object.keys(v)) {
    const old = v[key];
    const read = fromWire(old);
    if (read !== old) Object.defineProperty(v, key, { value: read, writable: true, enumerable: true, configurable: true });
  }
  return v;
}

function unwrap(type: string, v: any): unknown {
  switch (type) {
    case 'number':
      return Number(v);
    case 'bigint':
      return typeof v === 'string' && v.length <= 4096 ? BigInt(v) : undefined;
    case 'Date':
      return new Date(v === null ? NaN : v);
    case 'Map':
      return new Map(v.map((pair: unknown[]) => [fromWire(pair[0]), fromWire(pair[1])]));
    case 'Set':
      return new Set(v.map(fromWire));
    case 'Object':
      return readInside(v);
    case 'ArrayBuffer':
      return fromBase64url(v).buffer;
  }
  const View = Object.hasOwn(views, type) ? views[type] : undefined;
  return View ? new View(fromBase64url(v).buffer) : undefined;
}
