// docs/embed.md, followed to the letter: every file and every command of the document is
// taken from it and used as it stands, so a step that is missing there is missing here.
//
// What the test stands in for: the hub of `parley up` and the web server have ports of
// their own, and public registries are what set-up fetched for this repository.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { Stage } from './lib/stage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'parley-embed-'));
const running = [];
let stage, website, site, blocks, env;

before(async () => {
  stage = await Stage.open();
  website = createServer((q, s) => {
    const found = new URL(q.url, 'http://x').pathname === '/';
    s.writeHead(found ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' });
    s.end(found ? readFileSync(join(folder, 'index.html')) : '');
  });
  await new Promise((done) => website.listen(0, '127.0.0.1', done));
  site = `http://localhost:${website.address().port}`;
  stage.own.push(site);
  blocks = readBlocks(here(readFileSync('../../docs/embed.md', 'utf8')));
  env = outsider();
});
after(async () => {
  for (const p of running) end(p);
  website?.close();
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The document with the addresses of this test. */
function here(text) {
  const modules = execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim();
  return text.replaceAll('http://127.0.0.1:7788', stage.hub.url).replaceAll('http://localhost:5173', site).replaceAll('https://proxy.golang.org', `file://${modules}/cache/download`);
}

/** Fenced blocks: files are named by a comment in their first two lines, commands are scripts. */
function readBlocks(text) {
  const found = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, body]) => ({ language, body }));
  const files = new Map(found.map(({ body }) => [/(?:<!--|\/\/|#) (\S+\.\w+)/.exec(body.split('\n', 2).join('\n'))?.[1], body]));
  return {
    file: (name) => files.get(name) ?? assert.fail(`the document has no file ${name}`),
    script: (word) => found.find((b) => b.language === 'sh' && b.body.includes(word))?.body ?? assert.fail(`the document has no commands with ${word}`),
    json: () => JSON.parse(found.find((b) => b.language === 'json').body),
  };
}

/** The environment of somebody who has the program and the tools of each language. */
function outsider() {
  return {
    ...process.env, PATH: `${resolve('../../bin')}:${process.env.PATH}`, PARLEY_DATA: stage.hub.data, PARLEY_HUB: '', PARLEY_TOKEN: '',
    GOFLAGS: '-trimpath -modcacherw', GOMODCACHE: join(folder, 'gomod'), GOSUMDB: 'off', GOWORK: 'off', CGO_ENABLED: '0',
    PIP_INDEX_URL: `${stage.hub.url}/sdk/python/simple/`, PIP_FIND_LINKS: resolve('../../.tools/wheels'), PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_NO_CACHE_DIR: '1',
    ...(process.versions.node.startsWith('20.') ? { NODE_OPTIONS: '--experimental-websocket' } : {}),
  };
}

function end(child) {
  try {
    process.kill(-child.pid); // a script and what it started
  } catch {
    // gone already
  }
}

/** Runs a block of commands whose last one goes on. */
class Program {
  #lines = [];
  #waiting = new Set();
  constructor(script) {
    const child = spawn('sh', ['-ec', script], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    running.push(child);
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (l) => this.#heard(l));
    child.on('exit', (code) => this.#heard(`it ended with ${code}`, true));
  }
  #heard(line, over = false) {
    this.#lines.push(line);
    for (const look of [...this.#waiting]) look(over);
  }
  /** Waits until it has printed a line. */
  printed(line) {
    return new Promise((done, fail) => {
      const look = (over) => {
        if (this.#lines.includes(line)) done(this.#waiting.delete(look));
        else if (over) fail(new Error(`it never said "${line}":\n${this.#lines.join('\n')}`));
      };
      this.#waiting.add(look);
      look(false);
    });
  }
}

/** A desktop program that starts the tool server of the document. */
class Desktop {
  #next = 1;
  #waiting = new Map();
  constructor({ command, args }) {
    this.child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
    running.push(this.child);
    createInterface(this.child.stdout).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      this.#waiting.get(id)?.(result ?? error);
    });
  }
  ask(method, params) {
    const id = this.#next++;
    return new Promise((done) => {
      this.#waiting.set(id, done);
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }
  async start() {
    await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'desktop', version: '1' } });
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return this;
  }
  async tool(name, args = {}) {
    const { structuredContent, isError, content } = await this.ask('tools/call', { name, arguments: args });
    return isError ? { refused: content.map((c) => c.text).join() } : structuredContent;
  }
}

test('the document alone brings two people, and agents in Go, Node, Python and over MCP, into one room of a page elsewhere', async () => {
  // 1. A room, and the website on the list.
  execFileSync('sh', ['-ec', blocks.script('parley room open')], { cwd: folder, env });
  for (const name of ['index.html', 'kibitzer.mjs', 'main.go', 'kibitzer.py']) writeFileSync(join(folder, name), blocks.file(name));
  const host = await stage.person();
  await host.goto(new URL('/settings/websites', stage.hub.url).href);
  await host.getByLabel('Address of a website').fill(site);
  await host.getByRole('button', { name: 'List it' }).click();
  await host.getByRole('cell', { name: site }).waitFor();

  // 2. The page, twice.
  const people = [];
  for (const name of ['Ann', 'Bob']) {
    const page = await stage.visitor();
    await page.goto(site);
    await page.getByLabel('Your name here').fill(name);
    await page.getByRole('button', { name: 'Enter' }).click();
    await page.getByRole('log', { name: 'Chat' }).waitFor();
    people.push(page);
  }
  const [ann, bob] = people;
  await ann.getByRole('textbox', { name: 'Say something' }).fill('Hello Bob');
  await ann.getByRole('button', { name: 'Send' }).click();
  await bob.getByText('Hello Bob').waitFor();

  // 3. The kibitzers.
  const programs = { Node: new Program(blocks.script('node kibitzer.mjs')), Go: new Program(blocks.script('go run .')), Python: new Program(blocks.script('kibitzer.py')) };
  const desktop = await new Desktop(blocks.json().mcpServers.room).start();
  await desktop.tool('join', { room: 'table', name: 'Desktop', readOnly: false });
  for (const p of Object.values(programs)) await p.printed('in the room');
  for (const name of ['Node kibitzer', 'Go kibitzer', 'Python kibitzer', 'Desktop']) {
    for (const page of people) await page.locator('summary', { hasText: name }).getByText('read-only').waitFor();
  }
  let turn = 0;
  const next = async () => {
    await ann.getByRole('button', { name: 'Next turn' }).click();
    turn++;
    await bob.locator('#turn', { hasText: String(turn) }).waitFor();
  };
  await next();
  for (const p of Object.values(programs)) await p.printed(`watching turn ${turn}`);
  const seen = await desktop.tool('observe', { waitMs: 30_000 });
  assert.deepEqual(seen.view, { turn }, 'the desktop program does not see what the app shows');
  assert.match(JSON.stringify(seen.schemas), /turns/, 'the desktop program does not get the schema');
  assert.match((await desktop.tool('say', { text: 'too early' })).refused ?? '', /grant lacks send-chat/, 'an agent speaks that nobody let speak');

  // 4. Rights are widened and taken back while the room goes on, for one after the other.
  await host.goto(new URL('/r/table', stage.hub.url).href);
  await host.getByLabel('Your name here').fill('Hanna');
  await host.getByRole('button', { name: 'Enter' }).click();
  const consent = async (name, on) => {
    await host.getByRole('button', { name: new RegExp(name) }).click();
    await host.getByRole('switch', { name: /say something/ }).setChecked(on);
    for (const page of people) await page.locator('summary', { hasText: name }).getByText('read-only').waitFor({ state: on ? 'detached' : 'attached' });
    await host.keyboard.press('Escape');
  };
  for (const [language, program] of Object.entries(programs)) {
    await consent(`${language} kibitzer`, true);
    await next();
    for (const page of people) await page.getByText(`${language} saw turn ${turn}`).waitFor();
    await consent(`${language} kibitzer`, false);
    await next();
    await program.printed(`watching turn ${turn}`);
  }
  await consent('Desktop', true);
  assert.ok((await desktop.tool('say', { text: 'a word of the desktop' })).sent, 'an agent that may speak was refused');
  for (const page of people) await page.getByText('a word of the desktop').waitFor();
  await consent('Desktop', false);
  assert.match((await desktop.tool('say', { text: 'too late' })).refused ?? '', /grant lacks send-chat/, 'an agent speaks whose right was taken back');
  for (const page of people) assert.equal(await page.getByText(/too (early|late)/).count(), 0, 'a refused line is shown');
});
