// One conversation in several browsers, and over a long time: everybody sees
// the same, whole.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { TESTER, say, settled, setUpTester, startTurn } from './lib/tester.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
  await setUpTester(stage);
});
after(() => stage?.close());

/** Everything that was said, in order, as [who, words]. Who goes on is not named again. */
const transcript = (page) => page.locator('[role=log] .bubble, [role=log] .md, [role=log] .steered, [role=log] .speaker b').evaluateAll((all) => {
  let speaker = '';
  const said = [];
  for (const e of all) {
    if (e.matches('.speaker b')) speaker = e.innerText;
    else said.push([e.matches('.bubble, .steered') ? 'person' : speaker, e.innerText.replace(/\s+/g, ' ').replace(/^You(, meanwhile)?: /, '').trim()]);
  }
  return said;
});

const seen = (page, text) => page.locator('[role=log] .md').filter({ hasText: text }).first().waitFor();

test('two browsers end with the same words while a reply streams, also after a reload in the middle', async () => {
  const one = await stage.person();
  const two = await stage.person();
  // The reply takes its time, and cannot end before it is allowed to.
  const parts = ['alpha', 'bravo', 'charlie', 'delta', 'echo'];
  const long = [...parts.map((word) => `/say ${`${word} `.repeat(12).trim()}\n/sleep 500`), '/tool shell {"command":"true"}', '/say foxtrot'].join('\n');
  await startTurn(one, long);
  await seen(one, 'alpha');
  await two.goto(one.url());
  await seen(two, 'alpha');

  // While the first reply streams, both say something; those turns wait.
  await say(two, '/say golf of two');
  await two.getByText(/number 1 in the queue/).waitFor();
  await seen(one, 'charlie');
  await one.reload();
  await seen(one, 'charlie');
  await say(one, '/say hotel of one');
  await one.getByText(/number 2 in the queue/).waitFor();
  await two.locator('[role=log]').getByRole('button', { name: 'Approve' }).click();
  await seen(two, 'hotel of one');
  await seen(one, 'hotel of one');
  await settled(one);
  await settled(two);

  const words = (text) => text.replace(/\s+/g, ' ').trim();
  const expected = [
    ['person', words(long)],
    [TESTER, parts.map((word) => `${word} `.repeat(12)).join('').trim()], [TESTER, 'foxtrot'],
    ['person', '/say golf of two'], [TESTER, 'golf of two'],
    ['person', '/say hotel of one'], [TESTER, 'hotel of one'],
  ];
  assert.deepEqual(await transcript(two), expected, 'the one that stayed');
  assert.deepEqual(await transcript(one), expected, 'the one that was loaded again');
  for (const page of [one, two]) {
    await page.reload();
    await seen(page, 'hotel of one');
    assert.deepEqual(await transcript(page), expected, 'afterwards');
  }
  const late = await stage.person();
  await late.goto(one.url());
  await seen(late, 'hotel of one');
  assert.deepEqual(await transcript(late), expected, 'one that comes later');
});

test('what lies further back is loaded on the way up, and the reader keeps the place', async () => {
  const page = await stage.person();
  const turns = 130;
  const lines = [{ agent: TESTER, created_by: 'user', created_at: '2026-01-01T00:00:00Z', title: 'Long', uptime_secs: 1 }];
  for (let n = 1; n <= turns; n++) lines.push({ role: 'user', content: `question ${n}` }, { role: 'assistant', content: `answer ${n}` });
  await visit(page, '/agents');
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('File').setInputFiles({ name: 'long.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines.map((l) => JSON.stringify(l)).join('\n') + '\n') });
  await page.getByLabel('Into a thread').fill('long');
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByText(/260 messages/).waitFor();
  await visit(page, `/agents/${TESTER}?thread=long`);
  await seen(page, `answer ${turns}`);
  assert.equal((await transcript(page)).length, 100);

  const log = page.getByRole('log');
  const first = page.locator('[role=log] .bubble').filter({ hasText: /question 81$/ });
  await log.evaluate((e) => { e.scrollTop = 120; });
  await first.waitFor();
  const before = (await first.boundingBox()).y;
  await page.locator('[role=log] .bubble').filter({ hasText: /question 31$/ }).waitFor();
  assert.equal((await transcript(page)).length, 200);
  await page.waitForFunction(() => document.querySelector('[role=log]').scrollTop > 1000);
  const after = (await first.boundingBox()).y;
  assert.ok(Math.abs(after - before) < 3, `moved by ${after - before} px`);

  await log.evaluate((e) => { e.scrollTop = 0; });
  await page.locator('[role=log] .bubble').filter({ hasText: /question 1$/ }).waitFor();
  const all = await transcript(page);
  assert.deepEqual(all, Array.from({ length: turns }, (_, i) => [['person', `question ${i + 1}`], [TESTER, `answer ${i + 1}`]]).flat());
  assert.equal(await page.getByRole('button', { name: 'Earlier messages' }).count(), 0);

  // A turn in the middle of it all goes to the end.
  await say(page, '/say the newest');
  await seen(page, 'the newest');
  await settled(page);
  assert.equal((await transcript(page)).length, 2 * turns + 2);
});

test('the newest words stay in view, also when they arrive while the page scrolls', async () => {
  const page = await stage.person();
  await startTurn(page, Array.from({ length: 60 }, (_, i) => `/say - line ${i}`).join('\n'));
  await settled(page);
  const away = () => page.getByRole('log').evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
  // What came last is drawn before the log follows it.
  await page.waitForFunction(() => {
    const e = document.querySelector('[role=log]');
    return e.scrollHeight > 2 * e.clientHeight && e.scrollHeight - e.scrollTop - e.clientHeight < 5;
  });
  const grow = (up) => page.getByRole('log').evaluate((e, up) => {
    e.scrollTop -= up;
    e.querySelector('.lines').append(Object.assign(document.createElement('pre'), { textContent: 'more\n'.repeat(20) }));
    e.dispatchEvent(new Event('scroll'));
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }, up);
  await grow(0);
  assert.ok(await away() < 5, `${await away()} px away from the end`);
  await grow(300);
  assert.ok(await away() > 300, 'the reader was pulled to the end');
  await page.getByRole('button', { name: 'Newest' }).click();
  assert.ok(await away() < 5);
});

test('the pill tells how far away the hub is', async () => {
  const page = await stage.person();
  await page.locator('.pill[title*="Round trip"]').first().waitFor();
  assert.match(await page.locator('.pill').first().getAttribute('title'), /Round trip \d+ ms/);
});
