// Rooms: two browsers and two Go agents share one; what an agent may do is what
// the host allows it now, and a withheld lane carries only the placeholder.

import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

const program = process.env.PARLEY_BIN || resolve('../../bin/parley');
const scratch = mkdtempSync(join(tmpdir(), 'parley-rooms-'));
let stage;
const agents = [];
before(async () => {
  stage = await Stage.open();
});
after(async () => {
  for (const a of agents) a.process.kill();
  await stage?.close();
});

const env = () => ({ ...process.env, PARLEY_HUB: stage.hub.url, PARLEY_TOKEN: stage.hub.token });
const parley = (...args) => execFileSync(program, args, { env: env(), encoding: 'utf8' });

// A Go agent in a process of its own: its key, what it hears, what it says.
class Agent {
  heard = [];
  #waiting = [];
  constructor(room, name, ...more) {
    this.key = join(scratch, `${name}.key`);
    const made = JSON.parse(parley('room', 'keygen', '--out', this.key, '--json'));
    this.thumbprint = made.thumbprint;
    const open = join(scratch, `${name}.pub`);
    writeFileSync(open, JSON.stringify(made.public));
    parley('room', 'policy', room, '--allow', open, '--label', name);
    this.process = spawn(program, ['room', 'join', room, '--name', name, '--key', this.key, '--json', ...more], { env: env(), stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.process.stdout).on('line', (line) => {
      const frame = JSON.parse(line);
      this.heard.push(frame);
      this.#waiting = this.#waiting.filter((w) => !w(frame));
    });
    agents.push(this);
  }
  say(text) {
    this.process.stdin.write(`${text}\n`);
  }
  /** The first frame, past or future, that fits. */
  hears(fits) {
    const past = this.heard.find(fits);
    if (past) return Promise.resolve(past);
    return new Promise((done) => this.#waiting.push((f) => fits(f) && (done(f), true)));
  }
}

// A browser whose camera and screen show one colour.
const painted = (colour) => `
  const paint = () => {
    const canvas = document.createElement('canvas');
    canvas.width = 320; canvas.height = 180;
    const c = canvas.getContext('2d');
    setInterval(() => { c.fillStyle = '${colour}'; c.fillRect(0, 0, 320, 180); }, 50);
    return canvas.captureStream(15);
  };
  navigator.mediaDevices.getDisplayMedia = async () => paint();
  navigator.mediaDevices.getUserMedia = async () => paint();
`;

async function enter(path, options = {}) {
  const page = options.guest ? await stage.visitor() : await stage.person();
  if (options.colour) await page.context().addInitScript(painted(options.colour));
  await page.goto(new URL(path, stage.hub.url).href);
  await page.getByLabel('Your name here').fill(options.name ?? 'Somebody');
  await page.getByRole('button', { name: 'Enter' }).click();
  await page.getByRole('log', { name: 'Chat' }).waitFor();
  return page;
}

const say = async (page, text) => {
  await page.getByLabel('Say something').fill(text);
  await page.getByLabel('Say something').press('Enter');
};
const line = (page, text) => page.getByRole('log', { name: 'Chat' }).getByText(text);
const member = (page, name) => page.getByRole('list', { name: 'People and agents' }).getByRole('button').filter({ hasText: name });
const right = (page, name) => page.getByRole('dialog').getByRole('switch', { name });

async function open(name, more = {}) {
  await stage.hub.call('POST', '/api/rooms', { room: name, policy: { humans: { mode: 'open' }, agents: { mode: 'gated' }, ...more } });
}

test('two browsers and two Go agents: one agent only watches until the host lets it speak', async () => {
  await open('table');
  const host = await enter('/r/table', { name: 'Hanna' });
  const guest = await enter('/r/table', { name: 'Gus', guest: true });
  const notes = new Agent('table', 'notes', '--backend', 'Claude');
  const other = new Agent('table', 'other');
  await member(host, 'notes').getByText('What this agent sees leaves the room, to Claude.').waitFor();
  await member(guest, 'notes').getByText('read-only').waitFor();
  await member(host, 'other').waitFor();

  await say(guest, 'hello agents');
  await notes.hears((f) => f.t === 'from' && f.c.text === 'hello agents');
  await line(host, 'hello agents').waitFor();

  notes.say('may I?');
  await notes.hears((f) => f.t === 'nak' && f.code === 'act.denied');
  await host.getByRole('button', { name: 'Audit' }).click();
  await host.getByRole('list', { name: 'Audit of this room' }).getByText(/blocked/).first().waitFor();
  await host.getByRole('button', { name: 'People' }).click();

  await member(host, 'notes').click();
  await right(host, /say something/).click();
  await right(host, /^can say something/).waitFor();
  await notes.hears((f) => f.t === 'caps' && Object.values(f.grants).some((g) => g.backend === 'Claude' && g.act.includes('send-chat')));
  notes.say('thank you');
  await line(guest, 'thank you').waitFor();
  await line(host, 'thank you').waitFor();
  await other.hears((f) => f.t === 'from' && JSON.stringify(f.c).includes('thank you'));

  await right(host, /^can say something/).click();
  await right(host, /^cannot say something/).waitFor();
  notes.say('again?');
  await notes.hears((f) => f.t === 'nak' && f !== notes.heard.find((h) => h.t === 'nak'));
  await host.getByRole('dialog').getByLabel('Close').click();
  await host.getByRole('button', { name: 'Audit' }).click();
  await host.getByRole('list', { name: 'Audit of this room' }).getByText(/granted/).first().waitFor();
  assert.equal(await line(guest, 'again?').count(), 0);
});

test('a guest cannot change rights, and a name with markup stays text', async () => {
  await open('plain');
  const host = await enter('/r/plain', { name: 'Hanna' });
  const guest = await enter('/r/plain', { name: '<img src=x onerror=alert(1)>', guest: true });
  await member(host, '<img src=x').waitFor();
  await member(guest, 'Hanna').click();
  assert.equal(await right(guest, /say something/).isDisabled(), true);
  assert.equal(await host.locator('img[src=x]').count(), 0);
});

// The colour in the middle of what a page shows of somebody's screen.
const colourOf = (page) =>
  page.evaluate(() => {
    const video = document.querySelector('video[data-lane=screen]');
    if (!video?.videoWidth) return 'nothing';
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    const c = canvas.getContext('2d');
    c.drawImage(video, video.videoWidth / 2, video.videoHeight / 2, 1, 1, 0, 0, 1, 1);
    const [r, g, b] = c.getImageData(0, 0, 1, 1).data;
    return r > 150 && g < 100 && b < 100 ? 'red' : r + g + b < 60 ? 'black' : `${r},${g},${b}`;
  });
const shows = async (page, colour) => {
  for (;;) {
    if ((await colourOf(page)) === colour) return;
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
};

test('a shared screen is black for whoever may not see it, and real once the host allows it', async () => {
  await open('screens');
  const host = await enter('/r/screens', { name: 'Hanna', colour: '#f00000' });
  const guest = await enter('/r/screens', { name: 'Gus', guest: true });
  await member(host, 'Gus').click();
  await right(host, /see cameras and screens/).click();
  await right(host, /^cannot see cameras and screens/).waitFor();
  await host.getByRole('dialog').getByLabel('Close').click();
  await host.getByRole('button', { name: 'Share screen' }).click();
  await host.getByText('Gus gets only black and silence.').waitFor();
  await shows(guest, 'black');
  await member(host, 'Gus').click();
  await right(host, /^cannot see cameras and screens/).click();
  await shows(guest, 'red');
  await right(host, /^can see cameras and screens/).click();
  await shows(guest, 'black');
});

test('a request to the app is shown to the host, who honours it; the SDK is the one the hub serves', async () => {
  await open('acts');
  const host = await enter('/r/acts', { name: 'Hanna' });
  const page = await stage.visitor();
  await page.goto(new URL('/r/acts', stage.hub.url).href);
  await page.evaluate(async (link) => {
    const sdk = await import('/sdk/roomagent.js');
    const room = sdk.connectRoom(link, { name: 'Scripted' });
    await new Promise((done) => room.on('live', done));
    const agent = sdk.createAgent(room, { backend: 'Claude' });
    globalThis.decided = new Promise((done) => agent.onData(done));
    agent.act({ play: '7♠' });
  }, new URL('/r/acts', stage.hub.url).href);
  const asks = host.getByRole('list', { name: 'Requests to the app' });
  await asks.getByText('7♠').waitFor();
  await asks.getByRole('button', { name: 'Approve' }).click();
  assert.deepEqual(await page.evaluate(() => globalThis.decided), { decided: { action: { play: '7♠' }, honoured: true } });
});

test('a reload resumes as the same participant', async () => {
  await open('again');
  const host = await enter('/r/again', { name: 'Hanna' });
  const guest = await enter('/r/again', { name: 'Gus', guest: true });
  await say(host, 'before');
  await line(guest, 'before').waitFor();
  await guest.reload();
  await guest.getByRole('log', { name: 'Chat' }).waitFor();
  await say(host, 'after');
  await line(guest, 'after').waitFor();
  assert.equal(await member(host, 'Gus').count(), 1);
});

test('a sealed room: those with the link read it, the hub does not', async () => {
  const host = await stage.person();
  await visit(host, '/rooms');
  await host.getByRole('button', { name: 'Open a room' }).click();
  await host.getByLabel('Name in the link').fill('sealed');
  await host.getByLabel('People').selectOption('open');
  await host.getByLabel(/Sealed/).check();
  await host.getByRole('dialog').getByRole('button', { name: 'Open' }).click();
  await host.getByLabel('Your name here').waitFor();
  const link = host.url();
  assert.match(link, /#k=/);
  await host.getByRole('button', { name: 'Enter' }).click();
  await host.getByText('sealed: the hub cannot read what is said here').waitFor();
  const frames = [];
  const guest = await stage.visitor();
  guest.on('websocket', (ws) => ws.on('framereceived', (f) => frames.push(String(f.payload))));
  await guest.goto(link);
  await guest.getByRole('button', { name: 'Enter' }).click();
  await guest.getByRole('log', { name: 'Chat' }).waitFor();
  await say(host, 'only for us');
  await line(guest, 'only for us').waitFor();
  assert.ok(frames.every((f) => !f.includes('only for us')), 'the words crossed the hub in the clear');
});
