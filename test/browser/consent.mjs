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

test('“Always like this” tells the rule before it is made, spares the next question, and Settings takes it back', async () => {
  const page = await stage.person();
  const asker = await stage.person();
  await startTurn(asker, '/tool shell {"command":"touch ruled-1"}');
  await visit(page, '/inbox');
  const card = page.getByRole('article').filter({ hasText: 'touch ruled-1' });
  await card.getByRole('button', { name: 'Always like this…' }).and(page.locator(':enabled')).click();
  await card.getByText('tester may run `touch ruled-1` in its folder').waitFor();
  await card.getByLabel(/^Command/).fill('bash …');
  await card.getByText('would run whatever follows').waitFor();
  await card.getByLabel(/^Command/).fill('touch …');
  await card.getByLabel('Times').fill('2');
  await card.getByText(/tester may run `touch …` in its folder, until .*, 2 times/).waitFor();
  await card.getByText(/Of your last \d+ questions about calls it would have answered \d+/).waitFor();
  await fits(page, 'rule');
  await card.getByRole('button', { name: 'Approve, and make this rule' }).click();
  await card.waitFor({ state: 'detached' });
  await startTurn(asker, '/tool shell {"command":"touch ruled-2"}\n/say not asked');
  await asker.getByText('not asked', { exact: true }).waitFor();

  await visit(page, '/settings/rules');
  const row = page.getByRole('row').filter({ hasText: 'touch …' });
  await row.getByText('1 of 2').waitFor();
  await fits(page, 'rules');
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('You have no rules').waitFor();
  await startTurn(asker, '/tool shell {"command":"touch ruled-3"}');
  await visit(page, '/inbox');
  const again = page.getByRole('article').filter({ hasText: 'touch ruled-3' });
  await again.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).click();
  await again.waitFor({ state: 'detached' });
});

test('several questions are answered at once', async () => {
  const page = await stage.person();
  for (const n of [1, 2, 3]) await startTurn(await stage.person(), `/tool shell {"command":"touch several-${n}"}`);
  await visit(page, '/inbox');
  await page.getByRole('article').filter({ hasText: 'several-3' }).waitFor();
  await page.getByLabel('Choose several').check();
  await page.getByRole('listitem').filter({ hasText: 'several-2' }).getByRole('checkbox').uncheck();
  await page.getByText('2 questions chosen').waitFor();
  await fits(page, 'several');
  await page.getByRole('button', { name: 'Approve 2' }).click();
  await page.getByRole('article').filter({ hasText: 'several-1' }).waitFor({ state: 'detached' });
  await page.getByRole('article').filter({ hasText: 'several-3' }).waitFor({ state: 'detached' });
  const left = page.getByRole('article').filter({ hasText: 'several-2' });
  await left.getByRole('button', { name: 'Reject…' }).click();
  await left.getByRole('button', { name: 'Reject', exact: true }).click();
  await left.waitFor({ state: 'detached' });
});

/** Nothing is wider than the screen, on a narrow one too. */
async function fits(page, name) {
  const before = page.viewportSize();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 860 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth), false, `${name} is wider than ${width} pixels`);
    if (process.env.PARLEY_SHOTS) await page.screenshot({ path: join(process.env.PARLEY_SHOTS, `${name}-${width}.png`) });
  }
  if (before) await page.setViewportSize(before);
}
