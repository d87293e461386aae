// A room for people whom an identity provider knows: they sign in there, beside the room's page,
// and come in by what it says about them.

import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Stage } from './lib/stage.mjs';

// The provider: it asks for an address, believes it, and signs.
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const coded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
function token(claims) {
  const text = `${coded({ alg: 'RS256', kid: 'k1' })}.${coded(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`;
}

let stage, provider, issuer;
const asked = [];
before(async () => {
  stage = await Stage.open();
  provider = createServer((q, s) => {
    const u = new URL(q.url, issuer);
    const has = (name) => u.searchParams.get(name) ?? '';
    if (u.pathname === '/keys') return s.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] }));
    if (u.pathname !== '/authorize') return s.writeHead(404).end();
    if (!has('as')) {
      asked.push(Object.fromEntries(u.searchParams));
      const hidden = [...u.searchParams].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`).join('');
      return s.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>Provider</title><link rel="icon" href="data:,"><form>${hidden}<label>E-mail <input name="as"></label><button>Continue</button></form>`);
    }
    const now = Math.floor(Date.now() / 1000);
    const id = token({ iss: issuer, aud: has('client_id'), sub: has('as'), email: has('as'), email_verified: true, name: 'Ann of Example', nonce: has('nonce'), iat: now, exp: now + 300 });
    s.writeHead(302, { Location: `${has('redirect_uri')}#${new URLSearchParams({ id_token: id, state: has('state') })}` }).end();
  });
  await new Promise((done) => provider.listen(0, '127.0.0.1', done));
  issuer = `http://127.0.0.1:${provider.address().port}`;
  stage.own.push(issuer);
});
after(async () => {
  provider?.close();
  await stage?.close();
});

const open = (room, oidc = {}) =>
  stage.hub.call('POST', '/api/rooms', { room, title: 'Members', policy: { humans: { mode: 'oidc', oidc: { issuer, clientId: 'rooms', jwksUri: `${issuer}/keys`, authUri: `${issuer}/authorize`, domains: ['example.org'], ...oidc } } } });

async function knock(room) {
  const page = await stage.visitor();
  await page.goto(new URL(`/r/${room}`, stage.hub.url).href);
  await page.getByLabel('Your name here').fill('Whoever');
  await page.getByRole('button', { name: 'Enter' }).click();
  await page.getByText('This room wants to know who you are.').waitFor();
  return page;
}

async function signIn(page, email) {
  const opened = page.context().waitForEvent('page');
  await page.getByRole('button', { name: `Sign in at ${new URL(issuer).host}` }).click();
  const beside = await opened;
  await beside.getByLabel('E-mail').fill(email);
  await beside.getByRole('button', { name: 'Continue' }).click();
}

test('a person signs in at the room’s identity provider and comes in under a proven address', async () => {
  await open('members');
  const page = await knock('members');
  await signIn(page, 'ann@example.org');
  await page.getByRole('log', { name: 'Chat' }).waitFor();
  const { members } = await stage.hub.call('GET', '/api/rooms/members/roster');
  assert.deepEqual(members.map(({ label, proven }) => ({ label, proven })), [{ label: 'ann@example.org', proven: true }]);
  assert.equal(asked[0].response_type, 'id_token');
  assert.equal(asked[0].redirect_uri, new URL('/signin', stage.hub.url).href);
});

test('whoever the room does not list is told so, and may sign in as another', async () => {
  await open('others');
  const page = await knock('others');
  await signIn(page, 'eve@elsewhere.net');
  await page.getByText('This room is not for the address you signed in with.').waitFor();
  await signIn(page, 'ben@example.org');
  await page.getByRole('log', { name: 'Chat' }).waitFor();
});

test('a token that another page asked for opens nothing', async () => {
  await open('bound');
  const [ann, eve] = [await knock('bound'), await knock('bound')];
  asked.length = 0;
  await signIn(ann, 'ann@example.org');
  await ann.getByRole('log', { name: 'Chat' }).waitFor();
  // Eve has seen Ann's token; her own connection is another one.
  const now = Math.floor(Date.now() / 1000);
  const stolen = token({ iss: issuer, aud: 'rooms', sub: 'ann', email: 'ann@example.org', email_verified: true, nonce: asked[0].nonce, iat: now, exp: now + 300 });
  const refused = await eve.evaluate(async ([link, jwt]) => {
    const { connectRoom } = await import('/sdk/roomagent.js');
    const room = connectRoom(link, { name: 'Eve', jwt });
    return new Promise((done) => room.on('door', (f) => f.code && done(f.code)));
  }, [new URL('/r/bound', stage.hub.url).href, stolen]);
  assert.equal(refused, 'gate.not-bound');
});

test('a room cannot send people anywhere but to a web address', async () => {
  for (const authUri of ['javascript:alert(1)', 'data:text/html,x', 'http://provider.example/authorize', 'https://user@provider.example/']) {
    await assert.rejects(open('bad', { authUri }), /policy.bad|authUri/);
  }
});
