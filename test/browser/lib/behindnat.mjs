// What nat.mjs runs in a network of its own: a hub on the internet with its TURN server, a
// person on the hub's page in one home, and a guest in the widget of another website's page and
// a Go agent in the other.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

// Everybody trusts the hub's certificate. Node reads that when it starts.
const scratch = process.env.PARLEY_NAT_SCRATCH ?? mkdtempSync(join(tmpdir(), 'parley-nat-'));
const [cert, key] = [join(scratch, 'cert.pem'), join(scratch, 'key.pem')];
if (!process.env.PARLEY_NAT_SCRATCH) {
  const { build, INTERNET } = await import('./networks.mjs');
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=hub', '-addext', `subjectAltName=IP:${INTERNET}`, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  build();
  try {
    execFileSync(process.execPath, [import.meta.filename], { env: { ...process.env, PARLEY_NAT_SCRATCH: scratch, NODE_EXTRA_CA_CERTS: cert, SSL_CERT_FILE: cert }, stdio: 'inherit' });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  process.exit();
}

const { at, starter, INTERNET } = await import('./networks.mjs');
const { launch } = await import('./browser.mjs');
const { startHub } = await import('./hub.mjs');

const chromium = process.env.PARLEY_CHROMIUM ?? '/usr/bin/chromium';
const program = process.env.PARLEY_BIN || resolve('../../bin/parley');
const PATIENCE = 180_000;
const ends = [];

// A voice that is a tone, and a screen that is one colour and square: the placeholder is silent, black and wide.
const devices = `
  const paint = () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 320 });
    const c = canvas.getContext('2d');
    setInterval(() => { c.fillStyle = '#f00000'; c.fillRect(0, 0, 320, 320); }, 50);
    return canvas.captureStream(15);
  };
  const sing = () => {
    const audio = new AudioContext();
    const [tone, out] = [audio.createOscillator(), audio.createMediaStreamDestination()];
    tone.connect(out);
    tone.start();
    return out.stream;
  };
  navigator.mediaDevices.getDisplayMedia = async () => paint();
  navigator.mediaDevices.getUserMedia = async (want) => (want.audio ? sing() : paint());
  globalThis.links = [];
  const Real = RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Real { constructor(...args) { super(...args); globalThis.links.push(this); } };
  // What has come over all links, and by which kind of way.
  globalThis.arrived = async () => {
    const all = { audio: 0, red: 0, ways: [] };
    for (const link of globalThis.links) {
      const stats = [...(await link.getStats()).values()];
      for (const s of stats) {
        if (s.type === 'inbound-rtp' && s.kind === 'audio') all.audio += s.totalAudioEnergy ?? 0;
        if (s.type === 'inbound-rtp' && s.kind === 'video' && s.frameWidth && s.frameWidth === s.frameHeight) all.red += s.framesDecoded ?? 0;
        if (s.type === 'candidate-pair' && s.nominated && s.state === 'succeeded') all.ways.push(stats.find((c) => c.id === s.localCandidateId)?.candidateType);
      }
    }
    return all;
  };
`;

async function person(home) {
  const browser = await launch(starter(scratch, home, chromium));
  ends.push(() => browser.close());
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(PATIENCE);
  await context.addInitScript(devices);
  return context.newPage();
}

/** Asks until what a page got fits. */
async function gets(page, fits) {
  for (const until = Date.now() + PATIENCE; ; await new Promise((done) => setTimeout(done, 250))) {
    const got = await page.evaluate('arrived()');
    if (fits(got)) return got;
    assert.ok(Date.now() < until, `what has arrived: ${JSON.stringify(got)}`);
  }
}

try {
  const elsewhere = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, answer) =>
    answer.setHeader('Content-Type', 'text/html').end(`<!doctype html><title>Elsewhere</title><p>A page</p><script src="${hub.url}/widget.js" data-room="nat" data-name="Gus"></script>`));
  await new Promise((done) => elsewhere.listen(0, INTERNET, done));
  ends.push(() => elsewhere.close());
  const website = `https://${INTERNET}:${elsewhere.address().port}`;
  const hub = await startHub({
    PARLEY_TLS_CERT: cert, PARLEY_TLS_KEY: key, PARLEY_ROOMS_ORIGINS: website, PARLEY_ROOMS_TURN_LISTEN: `${INTERNET}:3478`,
  }, `${INTERNET}:7443`);
  ends.push(() => hub.stop());
  const env = { ...process.env, PARLEY_HUB: hub.url, PARLEY_TOKEN: hub.token };
  const parley = (...args) => execFileSync(program, args, { env, encoding: 'utf8' });
  parley('room', 'open', 'nat', '--humans', 'open', '--agents', 'open');

  const hanna = await person('a');
  await hanna.goto(await hub.loginLink());
  await hanna.locator('#page-title').waitFor();
  await hanna.goto(`${hub.url}/r/nat`);
  await hanna.getByLabel('Your name here').fill('Hanna');
  await hanna.getByRole('button', { name: 'Enter' }).click();
  await hanna.getByRole('log', { name: 'Chat' }).waitFor();
  const gus = await person('b');
  await gus.goto(website);
  await gus.getByRole('log', { name: 'Chat' }).waitFor();

  // A Go agent in the other home, which may see and hear.
  const made = JSON.parse(parley('room', 'keygen', '--out', join(scratch, 'go.key'), '--json'));
  writeFileSync(join(scratch, 'go.pub'), JSON.stringify(made.public));
  parley('room', 'policy', 'nat', '--allow', join(scratch, 'go.pub'), '--label', 'watcher', '--caps', 'read-chat,read-roster,receive-directed,see-screen,hear-audio');
  const watch = join(scratch, 'watcher');
  execFileSync('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', watch, './watcher'], { stdio: 'inherit', env: { ...process.env, CGO_ENABLED: '0' } });
  const watcher = spawn(...at('b', watch, `${hub.url}/r/nat`, join(scratch, 'go.key')), { stdio: ['pipe', 'pipe', 'inherit'] });
  ends.push(() => watcher.kill());
  const square = new Promise((done) => createInterface(watcher.stdout).on('line', (line) => {
    const { lane, size } = JSON.parse(line);
    const [width, height] = size.split('x');
    if (lane === 'screen' && width === height) done();
  }));

  await hanna.getByRole('button', { name: 'Share screen' }).click();
  await hanna.getByRole('button', { name: 'Speak' }).click();
  const got = await gets(gus, ({ audio, red }) => audio > 0 && red > 0);
  // With the agent, which is in the same home, it has another way.
  assert.ok(got.ways.includes('relay'), `the guest's links go by ${got.ways}`);
  console.log('# the widget shows and plays what the page in the other home shares');
  await square;
  console.log('# a Go agent is sent the screen');
  const back = await gets(hanna, ({ ways }) => ways.length > 1);
  assert.ok(back.ways.every((way) => way === 'relay'), `the page's links go by ${back.ways}`);
} finally {
  for (const end of ends.reverse()) await end();
}
