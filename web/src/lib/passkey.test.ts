import { describe, expect, it } from 'vitest';
import { bytes, explain, obstacle, readCreation, readRequest, text, write } from './passkey';

const at = (url: string) => new URL(url) as unknown as Location;

describe('where passkeys work', () => {
  it('names localhost instead of a loopback address, on the same page', () => {
    expect(obstacle(at('http://127.0.0.1:7788/settings/devices?x=1'), true)?.href).toBe('http://localhost:7788/settings/devices?x=1');
    expect(obstacle(at('http://[::1]:7788/'), true)?.href).toBe('http://localhost:7788/');
  });
  it('has no address to offer instead of another number', () => {
    expect(obstacle(at('https://192.168.1.5/'), true)?.href).toBeUndefined();
    expect(obstacle(at('https://192.168.1.5/'), true)?.text).toMatch(/host name/);
  });
  it('needs a browser that has them', () => {
    expect(obstacle(at('http://hub.example/'), false)?.text).toMatch(/https/);
    expect(obstacle(at('https://hub.example/'), true)).toBeNull();
    expect(obstacle(at('http://localhost:7788/'), true)).toBeNull();
  });
});

describe('conversion for browsers that cannot', () => {
  it('reads base64url and writes it back', () => {
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    for (const n of [0, 1, 2, 3, 255, 256]) expect([...bytes(text(all.slice(0, n).buffer))]).toEqual([...all.slice(0, n)]);
    expect(text(Uint8Array.of(251, 255).buffer)).toBe('-_8');
  });
  it('makes bytes of what must be bytes and leaves the rest', () => {
    const made = readCreation({ challenge: 'AQI', rp: { id: 'localhost' }, user: { id: 'Aw', name: 'ada' }, excludeCredentials: [{ type: 'public-key', id: 'BA' }] });
    expect([...(made.challenge as Uint8Array)]).toEqual([1, 2]);
    expect([...(made.user.id as Uint8Array)]).toEqual([3]);
    expect(made.user.name).toBe('ada');
    expect([...(made.excludeCredentials![0]!.id as Uint8Array)]).toEqual([4]);
    expect([...(readRequest({ challenge: 'AQI', rpId: 'localhost' }).challenge as Uint8Array)]).toEqual([1, 2]);
  });
  it('writes an answer as the standard does', () => {
    const buffer = (n: number) => Uint8Array.of(n).buffer;
    const credential = { id: 'AQ', rawId: buffer(1), type: 'public-key', getClientExtensionResults: () => ({}), response: { clientDataJSON: buffer(2), authenticatorData: buffer(3), signature: buffer(4), userHandle: null } };
    expect(write(credential as unknown as PublicKeyCredential)).toEqual({
      id: 'AQ', rawId: 'AQ', type: 'public-key', clientExtensionResults: {}, response: { clientDataJSON: 'Ag', authenticatorData: 'Aw', signature: 'BA' },
    });
  });
});

describe('a ceremony that failed', () => {
  it('is told in words that help', () => {
    expect(explain(new DOMException('', 'NotAllowedError'), '').detail).toMatch(/cancelled/);
    expect(explain(new DOMException('', 'SecurityError'), 'hub.example').detail).toMatch(/hub\.example/);
    expect(explain(new TypeError('odd'), '').detail).toBe('odd');
  });
});
