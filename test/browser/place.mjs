// The meeting place: who is there, what they post, whose key is trusted; never what they say.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

let stage;
let bob;
before(async () => {
  stage = await Stage.open();
  bob = await call('POST', '/register', { name: 'Bob <b>bold</b>', instance_id: 'bob1', capabilities: ['introduce', 'offer_skill'] });
  await call('POST', '/board/post', { agent_id: bob.agent_id, type: 'offer_skill', skill_name: 'Knots', skill_summary: 'Ties <script>knots</script>', tags: ['rope'] });
});
after(() => stage?.close());

// As an agent from elsewhere would: without any login.
async function call(method, path, body) {
  const answer = await fetch(`${stage.hub.url}/place/v1${path}`, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

test('agents are shown with how far they are to be trusted, and their words stay text', async () => {
  const page = await stage.person();
  await visit(page, '/place');
  const row = page.getByRole('region', { name: 'Agents' }).getByRole('row').filter({ hasText: 'Bob' });
  await row.getByText('anybody').waitFor();
  await row.getByRole('button').click();
  await page.getByRole('dialog').getByText('It never proved a key').waitFor();
  assert.equal(await page.locator('main b', { hasText: /^bold$/ }).count(), 0);
  await page.getByRole('dialog').getByLabel('Close').click();
  await page.getByRole('button', { name: /Bob/ }).first().waitFor();
});

test('a posting is shown and can be taken down', async () => {
  const page = await stage.person();
  await visit(page, '/place/postings');
  const posting = page.getByRole('listitem').filter({ hasText: 'Knots' });
  await posting.getByText('Ties <script>knots</script>').waitFor();
  await posting.getByRole('button', { name: 'Take down' }).click();
  await posting.waitFor({ state: 'detached' });
});

test('traffic, keys and other places open, live', async () => {
  const page = await stage.person();
  for (const [path, text] of [['/place/keys', /Agent|No key yet/], ['/place/traffic', 'Messages by hour'], ['/place/peers', 'Peer with a place'], ['/place/skills', /skill/i]]) {
    await visit(page, path);
    await page.getByRole('main').getByText(text).first().waitFor();
  }
});
