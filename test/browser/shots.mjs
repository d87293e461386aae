// Takes the pictures for the documentation, from the real hub and the real page:
//
//   node shots.mjs            into docs/images, or into PARLEY_SHOTS
//
// Not a test; run.mjs leaves it out. The talk is made up (lib/players.mjs says
// it), everything around it is real.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startModel } from './lib/players.mjs';
import { Stage, visit } from './lib/stage.mjs';
import { say, settled } from './lib/tester.mjs';

process.chdir(dirname(fileURLToPath(import.meta.url)));
const folder = process.env.PARLEY_SHOTS || resolve('../../docs/images');
const program = process.env.PARLEY_BIN || resolve('../../bin/parley');
const scratch = mkdtempSync(join(tmpdir(), 'parley-shots-'));
const LIMIT = 150 * 1024;

const ask = {
  trip: 'We have four days in Lisbon in May, with a toddler. What should we not miss?',
  trip2: 'Thanks. We took the flat near Jardim da Estrela.',
  backup: 'Last night’s backup of the studio failed. Can you see why?',
  second: 'Is it safe to delete those?',
  go: 'Then keep one a month and remove the rest, please.',
  notes: 'Write release notes for 2.4 from the merged changes.',
  invoices: 'Sort the invoices of October by supplier and tell me which are unpaid.',
  site: 'Check that every link on the studio’s site still works.',
  photos: 'Find the photos we have twice and free the space they take. Keep the copy with the better name.',
};

const model = await startModel({
  [ask.trip]: ['Three things that work with short legs:\n\n1. **Oceanário**, first thing on a weekday\n2. The **ferry to Cacilhas** and lunch by the water\n3. **Jardim da Estrela**: playground, ducks, a kiosk with good coffee'],
  [ask.trip2]: ['Noted: the flat is near Jardim da Estrela. I will plan walks from there.'],
  [ask.backup]: [
    'I will read its log first.', { tool: 'file_read', args: { path: 'backup/nightly.log' } },
    'The backup disk is **full**. It stopped at 02:14, after the photos and before the projects:\n\n| folder | size | copied |\n| --- | ---: | --- |\n| photos | 212 GB | yes |\n| projects | 96 GB | **no** |\n| snapshots | 431 GB | from before |\n\nThe snapshots of 2024 take most of it. Removing those nobody needs would make room for about two years.',
  ],
  [ask.second]: ['Good catch by Parley, and the numbers fit the log. Two doubts:\n\n- The snapshots are the **only copy** of what was deleted in 2024. Keep one for each month.\n- Check that the last *complete* backup can be restored before anything goes.'],
  [ask.go]: [
    'I will keep the first snapshot of each month. This needs your consent:', { tool: 'shell', args: { command: 'backup/prune.sh --year 2024 --keep monthly', timeout_ms: 120000 } },
    'Done.',
  ],
  [ask.notes]: [{ tool: 'ask_user', args: { questions: [{ question: 'Who will read these notes?', header: 'Readers', options: [{ label: 'Customers', description: 'What changes for them, in plain words' }, { label: 'Developers', description: 'Everything, with links to the changes' }] }] } }, 'Here they are.'],
  [ask.invoices]: ['Sorted into 14 folders. Two are unpaid:\n\n| supplier | amount | due |\n| --- | ---: | --- |\n| Alder Print | 1,240.00 | 3 November |\n| Northlight | 312.50 | **overdue since 28 October** |'],
  [ask.site]: ['212 links on 38 pages; **three lead nowhere**: `/press/2019.pdf`, `/team/ines` and the old map on the contact page.'],
  [ask.photos]: [
    'First I count what is there twice, by content and not by name.', { tool: 'file_read', args: { path: 'photos/index.txt' } },
    '**1,318 photos** exist twice, 41 GB in all. Most were copied from the old laptop in March. I will move the spare copies to the bin, where they stay for 30 days:', { tool: 'shell', args: { command: 'photos/dedupe.sh --by content --keep better-name --to-bin', timeout_ms: 600000 } },
    'Done: 41 GB are free again.',
  ],
}, 'A trip to Lisbon in May with a toddler: Oceanário, the ferry to Cacilhas, Jardim da Estrela. The flat is near the garden.');

const log = '01:00 start\n01:00 photos: 212 GB to copy\n02:11 photos: done\n02:11 projects: 96 GB to copy\n02:14 error: write /mnt/backup/projects/atlas/render-0481.exr: no space left on device\n02:14 stopped; 0 bytes free on /mnt/backup\n02:14 snapshots: 431 GB in 118 folders, oldest 2024-01-02\n';

async function play(stage) {
  mkdirSync(join(stage.hub.data, 'workspace/backup'), { recursive: true });
  writeFileSync(join(stage.hub.data, 'workspace/backup/nightly.log'), log);
  await stage.hub.call('PUT', '/api/agents/parley', { tools: ['ask_user', 'recall', 'remember', 'forget', 'skill', 'files', 'web', 'shell'] });
  await stage.hub.call('POST', '/api/agents', { name: 'scribe', description: 'Writes release notes, minutes and letters, and asks who will read them', prompt: 'You write.', tools: ['ask_user', 'recall'] });
  for (const name of ['Ada', 'Grace']) await stage.hub.call('POST', '/api/people', { name });
  const page = await stage.person();
  const turn = async (text) => {
    const before = await page.locator('[role=log] .foot').count();
    await say(page, text);
    await page.locator('[role=log] .foot').nth(before).waitFor();
    await settled(page);
  };

  await visit(page, '/agents/parley?thread=lisbon');
  await turn(ask.trip);
  await turn(ask.trip2);
  await page.getByRole('button', { name: 'Memory' }).click();
  await page.getByRole('button', { name: 'Archive…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await page.locator('[role=log]').getByText(/messages archived/).waitFor();

  await visit(page, '/agents/scribe');
  await say(page, ask.notes);
  await page.locator('[role=log]').getByRole('button', { name: 'Answer' }).waitFor();

  await visit(page, '/agents/parley');
  await turn(ask.backup);
  const field = page.getByLabel('Message', { exact: true });
  await field.pressSequentially('@kib');
  await page.getByRole('option', { name: /@kibitzer/ }).waitFor();
  await field.press('Tab');
  await turn(ask.second);
  await page.getByRole('button', { name: /kibitzer/ }).first().click().catch(() => {});
  await say(page, ask.go);
  await page.locator('[role=log]').getByRole('button', { name: 'Approve' }).waitFor();
  return page;
}

// What the command line does for the scene, as the owner.
const env = (stage) => ({ ...process.env, PARLEY_HUB: stage.hub.url, PARLEY_TOKEN: stage.hub.token });
const parley = async (stage, ...args) => (await promisify(execFile)(program, args, { env: env(stage) })).stdout;
const running = [];

async function works(stage) {
  mkdirSync(join(stage.hub.data, 'workspace/photos'), { recursive: true });
  writeFileSync(join(stage.hub.data, 'workspace/photos/index.txt'), 'IMG_2041.jpg 4.1 MB\n2025-03-beach.jpg 4.1 MB\n…\n');
  for (const goal of [ask.invoices, ask.site]) await parley(stage, 'task', 'submit', goal, '--watch');
  const page = await stage.person();
  await visit(page, '/tasks/new');
  await page.getByLabel('Goal').fill(ask.photos);
  await page.getByLabel('Budget, USD').fill('1.50');
  await page.getByText('Plan, restarts').click();
  await page.getByLabel('Steps, one a line (optional)').fill('- find photos that exist twice\n- decide which copy stays\n- move the others to the bin\n- report what was freed');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('log').getByRole('button', { name: 'Approve' }).waitFor();
  return page;
}

async function types(stage) {
  const page = await stage.person();
  await visit(page, '/terminals');
  await page.getByRole('button', { name: 'Open one' }).click();
  await page.getByLabel('Name').fill('backup check');
  await page.getByRole('dialog').getByRole('button', { name: 'Open' }).click();
  await page.waitForURL(/\/terminals\/.+/);
  // The text is there and the shell waits for the next line.
  const shows = (text) => page.waitForFunction((t) => {
    const rows = [...(document.querySelector('.xterm-rows')?.children ?? [])].map((row) => row.textContent.trim()).filter(Boolean);
    return rows.some((row) => row.includes(t)) && rows.at(-1) === 'studio$';
  }, text);
  await page.locator('.xterm-screen').click();
  await page.keyboard.type(`cd ${join(stage.hub.data, 'workspace')}; PS1='studio$ '; clear\n`);
  await shows('studio$');
  for (const [line, until] of [['ls -lh backup photos', 'nightly.log'], ['grep -n error backup/nightly.log', 'no space left'], ['tail -n 2 backup/nightly.log', 'oldest 2024']]) {
    await page.keyboard.type(`${line}\n`);
    await shows(until);
  }
  return page;
}

async function machines(stage) {
  for (const id of ['studio-mac', 'nas', 'laptop-grace', 'build-box', 'kiosk']) {
    const t = JSON.parse(await parley(stage, 'machine', 'token', id, '--json'));
    const state = join(scratch, id);
    running.push(spawn(program, ['endpoint', 'run', '--url', stage.hub.url, '--id', id, '--server-key', t.server_public_key, '--state', state], { env: { ...process.env, PARLEY_ENROLL_TOKEN: t.token }, stdio: 'ignore' }));
  }
  const page = await stage.person();
  await visit(page, '/machines');
  for (const id of ['studio-mac', 'nas', 'laptop-grace', 'build-box', 'kiosk']) {
    await page.getByRole('list', { name: 'Machines, worst first' }).getByRole('listitem').filter({ hasText: id }).getByText('online').waitFor();
  }
  running.pop().kill('SIGTERM'); // the kiosk is switched off at night
  await page.getByRole('list', { name: 'Machines, worst first' }).getByRole('listitem').filter({ hasText: 'kiosk' }).getByText(/off/).waitFor();
  // These are all one computer, and what is amiss with it is not the studio's worry.
  const until = new Date(Date.now() + 7 * 86_400_000).toISOString();
  for (const { agent_id } of (await stage.hub.call('GET', '/api/fleet')).agents) {
    const worries = ['app_updates', 'encryption', 'time_sync', 'reboot_pending', 'autostart'].filter((s) => agent_id !== 'nas' || s !== 'encryption');
    await stage.hub.call('PATCH', `/api/machines/${encodeURIComponent(agent_id)}`, { mutes: Object.fromEntries(worries.map((s) => [s, { reason: 'known', until }])) });
  }
  await page.context().close();
}

async function room(stage) {
  await stage.hub.call('POST', '/api/rooms', { room: 'release', title: 'Release 2.4', policy: { humans: { mode: 'open' }, agents: { mode: 'gated' } } });
  const enter = async (page, name) => {
    await page.goto(`${stage.hub.url}/r/release`);
    await page.getByLabel('Your name here').fill(name);
    await page.getByRole('button', { name: 'Enter' }).click();
    await page.getByRole('log', { name: 'Chat' }).waitFor();
    return page;
  };
  const host = await enter(await stage.person(), 'Ada');
  const guest = await enter(await stage.visitor(), 'Grace');
  const agent = async (name, ...more) => {
    const key = join(scratch, `${name}.key`);
    const made = JSON.parse(await parley(stage, 'room', 'keygen', '--out', key, '--json'));
    writeFileSync(`${key}.pub`, JSON.stringify(made.public));
    await parley(stage, 'room', 'policy', 'release', '--allow', `${key}.pub`, '--label', name);
    const child = spawn(program, ['room', 'join', 'release', '--name', name, '--key', key, '--json', ...more], { env: env(stage), stdio: ['pipe', 'ignore', 'ignore'] });
    running.push(child);
    return child;
  };
  const minutes = await agent('minutes', '--backend', 'Claude');
  await agent('kibitzer');
  const say = async (page, text) => {
    await page.getByLabel('Say something').fill(text);
    await page.getByLabel('Say something').press('Enter');
    await host.getByRole('log', { name: 'Chat' }).getByText(text).waitFor();
  };
  const member = (name) => host.getByRole('list', { name: 'People and agents' }).getByRole('button').filter({ hasText: name });
  await member('minutes').waitFor();
  await member('kibitzer').waitFor();
  await say(guest, 'The importer is in. I would ship on Thursday.');
  await say(host, 'Agreed, if the migration test is green by then.');
  await member('minutes').click();
  await host.getByRole('dialog').getByRole('switch', { name: /say something/ }).click();
  await host.getByRole('dialog').getByRole('switch', { name: /^can say something/ }).waitFor();
  minutes.stdin.write('Noted: ship on Thursday if the migration test is green. Ada watches the test, Grace writes the notes.\n');
  await host.getByRole('log', { name: 'Chat' }).getByText('Noted: ship on Thursday').waitFor();
  await host.getByRole('dialog').getByLabel('Close').click();
  await say(guest, 'Thanks! And the kibitzer only watches?');
  await say(host, 'Until somebody lets it speak.');
  return host;
}

// Agents of other people, each with a key of its own, as they would come from elsewhere.
async function meet(stage) {
  const as = (name, ...args) => parley(stage, 'place', ...args, '--place', stage.hub.url, '--as', join(scratch, `${name}.pem`), '--id', name);
  await as('alder-print', 'post', 'offer_skill', 'Proof reading', 'Reads a PDF the way a printer does: bleeds, fonts, black text in black only', '--tags', 'print,pdf');
  await as('northlight', 'post', 'offer_skill', 'Colour grading', 'Matches the look of a set of photos to one of them', '--tags', 'photo');
  await as('harbour-books', 'post', 'request_skill', 'Invoice reading', 'Looking for a way to read scanned invoices in Portuguese', '--tags', 'invoice,ocr');
  await as('tide-tables', 'post', 'announcement', 'Tides for 2027', 'The tables for the whole coast are ready', '--tags', 'sea');
  for (const [from, to, text] of [['alder-print', 'harbour-books', 'We have something for you'], ['harbour-books', 'alder-print', 'Gladly'], ['northlight', 'alder-print', 'Proofs by Friday?'], ['tide-tables', 'harbour-books', 'As promised']]) await as(from, 'send', to, text);
}

async function shoot(page, name) {
  await page.locator('.shimmer').first().waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).and(page.locator(':visible')).first().waitFor();
  for (const button of await page.getByRole('button', { name: 'Approve' }).all()) await button.and(page.locator(':enabled')).waitFor();
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  console.log(`${name}.png ${(size / 1024).toFixed(0)} KB`);
  if (size > LIMIT) throw new Error(`${name}.png is larger than ${LIMIT / 1024} KB`);
}

mkdirSync(folder, { recursive: true });
const stage = await Stage.open({ PARLEY_MODEL: 'openai:demo', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' });
try {
  await machines(stage);
  await meet(stage);
  const scenes = { chat: await play(stage), task: await works(stage), terminal: await types(stage), room: await room(stage) };
  const page = await stage.person();
  const paths = { home: '/', inbox: '/inbox', machines: '/machines', machine: '/machines/nas', place: '/place', audit: '/audit', cluster: '/settings/cluster' };
  for (const colorScheme of ['light', 'dark']) {
    for (const p of [page, ...Object.values(scenes)]) {
      await p.emulateMedia({ colorScheme });
      await p.setViewportSize({ width: 1280, height: 800 });
    }
    for (const [name, scene] of Object.entries(scenes)) await shoot(scene, `${name}-${colorScheme}`);
    for (const [name, path] of Object.entries(paths)) {
      await visit(page, path);
      if (name === 'audit') {
        await page.getByRole('button', { name: 'Verify' }).click();
        await page.getByText('Unbroken.').waitFor();
      }
      await shoot(page, `${name}-${colorScheme}`);
    }
  }
  for (const name of ['chat', 'task']) {
    await scenes[name].emulateMedia({ colorScheme: 'light' });
    await scenes[name].setViewportSize({ width: 390, height: 844 });
    await shoot(scenes[name], `${name}-phone`);
  }
} finally {
  for (const child of running) child.kill('SIGTERM');
  await stage.close().catch((error) => console.error(error.message));
  model.stop();
  rmSync(scratch, { recursive: true, force: true });
}
