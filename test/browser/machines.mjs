// Machines: this very computer is there within seconds with true figures; another
// is added by one line; what changes something is confirmed; a rule refuses.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

let stage;
const started = [];
const folders = [];
before(async () => {
  stage = await Stage.open();
});
after(async () => {
  for (const p of started) {
    const ended = new Promise((done) => p.on('exit', done));
    p.kill('SIGTERM');
    await ended;
  }
  await stage?.close();
  for (const f of folders) rmSync(f, { recursive: true, force: true });
});

const tile = (page, name) => page.getByRole('list', { name: 'Machines, worst first' }).getByRole('listitem').filter({ hasText: name });

// The one line of the page, run on "another" computer: its own state folder.
async function runLine(line) {
  const state = mkdtempSync(join(tmpdir(), 'parley-endpoint-'));
  folders.push(state);
  const [, ...args] = line.trim().split(/\s+/);
  const child = spawn(process.env.PARLEY_BIN || '../../bin/parley', [...args, '--state', state], { stdio: 'ignore' });
  started.push(child);
  return child;
}

test('this computer is in the fleet, with its own disk', async () => {
  const page = await stage.person();
  await visit(page, '/machines');
  await page.getByRole('list', { name: 'Machines, worst first' }).getByText('online').first().waitFor();
  await page.locator('.tile a').first().click();
  await page.getByRole('list', { name: 'Sections' }).getByRole('button', { name: /^disk/ }).click();
  await page.getByRole('dialog').getByText(/percent_used|volumes/).first().waitFor();
  const { snapshot } = await stage.hub.call('GET', `/api/machines/${encodeURIComponent(new URL(page.url()).pathname.split('/').at(-1))}/snapshot`);
  assert.ok(Object.keys(snapshot).length >= 8, `sections: ${Object.keys(snapshot)}`);
  assert.ok(JSON.stringify(await stage.hub.call('GET', '/api/fleet')).includes(hostname()), 'the host is known by its name');
});

test('a machine is added by one line and turns green by itself', async () => {
  const page = await stage.person();
  await visit(page, '/machines/-/add');
  await page.getByLabel('Name of the machine').fill('second-box');
  await page.getByRole('button', { name: 'Make the line' }).click();
  const line = await page.locator('code, input, pre').filter({ hasText: 'parley endpoint run' }).first().innerText();
  await runLine(line);
  await page.getByText('second-box is here.').waitFor();
  await visit(page, '/machines');
  await tile(page, 'second-box').getByText('online').waitFor();
});

async function tool(page, machine, name, fill) {
  await visit(page, `/machines/${machine}`);
  await page.getByRole('button', { name: 'Run a tool' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Tool', { exact: true }).selectOption(name);
  await fill(dialog);
  return dialog;
}

test('reading runs at once, changing is confirmed with exactly what will run', async () => {
  const page = await stage.person();
  let dialog = await tool(page, 'second-box', 'fs_disk_usage', async () => {});
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.getByLabel('Result').getByText(/percent_used/).waitFor();
  dialog = await tool(page, 'second-box', 'shell_exec', (d) => d.getByLabel('script').fill('echo from-the-page'));
  await dialog.getByRole('button', { name: 'Run…' }).click();
  await dialog.getByRole('alert').getByText('echo from-the-page').waitFor();
  await dialog.getByRole('button', { name: 'Yes, run it' }).click();
  await dialog.getByLabel('Result').getByText('from-the-page').waitFor();
});

test('a new rule refuses at once and stops when it is removed', async () => {
  const page = await stage.person();
  await visit(page, '/machines/-/policy');
  await page.getByLabel('Name').fill('no-fnord');
  await page.getByLabel('Pattern (regular expression, RE2)').fill('fnord');
  await page.getByLabel('Why').fill('nobody needs fnord');
  await page.getByLabel('Try with').fill('echo fnord');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText(/Refused by/).waitFor();
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByRole('region', { name: 'Your rules' }).getByText('no-fnord').waitFor();
  let dialog = await tool(page, 'second-box', 'shell_exec', (d) => d.getByLabel('script').fill('echo fnord'));
  await dialog.getByRole('button', { name: 'Run…' }).click();
  await dialog.getByRole('button', { name: 'Yes, run it' }).click();
  await dialog.getByRole('alert').getByText(/blocked/).waitFor();
  await visit(page, '/machines/-/policy');
  await page.getByRole('row').filter({ hasText: 'no-fnord' }).getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No rule of your own').waitFor();
  dialog = await tool(page, 'second-box', 'shell_exec', (d) => d.getByLabel('script').fill('echo fnord'));
  await dialog.getByRole('button', { name: 'Run…' }).click();
  await dialog.getByRole('button', { name: 'Yes, run it' }).click();
  await dialog.getByLabel('Result').getByText('fnord').waitFor();
});

test('everything is in the call log, with who and how', async () => {
  const page = await stage.person();
  await visit(page, '/machines/-/calls');
  const log = page.getByRole('region', { name: 'Call log' });
  await log.getByText('blocked').first().waitFor();
  await log.getByRole('row').filter({ hasText: 'fs_disk_usage' }).getByText(/by page/).first().waitFor();
  await log.getByRole('row').filter({ hasText: 'echo from-the-page' }).first().waitFor();
});

test('a machine that goes away is seen to be away', async () => {
  const page = await stage.person();
  await visit(page, '/machines');
  const gone = started.pop();
  const ended = new Promise((done) => gone.on('exit', done));
  gone.kill('SIGTERM');
  await ended;
  await tile(page, 'second-box').getByText(/off|reconnecting/).waitFor();
});
