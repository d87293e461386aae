import { describe, expect, it } from 'vitest';
import { about, at, beyond, fields, fromLocal, problems, put, tidy, toLocal } from './policy';

describe('a policy as a form', () => {
  it('changes one field and keeps everything it does not know', () => {
    const doc = { max: 3, humans: { mode: 'oidc', oidc: { hashed: ['x'], later: 1 } }, agents: { ca: { grant: { act: [] } } }, other: [1] };
    const next = put(put(doc, 'humans.oidc.issuer', 'https://id.example'), 'max', 5);
    expect(next).toEqual({ max: 5, humans: { mode: 'oidc', oidc: { hashed: ['x'], later: 1, issuer: 'https://id.example' } }, agents: { ca: { grant: { act: [] } } }, other: [1] });
    expect(doc.max).toBe(3);
    expect(put({ a: 1, b: 2 }, 'a', undefined)).toEqual({ b: 2 });
  });

  it('names what is in a document beyond it', () => {
    expect(beyond({ max: 1, humans: { mode: 'hub', oidc: { hashed: [] } }, host: { key: { kty: 'EC' }, name: 'ann' }, agents: { keys: [{ key: {}, caps: {}, note: 1 }], issuers: [{ iss: 'a', jwks: {} }] }, new: { a: 1 } }))
      .toEqual(['humans.oidc.hashed', 'host.key', 'agents.keys.note', 'agents.issuers.jwks', 'new']);
  });

  it('says what is wrong at the field', () => {
    expect(problems({ max: 0 })).toHaveProperty('max');
    expect(problems({ max: 2.5 })).toHaveProperty('max');
    expect(problems({ max: 7, humans: { mode: 'hub', oidc: { issuer: 'ftp://x' } } })).toEqual({});
    expect(Object.keys(problems({ humans: { mode: 'oidc', oidc: { issuer: 'ftp://x', emails: ['ann@example.org', 'bob'], domains: ['example.org', ''] } } }))).toEqual(['humans.oidc.issuer', 'humans.oidc.clientId', 'humans.oidc.jwksUri', 'humans.oidc.emails']);
    expect(problems({ host: { email: 'nobody' } })).toHaveProperty(['host.email']);
  });

  it('finds the field a sentence of the hub is about', () => {
    expect(about('max is from 1 to 10000')).toBe('max');
    expect(about('unknown humans.mode')).toBe('humans.mode');
    expect(about('unknown field or wrong type at /humans/oidc/emails/0')).toBe('humans.oidc.emails');
    expect(about('anyone with the link may enter')).toBe('');
  });

  it('sends lists without empty lines and no empty texts', () => {
    const doc = tidy({ notice: ' ', host: { name: '' }, views: { publishers: ['host', ' ', ' humans '] }, agents: { ca: { roots: ['-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n\n-----BEGIN CERTIFICATE-----\nb\n-----END CERTIFICATE-----'] } } });
    expect(doc).toEqual({ host: {}, views: { publishers: ['host', 'humans'] }, agents: { ca: { roots: ['-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----', '-----BEGIN CERTIFICATE-----\nb\n-----END CERTIFICATE-----'] } } });
  });

  it('turns times into local ones and back', () => {
    expect(fromLocal(toLocal(1_900_000_020))).toBe(1_900_000_020);
    expect(toLocal(0)).toBe('');
    expect(fromLocal('')).toBe(0);
  });

  it('explains every field in one line', () => {
    for (const f of fields) expect(f.label && f.help, f.path).toMatch(/^.{5,90}$/);
    expect(at({ a: { b: 1 } }, 'a.b')).toBe(1);
  });
});
