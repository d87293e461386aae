// Conversations in the page. The offline model does what a message says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { TESTER, say, settled, setUpTester, startTurn } from './lib/tester.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
  await setUpTester(stage);
});
after(() => stage?.close());

const replies = (page) => page.locator('[role=log] article');

test('a reply streams in as Markdown, and HTML in it stays text', async () => {
  const page = await stage.person();
  await startTurn(page, '/say Some **bold** words and `code`.\n/say <img src=x onerror=alert(1)> [bad](javascript:alert(1)) [good](https://example.com/x) ![far](https://example.com/x.png)');
  const reply = replies(page).last();
  await reply.locator('strong', { hasText: 'bold' }).waitFor();
  await reply.getByText('<img src=x onerror=alert(1)>').waitFor();
  await settled(page);
  // Nor is a picture of somebody else's fetched, only linked to: a request there fails the test by itself.
  assert.equal(await reply.locator('img').count(), 0);
  assert.deepEqual(await reply.locator('a').evaluateAll((all) => all.map((a) => [a.href, a.rel])), ['https://example.com/x', 'https://example.com/x.png'].map((to) => [to, 'noopener noreferrer nofollow']));
});

test('the conversation is there after a reload, and equal in two browsers', async () => {
  const one = await stage.person();
  await startTurn(one, '/say first answer');
  const two = await stage.person();
  await two.goto(one.url());
  await two.getByText('first answer', { exact: true }).waitFor();
  await say(two, '/say second answer');
  await one.getByText('second answer', { exact: true }).waitFor();
  await settled(one);
  await settled(two);
  const text = (page) => page.locator('[role=log] .bubble, [role=log] .md').allInnerTexts();
  assert.deepEqual(await text(one), await text(two));
  await one.reload();
  await one.getByText('second answer', { exact: true }).waitFor();
  assert.deepEqual(await text(one), await text(two));
});

test('the meter tells what was spent, grows with every turn, is the same in two browsers and exact after a reload', async () => {
  const page = await stage.person();
  await startTurn(page, '/usage 1000 200\n/cost 0.25\n/say a first answer');
  const meter = page.getByRole('group', { name: 'Use and cost' });
  await meter.getByText('$0.25', { exact: true }).waitFor();
  await meter.getByText('1.2k tokens', { exact: true }).waitFor();
  await replies(page).last().getByText('$0.25').waitFor();
  const tells = async (where, cost, tokens) => {
    const shown = where.getByRole('group', { name: 'Use and cost' });
    await shown.getByText(cost, { exact: true }).waitFor();
    await shown.getByText(tokens, { exact: true }).waitFor();
  };
  // A browser that saw nothing of it shows the same: the sum is the hub's.
  const other = await stage.person();
  await other.goto(page.url());
  await tells(other, '$0.25', '1.2k tokens');
  // In the middle of a turn too: its first round is paid for while it waits.
  await say(page, '/usage 1000 300\n/cost 0.5\n/tool shell {"command":"echo costly"}\n/usage 900 100\n/cost 1\n/say a second answer');
  for (const where of [page, other]) await tells(where, '$0.75', '2.5k tokens');
  await other.reload();
  await tells(other, '$0.75', '2.5k tokens');
  await page.locator('[role=log]').getByRole('button', { name: 'Approve' }).click();
  await page.getByText('a second answer', { exact: true }).waitFor();
  for (const where of [page, other]) await tells(where, '$1.75', '3.5k tokens');
  await page.reload();
  for (const where of [page, other, await stage.person()]) {
    if (where.url() !== other.url()) await where.goto(other.url());
    await where.getByText('a second answer', { exact: true }).waitFor();
    await tells(where, '$1.75', '3.5k tokens');
  }
});

test('a title given in one browser is in the other at once', async () => {
  const one = await stage.person();
  await startTurn(one, '/say a thing to name');
  const two = await stage.person();
  await two.goto(one.url());
  await two.getByText('a thing to name', { exact: true }).waitFor();
  for (const page of [one, two]) await page.getByRole('button', { name: 'Memory' }).click();
  await one.getByRole('button', { name: 'Rename' }).click();
  await one.getByRole('dialog').getByRole('textbox').fill('Named by hand');
  await one.getByRole('dialog').getByRole('textbox').press('Enter');
  for (const page of [one, two]) await page.getByRole('complementary').getByText('Named by hand').first().waitFor();
});

test('the lists of conversations show a new conversation and its new title at once', async () => {
  const list = await stage.person();
  await visit(list, '/agents');
  const one = await stage.person();
  await startTurn(one, '/say a thing for the list');
  const rows = list.getByRole('region', { name: 'Conversations' }).getByRole('link');
  await rows.filter({ hasText: `thread ${new URL(one.url()).searchParams.get('thread')}` }).waitFor();
  const other = await stage.person();
  await visit(other, `/agents/${TESTER}`);
  await other.getByRole('button', { name: 'Memory' }).click();
  await one.getByRole('button', { name: 'Memory' }).click();
  await one.getByRole('button', { name: 'Rename' }).click();
  await one.getByRole('dialog').getByRole('textbox').fill('Seen from afar');
  await one.getByRole('dialog').getByRole('textbox').press('Enter');
  await rows.filter({ hasText: 'Seen from afar' }).waitFor();
  await other.getByRole('complementary').getByText('Seen from afar').waitFor();
});

test('text files go along with a message, and are folded for everybody who reads it', async () => {
  const one = await stage.person();
  await startTurn(one, '/say ready');
  await settled(one);
  const files = one.getByRole('list', { name: 'Attached files' });
  const [chooser] = await Promise.all([one.waitForEvent('filechooser'), one.getByRole('button', { name: 'Attach files' }).click()]);
  await chooser.setFiles([
    { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes\n```\n<b>kept</b>\n```\n') },
    { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0]) },
  ]);
  await files.getByText('notes.md').waitFor();
  await one.getByRole('alert').filter({ hasText: 'photo.png was not attached: this is no picture, PDF or voice note' }).waitFor();
  await give(one, 'drop', 'dropped.txt', 'by the mouse');
  await give(one, 'paste', 'pasted.txt', 'from elsewhere');
  await give(one, 'drop', 'wrong.txt', 'not this one');
  await files.getByRole('button', { name: 'Remove wrong.txt' }).click();
  await one.reload();
  await files.getByText('pasted.txt').waitFor();
  assert.deepEqual(await files.getByRole('listitem').locator('.ellipsis').allInnerTexts(), ['notes.md', 'dropped.txt', 'pasted.txt'], 'what is attached and not sent is still there after a reload');
  await say(one, '/say read them');
  await one.getByText('read them', { exact: true }).waitFor();
  await files.waitFor({ state: 'detached' });

  const two = await stage.person();
  await two.goto(one.url());
  for (const page of [one, two]) {
    const said = page.locator('.bubble').filter({ hasText: '/say read them' });
    assert.equal((await said.locator('.words').innerText()).trim(), '/say read them');
    const file = said.locator('details').filter({ hasText: 'notes.md' });
    await file.getByText('28 bytes').waitFor();
    assert.equal(await page.getByText('kept', { exact: false }).count(), 0, 'a file is folded');
    await file.locator('summary').press('Enter');
    await file.locator('pre', { hasText: '<b>kept</b>' }).waitFor();
  }
  const [saved] = await Promise.all([two.waitForEvent('download'), two.locator('details').getByRole('button', { name: 'Save' }).click()]);
  assert.equal(saved.suggestedFilename(), 'notes.md');
  assert.equal(readFileSync(await saved.path(), 'utf8'), '# Notes\n```\n<b>kept</b>\n```\n');
});

test('memory is shared and taken back on the page', async () => {
  const page = await stage.person();
  await visit(page, '/settings/sharing');
  await page.getByLabel('Whose memory').selectOption(TESTER);
  await page.getByLabel('For which agent').selectOption('parley');
  await page.getByRole('button', { name: 'Share this memory' }).click();
  const row = page.getByRole('region', { name: 'Shared memory' }).getByRole('row').filter({ hasText: 'all archives' });
  await row.filter({ hasText: 'parley' }).waitFor();
  await row.getByRole('button', { name: 'Take back' }).click();
  await page.getByText('No memory is shared').waitFor();
});

// The smallest picture there is: one red dot.
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

test('pictures are shown in place, and a voice note is told of', async () => {
  const one = await stage.person();
  await startTurn(one, '/say ready');
  await settled(one);
  const [chooser] = await Promise.all([one.waitForEvent('filechooser'), one.getByRole('button', { name: 'Attach files' }).click()]);
  await chooser.setFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(DOT, 'base64') },
    { name: 'note.ogg', mimeType: 'audio/ogg', buffer: Buffer.from('OggS and some sound') },
  ]);
  const files = one.getByRole('list', { name: 'Attached files' });
  await files.getByText('note.ogg').waitFor();
  await say(one, 'What is this?');
  await one.getByText('got "dot.png" (image/png, 70 bytes)').waitFor();
  const two = await stage.person();
  await two.goto(one.url());
  for (const page of [one, two]) {
    const said = page.locator('.bubble').filter({ hasText: 'What is this?' });
    const picture = said.getByRole('img', { name: 'dot.png' });
    await picture.waitFor();
    assert.equal(await picture.evaluate((img) => img.decode().then(() => img.naturalWidth)), 1, 'the picture is there, from the hub');
    await said.getByRole('link', { name: 'note.ogg' }).waitFor();
  }
  const answer = await one.request.get(new URL(await one.getByRole('img', { name: 'dot.png' }).getAttribute('src'), one.url()).href);
  assert.equal(answer.headers()['content-security-policy'], "default-src 'none'; sandbox");
});

test('files too large for the tab are kept over a reload, until they are sent or removed, or the page says that they are not', async () => {
  const page = await stage.person();
  await startTurn(page, '/say ready');
  await settled(page);
  const files = page.getByRole('list', { name: 'Attached files' });
  const kept = () => page.evaluate(() => new Promise((done, fail) => {
    const asked = indexedDB.open('parley-drafts', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore('files', { keyPath: 'key' }).createIndex('at', 'at');
    asked.onerror = () => fail(asked.error);
    asked.onsuccess = () => {
      const all = asked.result.transaction('files').objectStore('files').getAll();
      all.onsuccess = () => (asked.result.close(), done(all.result.flatMap((k) => k.files.map((f) => [f.name, f.text.length]))));
    };
  }));
  const large = 'a line of a large file\n'.repeat(260_000);
  const attach = async (name, text) => {
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await files.and(page.locator('[aria-busy=false]')).getByText(name).waitFor();
  };
  await attach('large.txt', large);
  await attach('small.txt', 'small');
  assert.deepEqual(await kept(), [['large.txt', large.length], ['small.txt', 5]]);
  await page.reload();
  await files.and(page.locator('[aria-busy=false]')).getByText('small.txt').waitFor();
  assert.deepEqual(await files.getByRole('listitem').locator('.ellipsis').allInnerTexts(), ['large.txt', 'small.txt']);
  // Removed, it is gone from the browser too; so is what was sent.
  await files.getByRole('button', { name: 'Remove small.txt' }).click();
  await files.and(page.locator('[aria-busy=false]')).waitFor();
  assert.deepEqual(await kept(), [['large.txt', large.length]]);
  await say(page, '/say got it');
  await page.getByText('got it', { exact: true }).waitFor();
  await files.waitFor({ state: 'detached' });
  while ((await kept()).length);
  const file = page.locator('.bubble').filter({ hasText: '/say got it' }).locator('details').filter({ hasText: 'large.txt' });
  await file.getByText('6.0 MB').waitFor();

  // A browser that keeps nothing: the person is told before it is too late.
  await page.evaluate(() => {
    IDBFactory.prototype.open = () => { throw new DOMException('no room', 'QuotaExceededError'); };
  });
  await attach('large.txt', large);
  await page.getByRole('alert').filter({ hasText: 'does not keep these files' }).waitFor();
  await files.getByRole('button', { name: 'Remove large.txt' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

/** Drops or pastes a file, as the browser tells the page about it. */
async function give(page, how, name, content) {
  const data = await page.evaluateHandle(([name, content]) => {
    const data = new DataTransfer();
    data.items.add(new File([content], name));
    return data;
  }, [name, content]);
  const field = page.getByLabel('Message', { exact: true });
  if (how === 'paste') await field.evaluate((el, data) => el.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })), data);
  else await page.locator('.scroll').dispatchEvent('drop', { dataTransfer: data });
  await page.getByRole('list', { name: 'Attached files' }).getByText(name).waitFor();
}

test('a tool call is folded and can be opened', async () => {
  const page = await stage.person();
  await startTurn(page, '/tool recall {"query":"anything"}\n/say looked it up');
  await page.getByText('looked it up', { exact: true }).waitFor();
  const call = page.locator('details').filter({ hasText: 'recall' });
  assert.equal(await call.getAttribute('open'), null);
  await call.locator('summary').click();
  await call.getByText('anything').first().waitFor();
  await call.getByText('result', { exact: true }).waitFor();
  // It is there again after a reload, where it was.
  await page.reload();
  await call.waitFor();
  await call.locator('summary').click();
  await call.getByText('anything').first().waitFor();
  assert.match(await page.locator('[role=log]').innerText(), /recall[^]*looked it up/);
});

test('a call that waits is shown once after a reload, under one speaker, and ends there', async () => {
  const page = await stage.person();
  await startTurn(page, '/say First I ask.\n/tool shell {"command":"echo after reload"}\n/say and done');
  const log = page.locator('[role=log]');
  await log.getByRole('button', { name: 'Approve' }).waitFor();
  const speakers = await log.locator('.speaker').count();
  await page.reload();
  const call = log.locator('details').filter({ hasText: 'shell' }).filter({ hasText: 'after reload' });
  await call.waitFor();
  await log.getByRole('button', { name: 'Approve' }).waitFor();
  await call.getByText('waits for consent').waitFor();
  assert.equal(await call.count(), 1);
  assert.equal(await log.locator('.speaker').count(), speakers, 'the agent is named as often as before');
  await log.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('and done', { exact: true }).waitFor();
  await call.and(log.locator('.done')).waitFor();
  assert.equal(await call.count(), 1);
});

test('an approval is answered in place', async () => {
  const page = await stage.person();
  await startTurn(page, '/tool shell {"command":"echo in place"}\n/say done with it');
  const card = page.locator('[role=log]').getByRole('article').filter({ hasText: 'echo in place' }).last();
  await card.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('done with it', { exact: true }).waitFor();
});

test('a question is answered in place', async () => {
  const page = await stage.person();
  await startTurn(page, '/tool ask_user {"questions":[{"question":"Tea or coffee?","header":"Drink","options":[{"label":"Tea"},{"label":"Coffee"}]}]}\n/say noted');
  const log = page.locator('[role=log]');
  await log.getByLabel('Tea').check();
  await log.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('noted', { exact: true }).waitFor();
  await page.locator('details').filter({ hasText: 'ask_user' }).locator('summary').click();
  await page.getByText(/"Tea or coffee\?":\s*"Tea"/).last().waitFor();
});

test('a second turn waits in the queue, and stop ends the first', async () => {
  const page = await stage.person();
  await startTurn(page, '/say begun\n/sleep 600000');
  await page.getByText('begun', { exact: true }).waitFor();
  await say(page, '/say the second');
  await page.getByText(/number 1 in the queue/).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped.').waitFor();
  await page.getByText('the second', { exact: true }).waitFor();
  await settled(page);
  await page.reload();
  await replies(page).filter({ hasText: 'begun' }).getByText('Stopped.').waitFor();
});

test('steering joins the run', async () => {
  const page = await stage.person();
  await startTurn(page, '/tool shell {"command":"echo steer"}\n/say done');
  const approve = page.locator('[role=log]').getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  const field = page.getByLabel('Message', { exact: true });
  await field.fill('and mind the gap');
  await field.press('Control+Enter');
  await page.getByText(/Joins the run at its next step|and mind the gap/).first().waitFor();
  await approve.click();
  await page.locator('.steered', { hasText: 'and mind the gap' }).waitFor();
  await settled(page);
  assert.equal(await page.locator('.steered, .bubble').filter({ hasText: 'and mind the gap' }).count(), 1);
});

test('a guest answers in the same conversation and is named', async () => {
  const page = await stage.person();
  await startTurn(page, '/say I am the primary');
  await settled(page);
  const field = page.getByLabel('Message', { exact: true });
  await field.pressSequentially('@par');
  await page.getByRole('option', { name: /@parley/ }).waitFor();
  await field.press('Tab');
  await field.fill('/say I am a guest');
  await field.press('Enter');
  const reply = replies(page).filter({ hasText: 'I am a guest' });
  await reply.getByText('guest', { exact: true }).waitFor();
  await reply.locator('b', { hasText: 'parley' }).waitFor();
  await settled(page);
  await page.reload();
  await replies(page).filter({ hasText: 'I am a guest' }).getByText('guest', { exact: true }).waitFor();
});

test('a failure of the model is shown and the conversation goes on', async () => {
  const page = await stage.person();
  await startTurn(page, '/fail out of ink');
  await page.getByText(/out of ink/).last().waitFor();
  await say(page, '/say better now');
  await page.getByText('better now', { exact: true }).waitFor();
  await settled(page);
  await page.reload();
  await page.getByText('better now', { exact: true }).waitFor();
  await page.getByText(/^It failed/).waitFor();
});

test('what was said is archived, found again and read whole', async () => {
  const page = await stage.person();
  await startTurn(page, '/say the zebra sleeps at noon');
  await settled(page);
  await page.getByRole('button', { name: 'Memory' }).click();
  await page.getByRole('button', { name: 'Archive…' }).click();
  await page.getByLabel('Keep in particular (optional)').fill('zebra');
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await page.locator('[role=log]').getByText(/messages archived/).waitFor();
  await page.getByRole('searchbox', { name: 'Search what was said' }).fill('zebra');
  await page.getByRole('complementary').getByRole('button').filter({ hasText: /zebra/ }).first().click();
  const archive = page.getByRole('dialog');
  await archive.getByText('the zebra sleeps at noon', { exact: true }).first().waitFor();
  await archive.getByRole('button', { name: 'Redo the summary…' }).click();
  await archive.getByLabel('What should it keep in particular?').fill('only the noon');
  await archive.getByRole('button', { name: 'Summarise again' }).click();
  await archive.getByRole('button', { name: 'Redo the summary…' }).waitFor();
  await archive.getByText('the zebra sleeps at noon', { exact: true }).first().waitFor();
  await archive.locator('.summary').getByText('only the noon').first().waitFor();
});

test('a conversation is exported and imported into another thread', async () => {
  const page = await stage.person();
  await startTurn(page, '/say to be kept');
  await settled(page);
  await page.getByRole('button', { name: 'Memory' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
  const path = await file.path();
  assert.match(readFileSync(path, 'utf8'), /"to be kept"/);
  await visit(page, '/agents');
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('File').setInputFiles(path);
  await page.getByLabel('Into a thread').fill('imported');
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByRole('dialog').getByText(/2 messages .* are in/).waitFor();
  await visit(page, `/agents/${TESTER}?thread=imported`);
  await page.getByText('to be kept', { exact: true }).waitFor();
});

test('a conversation is renamed and deleted', async () => {
  const page = await stage.person();
  await startTurn(page, '/say short life');
  await settled(page);
  await page.getByRole('button', { name: 'Memory' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Title' }).fill('A very short life');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('complementary').getByText('A very short life').waitFor();
  await page.getByRole('button', { name: 'Delete the conversation' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  assert.equal(await page.getByText('A very short life').count(), 0);
});

test('an agent is edited and removed', async () => {
  const page = await stage.person();
  await visit(page, '/agents/new?create');
  await page.getByLabel('Name').fill('shortlived');
  await page.getByLabel('Prompt').fill('You are brief.');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. The next turn uses it.').waitFor();
  await visit(page, '/agents/shortlived/edit');
  await page.getByLabel('Description').fill('Briefly described');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved. The next turn uses it.').waitFor();
  await visit(page, '/agents');
  await page.getByText('Briefly described').waitFor();
  await visit(page, '/agents/shortlived/edit');
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'You are brief.');
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await page.getByText('Briefly described').waitFor({ state: 'detached' });
});

test('a provider is added, its model chosen, and both are taken back', async () => {
  const page = await stage.person();
  await visit(page, '/settings/models');
  await page.getByRole('button', { name: 'Add a provider' }).click();
  await page.getByLabel('Kind').selectOption('ollama');
  await page.getByLabel('Name', { exact: true }).fill('garage');
  await page.getByLabel('Key', { exact: true }).fill('not-a-real-key');
  await page.getByLabel('Usual model').fill('tiny');
  await page.getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('row', { name: /garage/ });
  await row.getByText('set', { exact: true }).waitFor();
  assert.equal(await page.getByText('not-a-real-key').count(), 0);
  const field = page.getByLabel('Agents that name no model use');
  for (const model of ['garage:tiny', 'offline:offline']) {
    await field.fill(model);
    await page.getByRole('button', { name: 'Use it' }).and(page.locator(':enabled')).click();
    await page.getByText(`use ${model} now`).waitFor();
  }
  await row.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
});

test('what is typed but not sent is still there after a reload', async () => {
  const page = await stage.person();
  await visit(page, `/agents/${TESTER}`);
  await page.getByLabel('Message', { exact: true }).fill('half a thought');
  await page.reload();
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'half a thought');
});

test('opening a chat puts the cursor into the message field', async () => {
  const page = await stage.person();
  await visit(page, `/agents/${TESTER}?thread=cursor`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Message' || document.activeElement?.labels?.[0]?.textContent?.trim() === 'Message');
  // Nothing was clicked: whoever opens it can type.
  await page.keyboard.type('/say typed at once');
  await page.keyboard.press('Enter');
  await replies(page).last().getByText('typed at once', { exact: true }).waitFor();
});
