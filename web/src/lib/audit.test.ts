import { afterEach, describe, expect, it, vi } from 'vitest';
import { canonical, walkExport } from './audit';
import real from './testdata/audit-export.jsonl?raw';

// The file was written by `parley audit export`; the key is what that hub's status told.
const key = Uint8Array.from(atob('I3nTukkXX+cOB40d9F24ImGJP7QKgU+8riT2/4xkytc='), (c) => c.charCodeAt(0));

/** The text in pieces of a size, cut anywhere, also within a character. */
function stream(text: string, size = 1000): ReadableStream<Uint8Array> {
  const data = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= data.length) return controller.close();
      controller.enqueue(data.slice(at, (at += size)));
    },
  });
}

const all = real.trimEnd().split('\n');
const check = (lines: string[], by: Uint8Array | undefined = key) => walkExport(stream(lines.join('\n') + '\n'), by);
const edit = (n: number, from: string | RegExp, to: string) => all.map((line, i) => (i === n ? line.replace(from, to) : line));

afterEach(() => vi.restoreAllMocks());

describe('a real export', () => {
  it('holds, with its signature', async () => {
    expect(await check(all)).toEqual({ ok: true, entries: 6, checkpoints: 1, lastSigned: 5, signatures: 'checked' });
  });
  it('holds however the network cuts it', async () => {
    for (const size of [1, 7, 64, 100_000]) expect((await walkExport(stream(real, size), key)).ok).toBe(true);
  });
  it('holds without a line end at its end, and empty', async () => {
    expect((await walkExport(stream(real.trimEnd()), key)).entries).toBe(6);
    expect(await walkExport(stream(''), key)).toMatchObject({ ok: true, entries: 0 });
  });
  it('holds by its own key when nobody said which to trust', async () => {
    expect(await walkExport(stream(real))).toMatchObject({ ok: true, checkpoints: 1 });
  });
  it('tells its progress', async () => {
    const told: number[] = [];
    await walkExport(stream(''), key, (n) => told.push(n));
    expect(told).toEqual([0]);
  });
});

describe('a changed export names the first bad entry', () => {
  const cases: Record<string, [string[], number, RegExp]> = {
    'a word': [edit(2, 'Grace', 'Gracf'), 3, /does not match its hash/],
    'an outcome': [edit(3, '"outcome":"ok"', '"outcome":"no"'), 4, /does not match its hash/],
    'a detail': [edit(3, '"kind":"operator"', '"kind":"node"'), 4, /does not match its hash/],
    'a hash': [edit(1, /"hash":"9e/, '"hash":"9f'), 2, /does not match its hash/],
    'a link': [edit(1, /"prev":"1b/, '"prev":"1c'), 2, /does not follow/],
    'a removed entry': [all.filter((_, i) => i !== 2), 3, /entry 3 is missing/],
    'a removed beginning': [all.slice(1), 1, /entry 1 is missing/],
    'two exchanged': [[all[1]!, all[0]!, ...all.slice(2)], 1, /missing or out of order/],
    'one twice': [[all[0]!, ...all], 1, /missing or out of order/],
    'an end that was cut off before its signature': [all.filter((_, i) => i !== 4), 5, /ends at 4, but a checkpoint signs entry 5/],
    'another spelling': [edit(0, '"seq":1', '"seq": 1'), 1, /not as it was written/],
    'a member twice': [edit(0, '"seq":1', '"seq":1,"seq":1'), 1, /not as it was written/],
    'one member more': [edit(0, '"target"', '"tarfet":1,"target"'), 1, /not as it was written/],
    'no JSON': [edit(3, '{', ''), 4, /cannot be read/],
    'a signature': [edit(5, '"signature":"85', '"signature":"86'), 5, /signature is wrong/],
    'a signature with something beside it': [edit(5, '{"at"', '{"aa":1,"at"'), 5, /cannot be read/],
    'a time of signing': [edit(5, /"at":\d/, '"at":2'), 5, /signature is wrong/],
    'a signature cut short': [edit(5, /"signature":"850f/, '"signature":"85'), 5, /signature is wrong/],
  };
  for (const [name, [lines, seq, problem]] of Object.entries(cases)) {
    it(name, async () => {
      const verdict = await check(lines);
      expect(verdict).toMatchObject({ ok: false, badSeq: seq });
      expect(verdict.problem).toMatch(problem);
    });
  }
  it('a signature by somebody else', async () => {
    expect(await check(all, new Uint8Array(32))).toMatchObject({ ok: false, badSeq: 5, problem: expect.stringMatching(/unknown key/) });
  });
});

describe('what is not the trail’s fault', () => {
  it('a browser without Ed25519 checks the hashes and says so', async () => {
    vi.spyOn(crypto.subtle, 'importKey').mockRejectedValue(new DOMException('', 'NotSupportedError'));
    expect(await check(all)).toEqual({ ok: true, entries: 6, checkpoints: 0, lastSigned: 0, signatures: 'unsupported' });
    expect(await check(edit(2, 'Grace', 'Gracf'))).toMatchObject({ ok: false, badSeq: 3 });
  });
  it('a connection that breaks is an error, not a verdict', async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (c) => c.error(new Error('gone')) });
    await expect(walkExport(broken, key)).rejects.toThrow('gone');
  });
});

describe('canonical JSON', () => {
  it('is that of RFC 8785', () => {
    expect(canonical({ b: [1.0, 1e21, 1e-7, -0, null, true], a: { é: 'ü\u2028<&>"\\\u0007\n', '𐀀': 1, '\uffff': 2 } })).toBe(
      '{"a":{"é":"ü\u2028<&>\\"\\\\\\u0007\\n","𐀀":1,"\uffff":2},"b":[1,1e+21,1e-7,0,null,true]}',
    );
  });
});
