import { describe, expect, it, vi } from 'vitest';
import { address, asProblem, Client, part, Problem } from './api';

const session = { principal: { id: '1', name: 'ada', kind: 'person' }, scopes: ['admin'], csrf: 'c1', expires_at: '2030-01-01T00:00:00Z' };

function json(body: unknown, status = 200, type = 'application/json') {
  return new Response(status === 204 ? null : JSON.stringify(body), { status, headers: { 'Content-Type': type } });
}

/** A client whose hub gives the answers in turn. */
function client(...answers: (Response | Error)[]) {
  const calls: [string, RequestInit][] = [];
  const signedOut = vi.fn();
  const fetch = (async (url: string, init: RequestInit) => {
    calls.push([url, init]);
    const next = answers.shift();
    if (!next || next instanceof Error) throw next ?? new Error('no answer left');
    return next;
  }) as unknown as typeof globalThis.fetch;
  return { api: new Client({ fetch, signedOut }), calls, signedOut };
}

const header = (init: RequestInit, name: string) => (init.headers as Record<string, string>)[name];

describe('the client', () => {
  it('sends the CSRF value with every change and with nothing else', async () => {
    const { api, calls } = client(json(session), json({}), json({ tokens: [] }), json(null, 204));
    await api.signIn({ login: 's', name: 'n' });
    await api.answer('a/b', { approved: true });
    await api.tokens();
    await api.revokeToken('t');
    expect(calls.map(([url, init]) => [init.method, url, header(init, 'X-Parley-CSRF')])).toEqual([
      ['POST', '/api/session', undefined],
      ['POST', '/api/approvals/a%2Fb', 'c1'],
      ['GET', '/api/tokens', undefined],
      ['DELETE', '/api/tokens/t', 'c1'],
    ]);
    expect(calls.every(([, init]) => init.credentials === 'same-origin')).toBe(true);
  });

  it('reads a problem document', async () => {
    const { api } = client(json({ title: 'Conflict', status: 409, detail: 'taken', code: 'name_taken', request_id: 'r1' }, 409, 'application/problem+json'));
    await expect(api.people()).rejects.toMatchObject({ status: 409, code: 'name_taken', title: 'Conflict', detail: 'taken', requestId: 'r1' });
  });

  it('makes a problem of any other failure too', async () => {
    const { api } = client(new Response('<h1>Bad gateway</h1>', { status: 502, statusText: 'Bad Gateway' }), new TypeError('failed to fetch'));
    await expect(api.status()).rejects.toMatchObject({ status: 502, title: 'Bad Gateway' });
    const offline = await api.status().catch((e) => e as Problem);
    expect(offline).toBeInstanceOf(Problem);
    expect((offline as Problem).offline).toBe(true);
  });

  it('tells when the session has ended, but not when signing in fails', async () => {
    const { api, signedOut } = client(json({ status: 401 }, 401), json({ status: 401 }, 401));
    await expect(api.signIn({ token: 'prl_x', name: 'n' })).rejects.toMatchObject({ status: 401 });
    expect(signedOut).not.toHaveBeenCalled();
    await expect(api.status()).rejects.toMatchObject({ status: 401 });
    expect(signedOut).toHaveBeenCalledOnce();
  });

  it('asks for a new CSRF value once when another tab has signed in anew', async () => {
    const stale = json({ status: 403, code: 'csrf' }, 403);
    const { api, calls } = client(json(session), stale, json({ ...session, csrf: 'c2' }), json({ id: '1' }));
    await api.session();
    await api.addPerson({ name: 'grace' });
    expect(calls.map(([url, init]) => [init.method, url, header(init, 'X-Parley-CSRF')])).toEqual([
      ['GET', '/api/session', undefined],
      ['POST', '/api/people', 'c1'],
      ['GET', '/api/session', undefined],
      ['POST', '/api/people', 'c2'],
    ]);
  });

  it('does not repeat what was refused for another reason', async () => {
    const { api, calls } = client(json({ status: 403, code: 'insufficient_scope' }, 403));
    await expect(api.addPerson({ name: 'x' })).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(calls).toHaveLength(1);
  });

  it('takes null for an empty list', async () => {
    const { api } = client(json({ approvals: null }), json({ devices: null }), json([]));
    expect(await api.approvals()).toEqual([]);
    expect(await api.devices()).toEqual([]);
    expect(await api.agents()).toEqual([]);
  });
});

it('writes addresses', () => {
  expect(address('/a', { x: 'y z', empty: '', none: undefined, zero: 0 })).toBe('/a?x=y+z&zero=0');
  expect(part('../x?y')).toBe('..%2Fx%3Fy');
});

it('wraps what is not a problem', () => {
  expect(asProblem(new Error('boom'))).toMatchObject({ code: 'page_error', detail: 'boom' });
});
