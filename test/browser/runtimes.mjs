// The JavaScript SDK as every hub hands it out, in each of the programs that run JavaScript
// outside a browser: it comes in, sees what an app shows, speaks once it may, and leaves.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { startHub } from './lib/hub.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'parley-runtimes-'));
let hub;
before(async () => {
  hub = await startHub();
  writeFileSync(join(scratch, 'package.json'), '{"private":true,"type":"module"}');
  execFileSync('npm', ['i', '--no-audit', '--no-fund', `${hub.url}/sdk/js/latest.tgz`], { cwd: scratch, stdio: 'pipe' });
  writeFileSync(join(scratch, 'agent.mjs'), AGENT);
});
after(async () => {
  await hub?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const AGENT = `
  import { connectRoom, createAgent } from 'parley-rooms';
  const link = globalThis.Deno ? Deno.args[0] : process.argv[2];
  const app = connectRoom(link, { name: 'App' });
  const room = connectRoom(link, { name: 'Agent', meta: { role: 'agent' } });
  const agent = createAgent(room, { backend: 'My model' });
  const told = (line) => console.log(JSON.stringify(line));
  app.onMessage((data) => {
    if (data?.__kib_agent !== 'chat') return;
    told({ said: data.text });
    agent.leave();
    app.leave();
  });
  agent.onGrant((grant) => grant.act.includes('send-chat') && agent.say('now I may'));
  agent.onView((view) => {
    agent.onDenied(({ code }) => told({ id: room.self.id, when: view.when instanceof Date, hand: [...view.hand], bytes: view.bytes.length, canAct: agent.canAct, code }));
    agent.say('too early');
  });
  room.on('live', () => app.publish({ when: new Date(0), hand: new Set(['7S']), bytes: new Uint8Array(3) }));
`;

/** A program that npm brought: where its own package put it, or in the one for this computer. */
function packaged(name, scope, ...inside) {
  const folder = resolve('node_modules', scope);
  const places = [resolve('node_modules', name, ...inside.slice(0, -1), `${name}.exe`), resolve('node_modules', name, ...inside)];
  if (existsSync(folder)) places.push(...readdirSync(folder).map((p) => join(folder, p, ...inside)));
  const runs = (file) => existsSync(file) && spawnSync(file, ['--version'], { stdio: 'ignore' }).status === 0;
  return places.find(runs) ?? assert.fail(`no ${name} runs on this computer: npm ci in test/browser brings one`);
}

const runtimes = {
  Node: () => [process.execPath, process.versions.node.startsWith('20.') ? ['--experimental-websocket'] : []],
  Bun: () => [packaged('bun', '@oven', 'bin', 'bun'), ['run']],
  // Its own package names others that not every registry has, and npm ci refuses a lock without them.
  Deno: () => [packaged('deno', '@deno', 'deno'), ['run', '--quiet', '--allow-all', '--node-modules-dir=manual']],
};

async function works(name) {
  const room = name.toLowerCase();
  await hub.call('POST', '/api/rooms', { room, title: name, policy: { humans: { mode: 'open' }, agents: { mode: 'open' }, views: { publishers: ['humans'] } } });
  const [program, flags] = runtimes[name]();
  const child = spawn(program, [...flags, 'agent.mjs', new URL(`/r/${room}`, hub.url).href], { cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, DENO_DIR: join(scratch, 'deno'), DENO_NO_UPDATE_CHECK: '1' } });
  const ended = new Promise((done) => child.on('exit', done));
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value);
    const { id, ...seen } = await next();
    assert.deepEqual(seen, { when: true, hand: ['7S'], bytes: 3, canAct: false, code: 'act.denied' });
    await hub.call('PUT', `/api/rooms/${room}/grants/${id}`, { perceive: ['read-chat', 'read-roster', 'receive-directed'], act: ['send-chat'] });
    assert.deepEqual(await next(), { said: 'now I may' });
    assert.equal(await ended, 0, 'a program that left does not end');
  } finally {
    child.kill();
  }
}

test('the SDK of the hub works in Node', () => works('Node'));
test('the SDK of the hub works in Bun', () => works('Bun'));
test('the SDK of the hub works in Deno', () => works('Deno'));
