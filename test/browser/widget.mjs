// Rooms inside other people's apps: a page of another website, with one script line.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { Stage } from './lib/stage.mjs';

let stage, website, site;
const scratch = mkdtempSync(join(tmpdir(), 'parley-widget-'));
const agents = [];
const pages = new Map();

before(async () => {
  stage = await Stage.open();
  // localhost beside 127.0.0.1: another origin, as a browser sees it.
  website = createServer((q, s) => {
    const text = pages.get(new URL(q.url, 'http://x').pathname);
    s.writeHead(text ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': `default-src 'none'; script-src ${stage.hub.url} 'unsafe-inline'; connect-src ${stage.hub.url} ${stage.hub.url.replace('http', 'ws')}; style-src 'self'; img-src data:` });
    s.end(text);
  });
  await new Promise((done) => website.listen(0, '127.0.0.1', done));
  site = `http://localhost:${website.address().port}`;
  stage.own.push(site);
});
after(async () => {
  for (const a of agents) a.kill();
  website?.close();
  await stage?.close();
  rmSync(scratch, { recursive: true, force: true });
});

const page = (path, attributes, more = '') =>
  pages.set(path, `<!doctype html><html lang="en"><title>An app</title><body><h1>An app of somebody else</h1><link rel="icon" href="data:,"><script src="${stage.hub.url}/widget.js" ${attributes}></script>${more}</body></html>`);
const open = (room, policy) => stage.hub.call('POST', '/api/rooms', { room, title: `Table ${room}`, policy });

test('a website that is not listed is told so in words, and enters once it is listed', async () => {
  await open('listing', { humans: { mode: 'open' } });
  page('/listing', 'data-room="listing" data-name="Gus"');
  const guest = await stage.visitor();
  await guest.goto(`${site}/listing`);
  await guest.getByText(`This website (${site}) is not listed`).waitFor();
  const admin = await stage.person();
  await admin.goto(new URL('/settings/websites', stage.hub.url).href);
  await admin.getByLabel('Address of a website').fill(site);
  await admin.getByRole('button', { name: 'List it' }).click();
  await admin.getByRole('cell', { name: site }).waitFor();
  if (process.env.PARLEY_SHOTS) await admin.screenshot({ path: join(process.env.PARLEY_SHOTS, 'websites.png') });
  await guest.reload();
  await guest.getByRole('log', { name: 'Chat' }).waitFor();
});

test('two people and an agent share a room inside the page; rights are widened and revoked live, and names stay text', async () => {
  await open('together', { humans: { mode: 'open' }, agents: { mode: 'open' } });
  page('/together', 'data-room="together"');
  const [ann, bob] = [await stage.visitor(), await stage.visitor()];
  const enter = async (who, name) => {
    await who.goto(`${site}/together`);
    await who.getByLabel('Your name here').fill(name);
    await who.getByRole('button', { name: 'Enter' }).click();
    await who.getByRole('log', { name: 'Chat' }).waitFor();
  };
  await enter(ann, 'Ann');
  await enter(bob, '<img src=x onerror=alert(1)>');
  await bob.getByRole('textbox', { name: 'Say something' }).fill('<b id=planted>hello</b>');
  await bob.getByRole('button', { name: 'Send' }).click();
  await ann.getByText('<b id=planted>hello</b>').waitFor();
  await ann.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  assert.equal(await ann.locator('#planted').count(), 0, 'what somebody said became an element');

  // An agent on the page's own global, as the original protocol has it.
  const bot = await stage.visitor();
  await bot.goto(`${site}/together`);
  await bot.evaluate(() => {
    const controller = Kibitz.mount({ room: 'together', name: 'Bot', headless: true, meta: { role: 'agent' } });
    globalThis.agent = Kibitz.createAgent(controller, { backend: 'Somebody' });
    return new Promise((done) => controller.on('live', done));
  });
  await ann.getByText('What this agent sees leaves the room, to Somebody.').waitFor({ state: 'attached' });
  assert.equal(await bot.evaluate(() => agent.canAct), false, 'an agent may speak before somebody let it');

  const host = await stage.person();
  await host.goto(new URL('/r/together', stage.hub.url).href);
  await host.getByLabel('Your name here').fill('Hanna');
  await host.getByRole('button', { name: 'Enter' }).click();
  await host.getByRole('button', { name: /Bot/ }).click();
  const speak = host.getByRole('switch', { name: /say something/ });
  await speak.check();
  await bot.waitForFunction(() => agent.canAct);
  await bot.evaluate(() => agent.say('a good lead'));
  await ann.getByText('a good lead').waitFor();
  if (process.env.PARLEY_SHOTS) {
    await ann.getByText('Bot', { exact: false }).first().click();
    await ann.screenshot({ path: join(process.env.PARLEY_SHOTS, 'widget.png') });
    await ann.emulateMedia({ colorScheme: 'dark' });
    await ann.screenshot({ path: join(process.env.PARLEY_SHOTS, 'widget-dark.png') });
  }
  await speak.uncheck();
  await bot.waitForFunction(() => !agent.canAct);
});

test('a person of the hub lets the page in on the hub’s own page, as a member and no host', async () => {
  await open('members', {});
  page('/members', 'data-room="members"');
  const ann = await stage.person();
  await ann.goto(`${site}/members`);
  await ann.getByRole('button', { name: 'Enter' }).click();
  await ann.getByText('This room wants to know who you are.').waitFor();
  await ann.getByRole('button', { name: /Sign in at/ }).click();
  await ann.getByText(site).waitFor();
  if (process.env.PARLEY_SHOTS) await ann.screenshot({ path: join(process.env.PARLEY_SHOTS, 'pass.png') });
  await ann.getByRole('button', { name: 'Let it enter as me' }).click();
  await ann.getByRole('log', { name: 'Chat' }).waitFor();
  assert.equal(new URL(ann.url()).hash, '', 'the pass stays in the address');
  const { members } = await stage.hub.call('GET', '/api/rooms/members/roster');
  assert.deepEqual(members.map((m) => [m.proven, m.tier ?? '']), [[true, '']], 'the page should be a proven member and no host');
  await ann.getByRole('textbox', { name: 'Say something' }).fill('still here');
  await ann.getByRole('button', { name: 'Send' }).click();
  await ann.getByText('still here').waitFor();
  await ann.reload();
  await ann.getByText('still here').waitFor();
});

test('the SDK is installed from the hub with npm and used by an outsider', async () => {
  await open('packaged', { humans: { mode: 'open' }, agents: { mode: 'open' }, views: { publishers: ['humans'] } });
  writeFileSync(join(scratch, 'package.json'), '{"private":true,"type":"module"}');
  execFileSync('npm', ['i', '--no-audit', '--no-fund', `${stage.hub.url}/sdk/js/latest.tgz`], { cwd: scratch, stdio: 'pipe' });
  const tools = new URL('../../web/node_modules/', import.meta.url).pathname;
  writeFileSync(join(scratch, 'agent.ts'), `
    import { connectRoom, createAgent, type ChatLine } from 'parley-rooms';
    const link = process.argv[2]!;
    const app = connectRoom(link, { name: 'App' });
    const room = connectRoom(link, { name: 'Node', meta: { role: 'agent' } });
    const agent = createAgent(room, { readOnly: true });
    agent.onView((view) => console.log(JSON.stringify({ when: (view as any).when instanceof Date, hand: [...(view as any).hand], bytes: (view as any).bytes.length })));
    agent.onChat((line: ChatLine) => console.log(line.text));
    app.on('live', () => void app.publish({ when: new Date(0), hand: new Set(['7S']), bytes: new Uint8Array(3) }));
  `);
  execFileSync('node', [join(tools, 'typescript/bin/tsc'), '--typeRoots', join(tools, '@types'), '--types', 'node', '--target', 'es2022', '--module', 'nodenext', '--strict', '--lib', 'es2023,dom', 'agent.ts'], { cwd: scratch, stdio: 'pipe' });
  const agent = spawn('node', ['--experimental-websocket', 'agent.js', new URL('/r/packaged', stage.hub.url).href], { cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'] });
  agents.push(agent);
  const [line] = await new Promise((done) => createInterface(agent.stdout).once('line', (...l) => done(l)));
  assert.deepEqual(JSON.parse(line), { when: true, hand: ['7S'], bytes: 3 });
});
