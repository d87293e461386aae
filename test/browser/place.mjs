// The meeting place: who is there, what they post, whose key is trusted; never what they say.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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
  await page.getByRole('region', { name: 'Who talks to whom' }).getByRole('button', { name: 'Bob <b>bold</b>' }).waitFor();
});

// The browser tells a closed dialog's end late; the next one must not be closed by it.
test('an agent of the graph opens with Enter and with Space, and stays open when it was closed a moment ago', async () => {
  const page = await stage.person({ viewport: { width: 1280, height: 480 } });
  await visit(page, '/place');
  const node = page.getByRole('region', { name: 'Who talks to whom' }).getByRole('button', { name: 'Bob <b>bold</b>' });
  const dialog = page.getByRole('dialog');
  await node.focus();
  const top = await page.evaluate(() => scrollY);
  await page.keyboard.press('Space');
  await dialog.waitFor();
  assert.equal(await page.evaluate(() => scrollY), top, 'Space scrolled the page');
  for (let i = 0; i < 20; i++) {
    // In one task: close, and open again before the browser gets to say anything.
    await page.evaluate(([key]) => {
      document.querySelector('dialog [aria-label="Close"]').click();
      const shape = document.querySelector('[aria-label="Who talks to whom"] [role=button][aria-label^="Bob"]');
      return new Promise((done) => {
        queueMicrotask(() => {
          shape.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
          setTimeout(() => requestAnimationFrame(() => setTimeout(done)), 0); // whatever was late has come
        });
      });
    }, [i % 2 ? 'Enter' : ' ']);
    assert.ok(await dialog.isVisible(), `closed again by the one before it, time ${i + 1}`);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await node.focus();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
});

test('a posting is shown and can be taken down', async () => {
  const page = await stage.person();
  await visit(page, '/place/postings');
  const posting = page.getByRole('listitem').filter({ hasText: 'Knots' });
  await posting.getByText('Ties <script>knots</script>').waitFor();
  await posting.getByText('Bob <b>bold</b>', { exact: true }).waitFor();
  await posting.getByText(bob.agent_id, { exact: true }).waitFor();
  await posting.getByRole('button', { name: 'Take down' }).click();
  await posting.waitFor({ state: 'detached' });
});

test('who comes in and what is sent shows by itself: agents, queues, traffic without content', async () => {
  const page = await stage.person();
  await visit(page, '/place');
  const agents = page.getByRole('region', { name: 'Agents' }).getByRole('row');
  await agents.filter({ hasText: 'Bob' }).waitFor();
  const carol = await call('POST', '/register', { name: 'Carol', instance_id: 'carol1', capabilities: ['introduce'] });
  await agents.filter({ hasText: 'Carol' }).waitFor();

  const blob = Buffer.from('nobody at the place reads this').toString('base64');
  await call('POST', '/relay/send', { from: bob.agent_id, to: carol.agent_id, encrypted_blob: blob, blob_hash: `sha256:${createHash('sha256').update(blob).digest('hex')}`, message_type: 'note' });
  await visit(page, '/place/traffic');
  await page.getByRole('region', { name: 'Queues' }).getByRole('row').filter({ hasText: carol.agent_id }).filter({ hasText: 'Carol' }).getByText(/^1 of \d+$/).waitFor();
  const chart = page.getByRole('region', { name: 'Messages by hour' }).getByRole('img');
  await chart.and(page.getByRole('img', { name: /^[1-9]\d* entr/ })).waitFor();
  const lately = page.getByRole('main').getByRole('listitem');
  await lately.filter({ hasText: bob.agent_id }).filter({ hasText: carol.agent_id }).filter({ hasText: 'note' }).first().waitFor();
  // Names stand beside the ids, as text.
  await lately.filter({ hasText: `Bob <b>bold</b> ${bob.agent_id} → Carol ${carol.agent_id}` }).first().waitFor();
  const shown = await page.getByRole('main').innerText();
  assert.ok(!shown.includes('nobody at the place') && !shown.includes(blob), 'content is shown');

  await visit(page, '/place');
  const graph = page.getByRole('region', { name: 'Who talks to whom' });
  await graph.locator('path title').filter({ hasText: /^Bob <b>bold<\/b> → Carol: 1 message/ }).waitFor({ state: 'attached' });
  await call('POST', '/unregister', { agent_id: carol.agent_id });
  await visit(page, '/place');
  await agents.filter({ hasText: 'Carol' }).waitFor({ state: 'detached' });
});

test('keys are listed with their proof and can be released; other places can be peered with', async () => {
  const page = await stage.person();
  const { keys } = await stage.hub.call('GET', '/api/place/keys');
  assert.ok(keys.length > 0, 'the hosted agent has a key');
  await visit(page, '/place/keys');
  const row = page.getByRole('region', { name: 'Keys' }).getByRole('row').filter({ hasText: keys[0].agent });
  await row.getByText(keys[0].fingerprint).waitFor();
  const { agents } = await stage.hub.call('GET', '/api/place/agents');
  await row.getByText(agents.find((a) => a.id === keys[0].agent).name, { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Release' }).click();
  await page.getByRole('dialog').getByText('may bring another key').waitFor();
  await page.keyboard.press('Escape');
  await visit(page, '/place/peers');
  await page.getByRole('main').getByText('Peer with a place').first().waitFor();
});
