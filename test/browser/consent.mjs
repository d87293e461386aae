// The inbox: what waits for consent is on every device, is shown exactly, and is answered once.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { setUpTester, startTurn } from './lib/tester.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
  await setUpTester(stage);
});
after(() => stage?.close());

test('an approval appears on every device, is approved by key A, and is gone everywhere', async () => {
  const one = await stage.person();
  const two = await stage.person();
  await visit(one, '/inbox');
  const asker = await stage.person();
  await startTurn(asker, '/tool shell {"command":"echo first"}');
  const card = one.getByRole('article').filter({ hasText: 'echo first' });
  await card.waitFor();
  await one.waitForFunction(() => document.title.startsWith('(1) '));
  await two.getByRole('button', { name: /1 waiting for you/ }).click();
  await two.getByRole('dialog').getByText('echo first').waitFor();
  await card.getByRole('button', { name: 'Approve' }).and(one.locator(':enabled')).waitFor();
  await one.keyboard.press('a');
  await card.waitFor({ state: 'detached' });
  await two.getByText('Nothing waits for you').waitFor();
  await one.waitForFunction(() => !document.title.startsWith('('));
});

test('what waits is on every page, from where it can be answered', async () => {
  const asker = await stage.person();
  await startTurn(asker, '/tool shell {"command":"echo everywhere"}\n/say answered');
  const page = await stage.person();
  for (const path of ['/', '/agents', '/agents/parley', '/tasks', '/tasks/new', '/terminals', '/rooms', '/machines', '/place', '/place/skills', '/audit', '/settings', '/settings/models', '/inbox']) {
    await visit(page, path);
    await page.locator('.bell:visible').and(page.getByRole('button', { name: /1 waiting for you/ })).waitFor();
  }
  await visit(page, '/settings');
  await page.locator('.bell:visible').click();
  const card = page.getByRole('dialog').getByRole('article').filter({ hasText: 'echo everywhere' });
  await card.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).click();
  await card.waitFor({ state: 'detached' });
  await asker.getByText('answered', { exact: true }).waitFor();
});

test('a rejection carries its reason', async () => {
  const page = await stage.person();
  const asker = await stage.person();
  await startTurn(asker, '/tool shell {"command":"echo second"}');
  await visit(page, '/inbox');
  const card = page.getByRole('article').filter({ hasText: 'echo second' });
  await card.getByRole('button', { name: 'Reject…' }).and(page.locator(':enabled')).waitFor();
  await page.keyboard.press('r');
  await page.keyboard.type('not on a Friday');
  await page.keyboard.press('Enter');
  await card.waitFor({ state: 'detached' });
  await asker.getByText('failed', { exact: false }).first().waitFor();
  await asker.locator('details.failed summary').last().click();
  await asker.getByText('not on a Friday').first().waitFor();
});

test('what is approved is shown exactly, hidden characters included', async () => {
  const page = await stage.person();
  const asker = await stage.person();
  await startTurn(asker, '/tool shell {"command":"echo safe \u202e; rm -rf"}');
  await visit(page, '/inbox');
  const card = page.getByRole('article').filter({ hasText: 'echo safe' });
  await card.getByText('⟨U+202E⟩').waitFor();
  await card.getByRole('button', { name: 'Reject…' }).click();
  await card.getByRole('button', { name: 'Reject', exact: true }).click();
  await card.waitFor({ state: 'detached' });
});

test('a question is shown to its end, with who asks by what and after whose words, also on a narrow screen', async () => {
  const asker = await stage.person();
  const long = `touch evil; echo ${'harmless '.repeat(700)}LAST-WORD`;
  await startTurn(asker, `/tool shell {"command":"echo words-of-others"}\n/tool shell {"command":"${long}"}`);
  const page = await stage.person({ viewport: { width: 1280, height: 860 } });
  await visit(page, '/inbox');
  const first = page.getByRole('article').filter({ hasText: 'words-of-others' });
  await first.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).click();
  const card = page.getByRole('article').filter({ hasText: 'touch evil' });
  await card.waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 860 });
    const text = await card.innerText();
    assert.match(text, /by page \S+/, 'the browser that asked is named');
    assert.match(text, /Since .+ this run has words of others in it/);
    assert.match(text, /shell/);
    const command = card.locator('pre').filter({ hasText: 'touch evil' });
    assert.ok((await command.innerText()).endsWith('LAST-WORD'), 'the end of a long command is there');
    await command.evaluate((e) => e.scrollTo(0, e.scrollHeight));
    const end = await command.evaluate((e) => Math.ceil(e.scrollTop + e.clientHeight) >= e.scrollHeight && e.scrollHeight > e.clientHeight);
    assert.ok(end, 'it can be scrolled to its end');
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `at ${width} px the page is ${over} px wider than the screen`);
    if (process.env.PARLEY_SHOTS) await page.screenshot({ path: join(process.env.PARLEY_SHOTS, `question-${width}.png`) });
  }
  await card.getByRole('button', { name: 'Reject…' }).click();
  await card.getByRole('button', { name: 'Reject', exact: true }).click();
  await card.waitFor({ state: 'detached' });
});
