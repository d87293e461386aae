// An agent for tests: it may use the shell (which asks for consent) and may ask
// questions; the offline model does what the message says.

import { visit } from './stage.mjs';

export const TESTER = 'tester';

/** Makes the agent, by the page's own editor. */
export async function setUpTester(stage) {
  const page = await stage.person();
  await visit(page, '/agents/new?create');
  await page.getByLabel('Name').fill(TESTER);
  await page.getByLabel('Description').fill('Does what the message says.');
  await page.getByLabel('Prompt').fill('You are a test.');
  await page.getByLabel('Tools', { exact: true }).fill('shell ask_user recall');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. The next turn uses it.').waitFor();
  await page.context().close();
}

let threads = 0;

/** Opens a thread of its own and says something in it. */
export async function startTurn(page, text, agent = TESTER) {
  await visit(page, `/agents/${agent}?thread=t${process.pid}-${++threads}`);
  await say(page, text);
}

export async function say(page, text) {
  const field = page.getByLabel('Message', { exact: true });
  await field.fill(text);
  await field.press('Enter');
}

/**
 * Waits until everything said in the shown conversation is answered. That nothing
 * runs is not enough: right after saying something nothing runs yet.
 */
export async function settled(page) {
  await page.waitForFunction(() => {
    const log = document.querySelector('[role=log][aria-busy=false] .lines');
    return log?.lastElementChild && !log.querySelector('.turn') && !log.lastElementChild.matches('.mine');
  });
}
