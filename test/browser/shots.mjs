// Takes the pictures for the documentation, from the real hub and the real page:
//
//   node shots.mjs            into docs/images
//
// Not a test; run.mjs leaves it out. The talk is made up (lib/players.mjs says
// it), everything around it is real.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModel } from './lib/players.mjs';
import { Stage, visit } from './lib/stage.mjs';
import { say, settled } from './lib/tester.mjs';

process.chdir(dirname(fileURLToPath(import.meta.url)));
const folder = resolve('../../docs/images');
const LIMIT = 150 * 1024;

const ask = {
  trip: 'We have four days in Lisbon in May, with a toddler. What should we not miss?',
  trip2: 'Thanks. We took the flat near Jardim da Estrela.',
  backup: 'Last night’s backup of the studio failed. Can you see why?',
  second: 'Is it safe to delete those?',
  go: 'Then keep one a month and remove the rest, please.',
  notes: 'Write release notes for 2.4 from the merged changes.',
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
  const player = await play(stage);
  for (const colorScheme of ['light', 'dark']) {
    await player.emulateMedia({ colorScheme });
    await player.setViewportSize({ width: 1280, height: 800 });
    await shoot(player, `chat-${colorScheme}`);
    const page = await stage.person({ colorScheme, viewport: { width: 1280, height: 800 } });
    for (const name of ['home', 'inbox', 'agents', 'audit']) {
      await visit(page, name === 'home' ? '/' : `/${name}`);
      if (name === 'audit') {
        await page.getByRole('button', { name: 'Verify' }).click();
        await page.getByText('Unbroken.').waitFor();
      }
      await shoot(page, `${name}-${colorScheme}`);
    }
    await page.context().close();
  }
  await player.emulateMedia({ colorScheme: 'light' });
  await player.setViewportSize({ width: 390, height: 844 });
  await shoot(player, 'chat-phone');
} finally {
  await stage.close();
  model.stop();
}
