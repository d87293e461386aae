// The inbox: what waits for consent is on every device, is shown exactly, and is answered once.

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
