// Machines: this very computer is there within seconds with true figures; another
// is added by one line; the one that is worst comes first; what changes something
// is confirmed; a rule refuses; the person at a machine has a say.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Machine, addProgram } from './lib/machine.mjs';
import { desktop } from './lib/picture.mjs';
import { Stage, visit } from './lib/stage.mjs';

const program = process.env.PARLEY_BIN || '../../bin/parley';

let stage;
const started = [];
const folders = [];
before(async () => {
  stage = await Stage.open();
});
after(async () => {
  for (const p of started) await end(p);
  await stage?.close();
  for (const f of folders) rmSync(f, { recursive: true, force: true });
});

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.on('exit', done));
  process.kill(-child.pid, 'SIGTERM');
  await ended;
}

const tiles = (page) => page.getByRole('list', { name: 'Machines, worst first' }).getByRole('listitem');
const tile = (page, name) => tiles(page).filter({ hasText: name });

function folder() {
  const made = mkdtempSync(join(tmpdir(), 'parley-endpoint-'));
  folders.push(made);
  return made;
}

// The page's line, run on "another" computer: the hub's script fetches the program,
// checks it and enrols; only instead of becoming a service it runs in a folder.
async function runLine(line, state) {
  const [, address] = /^curl -fsSL '([^']+)' \| sudo sh$/.exec(line.trim());
  const answer = await fetch(address);
  assert.equal(answer.status, 200);
  const script = (await answer.text()).replace('endpoint install', `endpoint run --state '${state}'`);
  assert.equal((await fetch(address)).status, 404, 'a line works once');
  const child = spawn('sh', ['-s'], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.stdin.end(script);
  started.push(child);
}

async function tool(page, machine, name, fill) {
  await visit(page, `/machines/${machine}`);
  await page.getByRole('button', { name: 'Run a tool' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Tool', { exact: true }).selectOption(name);
  await fill(dialog);
  return dialog;
}

// A script on a machine, after the page has shown exactly what would run.
async function script(page, machine, text) {
  const dialog = await tool(page, machine, 'shell_exec', (d) => d.getByLabel('script').fill(text));
  await dialog.getByRole('button', { name: 'Run…' }).click();
  await dialog.getByRole('alert').getByText(text).waitFor();
  await dialog.getByRole('button', { name: 'Yes, run it' }).click();
  return dialog;
}

test('this computer is in the fleet, with its own disk', async () => {
  const page = await stage.person();
  await visit(page, '/machines');
  await page.getByRole('list', { name: 'Machines, worst first' }).getByText('online').first().waitFor();
  await page.locator('.tile a').first().click();
  await page.getByRole('list', { name: 'Sections' }).getByRole('button', { name: /^Disk/ }).click();
  await page.getByRole('dialog').getByText(/Volumes/).first().waitFor();
  const { snapshot } = await stage.hub.call('GET', `/api/machines/${encodeURIComponent(new URL(page.url()).pathname.split('/').at(-1))}/snapshot`);
  assert.ok(Object.keys(snapshot).length >= 8, `sections: ${Object.keys(snapshot)}`);
  assert.ok(JSON.stringify(await stage.hub.call('GET', '/api/fleet')).includes(hostname()), 'the host is known by its name');
});

test('the past of a machine and the trend of the fleet are drawn from what the hub knows', async () => {
  const lab = await Machine.join(stage.hub, '00-lab');
  for (const [c, d] of [[50, 20], [61.5, 97]]) {
    lab.push({ disk: { status: 'ok', summary: '', volumes: [{ mount: 'C:', percent_used: c }, { mount: 'D:', percent_used: d }], top_dirs: [] } });
  }
  let points = [];
  while (points.length < 4) points = (await stage.hub.call('GET', '/api/machines/00-lab/history?metric=disk_percent')).points ?? [];
  assert.deepEqual(points.map((p) => `${p.label} ${p.value}`).sort(), ['C: 50', 'C: 61.5', 'D: 20', 'D: 97']);

  const page = await stage.person();
  await visit(page, '/machines/00-lab');
  await page.getByText('Disk: C: 61.5%, D: 97%', { exact: true }).waitFor();
  const plot = page.getByRole('img', { name: 'Disk over 7 days' });
  await plot.scrollIntoViewIfNeeded();
  assert.ok(await plot.locator('canvas').evaluate((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean)), 'nothing is drawn');
  // Everything was measured just now, at the right edge: the legend tells what lies there.
  const over = plot.locator('.u-over');
  const legend = plot.locator('.u-series').filter({ hasText: /^[CD]:/ });
  let told = [];
  for (let y = 20; !told.length || told.some(([, value]) => Number.isNaN(value)); y = 60 - y) { // news of the machine draw the plot again
    await over.hover({ position: { x: (await over.evaluate((o) => o.clientWidth)) - 2, y } });
    told = await legend.evaluateAll((rows) => rows.map((r) => [r.querySelector('.u-label').textContent, Number(r.querySelector('.u-value').textContent)]));
  }
  assert.deepEqual(told.map(([label]) => label), ['C:', 'D:']);
  for (const [label, value] of told) assert.ok(points.some((p) => p.label === label && p.value === value), `${label} ${value}`);
  await page.getByRole('button', { name: 'a day' }).click();
  await page.getByRole('img', { name: 'Disk over 1 day', exact: true }).waitFor();

  const answer = page.waitForResponse((r) => r.url().includes('/api/fleet/trend'));
  await visit(page, '/machines');
  const { days } = await (await answer).json();
  assert.ok(days.at(-1).crit_members.includes('00-lab'));
  const chart = page.getByRole('img', { name: 'Health of the fleet in the last 30 days' });
  await chart.waitFor();
  const drawn = await chart.locator('g').evaluateAll((all) => all.map((g) => ({
    says: /: (.*?)( \(|$)/.exec(g.querySelector('title').textContent)[1],
    heights: ['crit', 'warn', 'ok'].map((kind) => Number(g.querySelector(`.${kind}`).getAttribute('height'))),
  })));
  const most = Math.max(...days.map((d) => d.crit + d.warn + d.ok));
  assert.deepEqual(drawn, days.map((d) => ({ says: `${d.crit} critical, ${d.warn} to look at, ${d.ok} well`, heights: [d.crit, d.warn, d.ok].map((n) => (n / most) * 64) })));
  await lab.leave();
  await stage.hub.call('DELETE', '/api/machines/00-lab');
});

test('an update goes out in waves that can be paused, and stops by itself when a wave fails', async () => {
  const page = await stage.person();
  await visit(page, '/machines/-/updates');
  await page.getByText('None yet').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Update all' }).count(), 0, 'there is nothing to update to');
  const sum = await addProgram(stage.hub, '9.9.9', 'windows-amd64');
  let asked, staged;
  const asking = new Promise((done) => (asked = done));
  const staging = new Promise((done) => (staged = done));
  const lab = await Machine.join(stage.hub, '01-lab', { agent_update: (args) => (asked(args), staging) });

  await page.reload();
  await page.getByRole('row').filter({ hasText: 'windows-amd64' }).filter({ hasText: '9.9.9' }).getByText(sum.slice(0, 16)).waitFor();
  await page.getByRole('button', { name: 'Update all' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start with one' }).click();
  const rollout = page.getByRole('region', { name: 'Roll-outs' }).getByRole('listitem').filter({ hasText: '9.9.9' });
  await rollout.getByText('running', { exact: true }).waitFor();
  await rollout.getByText(/wave 1 · .* · 0 updated · 0 failed/).waitFor();
  await rollout.getByRole('button', { name: 'Pause' }).click();
  await rollout.getByText('paused', { exact: true }).waitFor();
  await rollout.getByRole('button', { name: 'Go on' }).click();
  await rollout.getByText('running', { exact: true }).waitFor();

  // The first takes it and comes back new; the next wave has nobody who can, so it ends there.
  assert.equal((await asking).sha256, sum);
  staged({ staged: true });
  await staging;
  await lab.leave();
  await lab.back({ version: '9.9.9' });
  await rollout.getByText('stopped', { exact: true }).waitFor();
  await rollout.getByText(/wave 2 · .* · 1 updated · 1 failed/).waitFor();
  await rollout.getByText('too many machines of a wave failed').waitFor();
  assert.equal(await rollout.getByRole('button').count(), 0);

  const { token } = await stage.hub.call('POST', '/api/tokens', { name: 'a looker', role: 'operator', scopes: ['status:read', 'fleet:read'], ttl: '1h' });
  const looker = await stage.visitor();
  await looker.goto(stage.hub.url);
  await looker.getByRole('tab', { name: 'Token' }).click();
  await looker.locator('#token').fill(token);
  await looker.getByRole('button', { name: 'Sign in' }).click();
  await looker.locator('#page-title').waitFor();
  await visit(looker, '/machines/-/updates');
  await looker.getByText('too many machines of a wave failed').waitFor();
  assert.equal(await looker.getByRole('button', { name: 'Update all' }).count(), 0, 'who only looks is offered an update');
  await lab.leave();
  await stage.hub.call('DELETE', '/api/machines/01-lab');
});

test('from one line to a repaired machine, and everything is in the call log', async () => {
  const page = await stage.person();
  const state = folder();

  // One line, and it turns green by itself.
  await visit(page, '/machines/-/add');
  await page.getByLabel('Name of the machine').fill('second-box');
  await page.getByRole('button', { name: 'Make the line' }).click();
  await runLine(await page.locator('code, input, pre').filter({ hasText: 'curl -fsSL' }).first().innerText(), state);
  await page.getByText('second-box is here.').waitFor();
  await visit(page, '/machines');
  await tile(page, 'second-box').getByText('online').waitFor();

  // Another one falls ill while we look: its tile moves to the front.
  const attic = await Machine.join(stage.hub, 'attic-pc', { screen_capture: () => ({ image_b64: desktop(640, 400), format: 'png', width: 640, height: 400 }) });
  await tile(page, 'attic-pc').getByText('online').waitFor();
  const volume = { mount: 'C:', total_bytes: 511e9, free_bytes: 15e9, percent_used: 97 };
  attic.push({ disk: { status: 'ok', summary: 'the machine sees no harm', volumes: [volume], top_dirs: [] } });
  await tiles(page).first().getByText('attic-pc').waitFor();
  await tiles(page).first().getByText(/97/).waitFor();
  assert.match(await tiles(page).first().getAttribute('class'), /\bbad\b/);
  await page.getByRole('heading', { name: /critical|attic-pc/ }).first().waitFor();

  // What does its screen show?
  await tiles(page).first().getByRole('link').click();
  await page.getByRole('list', { name: 'Sections' }).getByRole('button', { name: /^Disk/ }).waitFor();
  await page.getByRole('button', { name: 'Take a picture' }).click();
  const picture = page.getByAltText(/^Screen of attic-pc/);
  await picture.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('img[alt^="Screen of"]')?.naturalWidth === 640);

  // Looking runs at once, changing is confirmed with exactly what will run.
  let dialog = await tool(page, 'second-box', 'fs_disk_usage', async () => {});
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.getByLabel('Result').getByText(/percent_used/).waitFor();
  dialog = await script(page, 'second-box', 'echo from-the-page');
  await dialog.getByLabel('Result').getByText('from-the-page').waitFor();

  // A new rule refuses at once, and stops when it is removed.
  await visit(page, '/machines/-/policy');
  await page.getByLabel('Name').fill('no-fnord');
  await page.getByLabel('Pattern (regular expression, RE2)').fill('fnord');
  await page.getByLabel('Why').fill('nobody needs fnord');
  await page.getByLabel('Try with').fill('echo fnord');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText(/Refused by/).waitFor();
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByRole('region', { name: 'Your rules' }).getByText('no-fnord').waitFor();
  dialog = await script(page, 'second-box', 'echo fnord');
  await dialog.getByRole('alert').getByText(/blocked/).waitFor();
  await visit(page, '/machines/-/policy');
  await page.getByRole('row').filter({ hasText: 'no-fnord' }).getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No rule of your own').waitFor();
  dialog = await script(page, 'second-box', 'echo fnord');
  await dialog.getByLabel('Result').getByText('fnord').waitFor();

  // All of it is in the call log, with who and how.
  await visit(page, '/machines/-/calls');
  const log = page.getByRole('region', { name: 'Call log' });
  const row = (...texts) => texts.reduce((rows, text) => rows.filter({ hasText: text }), log.getByRole('row'));
  await row('echo fnord', 'blocked').first().waitFor();
  await row('echo from-the-page', 'second-box').first().waitFor();
  await row('screen_capture', 'attic-pc').first().waitFor();
  await row('fs_disk_usage', /by page/).first().waitFor();
  assert.deepEqual(attic.calls.map((c) => c.tool), ['screen_capture']);

  // A picture can be deleted; that it was taken stays on record.
  await visit(page, '/machines/attic-pc');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete it' }).click();
  await page.getByText('No picture').waitFor();
  await attic.leave();
  await page.getByRole('status').filter({ hasText: 'off' }).first().waitFor();

  await theSwitch(page, state);
  await visit(page, '/machines');
  await end(started[0]);
  await tile(page, 'second-box').getByText(/off|reconnecting/).waitFor();
});

// The person at the machine has the last word, and the page shows it at once.
async function theSwitch(page, state) {
  const endpoint = (...args) => promisify(execFile)(program, ['endpoint', ...args, '--state', state]);
  await visit(page, '/machines/second-box');
  await endpoint('off');
  await page.getByText('remote control is switched off there').waitFor();
  await endpoint('ask');
  await page.getByText('changes are asked at the machine too').waitFor();
  const dialog = await script(page, 'second-box', 'echo consented');
  let waiting = [];
  for (let i = 0; i < 300 && !waiting.length; i++) waiting = JSON.parse((await endpoint('approvals', '--json')).stdout) ?? [];
  assert.equal(waiting[0].arguments.script, 'echo consented');
  await endpoint('approve', String(waiting[0].n));
  await dialog.getByLabel('Result').getByText('consented').waitFor();
  await endpoint('on');
}
