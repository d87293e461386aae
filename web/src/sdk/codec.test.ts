import { describe, expect, it } from 'vitest';
import text from '../../../protocol/kibitz/testdata/vectors.json?raw';
import { channelFingerprint, dialledOrigin, fromBase64url, keyPair, newKey, roomId, signToken, thumbprint, toBase64url, utf8 } from './codec';
import { Seal } from './seal';

const vectors = JSON.parse(text);

describe('what both SDKs and the hub must agree on', () => {
  it('channel fingerprints', async () => {
    for (const v of vectors.channelFingerprint) expect(await channelFingerprint(v.origin, v.room, v.nonce)).toBe(v.expect);
  });

  it('thumbprints', async () => {
    expect(await thumbprint(vectors.keys.agent)).toBe(vectors.thumbprints.agent);
  });

  it('tokens verify with the public half', async () => {
    const { sign } = await keyPair(vectors.keys.agentPrivate);
    const [body, sig] = (await signToken(sign, { k: 'x', room: 'r' })).split('.') as [string, string];
    const key = await crypto.subtle.importKey('jwk', vectors.keys.agent, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
    expect(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, fromBase64url(sig), utf8.encode(body))).toBe(true);
    expect(fromBase64url(sig)).toHaveLength(64);
  });

  it('boxes open, and a changed label or recipient does not', async () => {
    for (const v of vectors.seal) {
      const seal = await Seal.from(v.secret, vectors.room);
      const sealed = { k: v.k, ...(v.e ? { e: v.e } : {}), box: v.box, name: 'n', version: '1' };
      const inside = JSON.parse(v.plain);
      expect(await seal.open(sealed, v.to)).toMatchObject(inside);
      expect(await seal.open(sealed, 'somebody else')).toBeUndefined();
      expect(await seal.open({ ...sealed, e: 'act' === v.e ? 'view' : 'act' }, v.to)).toBeUndefined();
    }
  });

  it('what was sealed here opens here', async () => {
    const seal = await Seal.from(toBase64url(crypto.getRandomValues(new Uint8Array(32))), 'r');
    for (const c of [{ k: 'chat', text: 'hé' }, { k: 'app', data: { __kib_agent: 'act', action: { n: 1 } } }, { k: 'app', data: [1] }, { k: 'schema', name: 'n', version: '1', schema: {} }]) {
      const box = await seal.seal(c, 'p2');
      expect(JSON.stringify(box)).not.toContain('hé');
      expect(await seal.open(box, 'p2')).toEqual(c);
    }
    await expect(seal.seal({ k: 'ink', e: 'clear' })).rejects.toThrow('cannot be sealed');
  });
});

it('room ids', () => {
  const table = { 'My Room': 'my-room', '--a--b--': 'a-b', 'ÄÖ': '', [`${'x'.repeat(39)} y`]: `${'x'.repeat(39)}-` };
  for (const [name, want] of Object.entries(table)) expect(roomId(name)).toBe(want);
});

it('the origin is what was dialled', () => {
  const table = { 'wss://Hub.Example.org/rooms/a/ws': 'https://hub.example.org', 'http://127.0.0.1:7788/r/a': 'http://127.0.0.1:7788', 'https://h:443/r/a': 'https://h', 'ws://[::1]:80/r': 'http://[::1]' };
  for (const [url, want] of Object.entries(table)) expect(dialledOrigin(new URL(url))).toBe(want);
});

it('a new key has its private half', async () => {
  const key = await newKey();
  expect(key.d).toBeTruthy();
  expect((await keyPair(key)).public.d).toBeUndefined();
});
