// Tasks: given, watched, approved, steered, stopped; a reload loses nothing, and
// two people see the same.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { setUpTester, TESTER } from './lib/tester.mjs';

let stage;
before(async () => {
  stage = await Stage.open({ PARLEY_TERMINAL_RECORD: 'all' });
  await setUpTester(stage);
});
after(() => stage?.close());

async function give(page, goal, more = async () => {}) {
  await visit(page, '/tasks/new');
  await page.getByLabel('Goal').fill(goal);
  await page.getByLabel('Agent').selectOption(TESTER);
  await more();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/tasks\/(?!new)/);
  return page.url();
}

const state = (page, word) => page.locator('header').getByRole('status').filter({ hasText: word }).waitFor();

// Waits until the agent's own words, without what people said, fit.
const says = (page, pattern) => page.waitForFunction(([source]) => new RegExp(source).test([...document.querySelectorAll('[role=log] .md')].map((e) => e.innerText).join('\n')), [pattern.source]);

test('a task runs to its end, and its text is there after a reload', async () => {
  const page = await stage.person();
  await give(page, '/say first words\n/say last words');
  await state(page, 'done');
  await says(page, /first words\s+last words/);
  await page.reload();
  await says(page, /first words\s+last words/);
  await visit(page, '/tasks');
  await page.getByRole('region', { name: 'Finished' }).getByRole('link', { name: /first words/ }).waitFor();
});

test('what a task wants to run is approved on another device, and both show it', async () => {
  const one = await stage.person();
  const two = await stage.person();
  const url = await give(one, '/tool shell {"command":"echo from-a-task; true"}\n/say over');
  await state(one, 'needs you');
  await two.goto(url);
  const card = two.getByRole('article').filter({ hasText: 'echo from-a-task' });
  await card.getByRole('button', { name: 'Approve', exact: false }).first().click();
  await state(one, 'done');
  await state(two, 'done');
  await one.locator('details.done summary').filter({ hasText: 'shell' }).click();
  await one.locator('details.done').getByText('"exit_code": 0').waitFor();
});

test('what waits and costs is on the home page; it survives a reload; allowed for this task, it is not asked again', async () => {
  const page = await stage.person();
  const call = '/tool shell {"command":"echo the-same; true"}';
  await give(page, `/cost 0.5\n${call}\n${call}\n/say over`, () => page.getByLabel('Budget, USD').fill('2'));
  await state(page, 'needs you');
  await page.waitForFunction(() => document.querySelector('meter[aria-label="Budget used"]')?.value === 0.25);
  const home = await stage.person();
  const tile = (name) => home.locator('.tile').filter({ hasText: name }).locator('b');
  await tile('Needs you').and(home.getByText('1', { exact: true })).waitFor();
  await tile('Running').and(home.getByText('1', { exact: true })).waitFor();
  const { agents } = await stage.hub.call('GET', '/api/spend');
  const spent = agents.reduce((sum, a) => sum + a.today_usd, 0);
  assert.ok(spent >= 0.5, `${spent}`);
  await tile('Cost today').and(home.getByText(`$${spent.toFixed(2)}`, { exact: true })).waitFor();
  await tile('Unwell').and(home.getByText(/^\d+$/)).waitFor();
  await visit(home, '/inbox');
  await home.reload();
  const card = home.getByRole('article').filter({ hasText: 'echo the-same; true' });
  await card.getByText(/^6 d 23 h$/).waitFor(); // a question waits for a week
  for (const word of ['asked by', TESTER, 'for', 'shell', 'Runs a command']) await card.getByText(word).first().waitFor();
  await card.getByRole('button', { name: 'Allow for this task' }).click();
  await card.waitFor({ state: 'detached' });
  await state(page, 'done');
  assert.equal(await page.locator('details.done summary').filter({ hasText: 'shell' }).count(), 2);
});

test('a rejected call says so and the task goes on', async () => {
  const page = await stage.person();
  await give(page, '/tool shell {"command":"echo never; true"}\n/say went on');
  const card = page.getByRole('article').filter({ hasText: 'echo never' });
  await card.getByRole('button', { name: 'Reject…' }).click();
  await card.getByLabel('Why not?', { exact: false }).fill('not today');
  await card.getByRole('button', { name: 'Reject', exact: true }).click();
  await says(page, /went on/);
  await state(page, 'done');
});

test('steering stops what is said and is read first; a follow-up waits its turn', async () => {
  const page = await stage.person();
  const field = page.getByLabel('Message to the task');
  const waiting = page.getByRole('list', { name: 'Waiting messages' });
  // What it says lasts longer than anybody waits, unless steering ends it. The offline
  // model then reads all it was told, so it says its first words again.
  await give(page, '/say said at once\n/sleep 600000\n/say never said');
  await says(page, /said at once/);
  await field.fill('/say the follow-up');
  await field.press('Enter');
  await waiting.getByText('/say the follow-up').waitFor();
  await field.fill('/say steered now');
  await field.press('Control+Enter');
  await says(page, /said at once[^]*said at once/);
  await page.getByRole('log').getByText('/say steered now').waitFor();
  await waiting.getByText('/say the follow-up').waitFor();
  assert.equal(await waiting.getByText('/say steered now').count(), 0, 'it was read');
  await page.getByRole('button', { name: 'Stop' }).click();
  await state(page, 'stopped');

  await give(page, '/tool shell {"command":"echo before; true"}\n/say the first');
  const approve = page.getByRole('article').filter({ hasText: 'echo before' }).getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  await field.fill('/say the follow-up');
  await field.press('Enter');
  await waiting.getByText('/say the follow-up').waitFor();
  await approve.click();
  await says(page, /the first[^]*the follow-up/);
  await state(page, 'done');
});

test('collected messages are given together', async () => {
  const page = await stage.person();
  await give(page, '/tool shell {"command":"echo meanwhile; true"}\n/say first');
  const approve = page.getByRole('article').filter({ hasText: 'echo meanwhile' }).getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  await page.getByLabel('Collect').check();
  const field = page.getByLabel('Message to the task');
  const waiting = page.getByRole('list', { name: 'Waiting messages' });
  for (const words of ['/say one of them', '/say and the other']) {
    await field.fill(words);
    await field.press('Enter');
    await waiting.getByText(words).waitFor();
  }
  assert.equal(await waiting.getByText('is collected').count(), 2);
  await approve.click();
  await says(page, /first[^]*one of them\s+and the other/);
  await state(page, 'done');
});

test('stop keeps the text and gives back what was not read', async () => {
  const page = await stage.person();
  await give(page, '/say forever\n/sleep 600000');
  await says(page, /forever/);
  const field = page.getByLabel('Message to the task');
  await field.fill('never read');
  await field.press('Enter');
  await page.getByRole('list', { name: 'Waiting messages' }).getByText('never read').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await state(page, 'stopped');
  await page.getByLabel('Words the task did not get').and(page.locator('textarea, input')).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('textarea, input')].some((e) => e.value === 'never read'));
  await says(page, /forever/);
});

test('a page that lost its connection catches up without gap or doubling', async () => {
  const page = await stage.person();
  const link = { cut: false, sockets: [] };
  const missed = new Promise((done) => (link.tried = done));
  await page.routeWebSocket(/\/ws$/, (ws) => {
    if (link.cut) return void ws.close({ code: 3000 }).then(link.tried);
    link.sockets.push(ws);
    ws.connectToServer();
  });
  const lines = (from, to) => Array.from({ length: to - from }, (_, i) => `/say line-${from + i}.`);
  await give(page, [...lines(0, 20), '/tool shell {"command":"echo halfway; true"}', ...lines(20, 40)].join('\n'));
  await says(page, /line-19\./);
  await state(page, 'needs you');
  link.cut = true;
  for (const ws of link.sockets) await ws.close({ code: 3000 });
  await missed; // it has noticed, and tried again in vain
  // The task ends while the page hears nothing of it.
  const { approvals } = await stage.hub.call('GET', '/api/approvals');
  await stage.hub.call('POST', `/api/approvals/${approvals.find((a) => a.arguments?.command === 'echo halfway; true').id}`, { approved: true });
  const id = new URL(page.url()).pathname.split('/').at(-1);
  while ((await stage.hub.call('GET', `/api/tasks/${id}`)).status !== 'completed');
  assert.doesNotMatch((await page.locator('[role=log] .md').allInnerTexts()).join('\n'), /line-39\./);
  link.cut = false;
  const whole = async () => {
    await state(page, 'done');
    await says(page, /line-39\./);
    const text = await page.getByRole('log').locator('.md').allInnerTexts().then((all) => all.join('\n'));
    assert.deepEqual(text.match(/line-\d+\./g), Array.from({ length: 40 }, (_, i) => `line-${i}.`));
  };
  await whole();
  await page.reload();
  await whole();
});

test('a plan shows its steps and the frames can be looked at', async () => {
  const page = await stage.person();
  await give(page, '/say with a plan', async () => {
    await page.getByText('Plan, restarts').click();
    await page.getByLabel('Steps, one a line (optional)').fill('- look\n- do');
  });
  await page.getByRole('region', { name: 'Plan' }).getByText('look').waitFor();
  await page.getByLabel('More', { exact: true }).click();
  await page.getByRole('button', { name: 'Look at the frames' }).click();
  await page.getByRole('dialog').getByText('task:completed').first().waitFor();
});

test('a step of a plan ticks when the agent says so, while the task goes on', async () => {
  const page = await stage.person();
  await give(page, '/tool plan_update {"step":"1","status":"completed"}\n/say ticked\n/sleep 600000', async () => {
    await page.getByText('Plan, restarts').click();
    await page.getByLabel('Steps, one a line (optional)').fill('- look\n- do');
  });
  await says(page, /ticked/);
  const plan = page.getByRole('region', { name: 'Plan' });
  await plan.locator('li.completed', { hasText: 'look' }).waitFor();
  await plan.getByText('1 of 2').waitFor();
  await state(page, 'running');
});

test('a file that a task left in a subfolder opens by its link', async () => {
  const page = await stage.person();
  const url = await give(page, '/tool shell {"command":"echo first; true"}\n/say first');
  const approve = (words) => page.getByRole('article').filter({ hasText: words }).getByRole('button', { name: 'Approve' });
  await approve('echo first').waitFor();
  const folder = `artifacts/${url.split('/').pop()}/sub folder`;
  const field = page.getByLabel('Message to the task');
  await field.fill(`/tool shell ${JSON.stringify({ command: `mkdir -p "${folder}" && printf found > "${folder}/a #1.txt"` })}`);
  await field.press('Enter');
  await page.getByRole('list', { name: 'Waiting messages' }).getByText('printf found').waitFor();
  await approve('echo first').click();
  await approve('printf found').click();
  await state(page, 'done');
  const link = page.getByRole('region', { name: 'Files' }).getByRole('link', { name: 'sub folder/a #1.txt' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  assert.equal(readFileSync(await download.path(), 'utf8'), 'found');
});

test('a terminal is shared: what one types the other sees, and a reload has it again', async () => {
  const one = await stage.person();
  await visit(one, '/terminals');
  await one.getByRole('button', { name: 'Open one' }).click();
  await one.getByLabel('Name').fill('shared');
  await one.getByRole('dialog').getByRole('button', { name: 'Open' }).click();
  await one.waitForURL(/\/terminals\/.+/);
  const two = await stage.person();
  await two.goto(one.url());
  const shows = (page, text) => page.waitForFunction((t) => document.querySelector('.xterm-rows')?.textContent?.includes(t), text);
  await one.locator('.xterm-screen').click();
  await one.keyboard.type('echo sum-$((6*7))\n');
  await shows(one, 'sum-42');
  await shows(two, 'sum-42');
  await one.reload();
  await shows(one, 'sum-42');
  await two.locator('.xterm-screen').click();
  await two.keyboard.type('exit 3\n');
  await one.getByRole('status').filter({ hasText: 'ended with 3' }).waitFor();
  await one.getByRole('link', { name: 'Recording' }).click();
  await one.getByLabel('Speed').selectOption('8×');
  await shows(one, 'sum-42');
});

test('what a program prints cannot reach out of its terminal, and makes it type only what programs need', async () => {
  const page = await stage.person();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  let typed = [];
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => {
    if (typeof payload !== 'string' || !payload.includes('"terminal:input"')) return;
    const { data } = JSON.parse(payload).payload;
    if (data.includes('\x1b')) typed.push(data);
  }));
  const opened = [];
  page.on('dialog', (dialog) => (opened.push(dialog.message()), dialog.dismiss()));
  page.on('popup', (popup) => opened.push(popup.url()));
  await visit(page, '/terminals');
  await page.getByRole('button', { name: 'Open one' }).click();
  await page.getByLabel('Name').fill('hostile');
  await page.getByRole('dialog').getByRole('button', { name: 'Open' }).click();
  await page.waitForURL(/\/terminals\/.+/);
  const shows = (text) => page.waitForFunction((t) => document.querySelector('.xterm-rows')?.textContent?.includes(t), text);
  await page.evaluate(() => navigator.clipboard.writeText('mine'));
  const title = await page.title();
  await page.locator('.xterm-screen').click();
  // Reads one answer, so that the shell does not: who are you.
  const attack = [
    '\\033]8;;javascript:document.title=1\\033\\\\press-me\\033]8;;\\033\\\\', '\\033]8;;https://evil.example/\\033\\\\or-me\\033]8;;\\033\\\\', '\\033]0;pwned\\007', '\\033]2;pwned\\007',
    '\\033]52;c;cHduZWQ=\\007', '\\033]52;c;?\\007', '\\033P$qm\\033\\\\', '\\033P+q544e\\033\\\\', '\\033]10;?\\007', '\\033]4;1;?\\007', '\\033[>c', '\\033[=c', '\\033[>q', '\\033[21t',
    '\\033[?2026$p', '\\005', '\\033[c',
  ].join(' ');
  await page.keyboard.type(`stty -echo; printf '${attack} done-%s\\n' $((6*7)); read -r x; stty echo\n`);
  await shows('done-42');
  while (typed.length === 0) await page.waitForTimeout(20); // what was shown has been answered
  await page.keyboard.type('\n');
  for (const text of ['press-me', 'or-me']) {
    const word = await page.evaluate((t) => {
      const walk = document.createTreeWalker(document.querySelector('.xterm-rows'), NodeFilter.SHOW_TEXT);
      for (let n = walk.nextNode(); n; n = walk.nextNode()) {
        if (!n.data.includes(t) || n.data.includes('printf')) continue;
        const range = document.createRange();
        range.setStart(n, n.data.indexOf(t));
        range.setEnd(n, n.data.indexOf(t) + t.length);
        const { x, y, width, height } = range.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      }
    }, text);
    assert.ok(word, `${text} is shown`);
    await page.mouse.move(word.x, word.y);
    await page.mouse.click(word.x, word.y);
  }
  assert.deepEqual(opened, []);
  assert.equal(await page.title(), title);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'mine');
  assert.deepEqual(typed, ['\x1b[?1;2c']);
  // Shown again after a reload, it asks nothing.
  typed = [];
  await page.reload();
  await shows('done-42');
  await page.locator('.xterm-screen').click();
  await page.keyboard.type('echo still-$((6*7))\n');
  await shows('still-42');
  assert.deepEqual(typed, []);
});
