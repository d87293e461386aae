// How the page is made: accessible, small, usable on a phone, light and dark.
// Screenshots of every page go to PARLEY_SHOTS, or to a temporary folder.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { TESTER, settled, setUpTester, startTurn } from './lib/tester.mjs';

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const shots = process.env.PARLEY_SHOTS || mkdtempSync(join(tmpdir(), 'parley-shots-'));
mkdirSync(shots, { recursive: true });

let stage;
let asker;
let plan;
let task;
let machine;
before(async () => {
  stage = await Stage.open();
  await setUpTester(stage);
  asker = await stage.person();
  await startTurn(asker, ['/say # A plan', '/say Some **words**, a `name` and a list:', '/say - one', '/say - two', '/say ```sh', '/say make test', '/say ```', '/tool recall {"query":"plan"}', '/say Then the release.'].join('\n'));
  await settled(asker);
  plan = asker.url();
  await startTurn(asker, '/tool shell {"command":"make release","timeout_ms":60000}');
  await asker.getByRole('button', { name: 'Approve' }).first().waitFor();
  await startTurn(asker, '/tool ask_user {"questions":[{"question":"Which channel?","header":"Channel","options":[{"label":"stable","description":"Everybody"},{"label":"beta","description":"Those who asked"}]}]}');
  await asker.locator('[role=log]').getByRole('button', { name: 'Answer' }).waitFor();
  const worker = await stage.person();
  await visit(worker, '/tasks/new');
  await worker.getByLabel('Goal').fill('/say # Looking\n/tool shell {"command":"ls -la; true"}\n/say done');
  await worker.getByLabel('Agent').selectOption(TESTER);
  await worker.getByRole('button', { name: 'Start' }).click();
  await worker.getByRole('button', { name: 'Approve' }).first().waitFor();
  task = worker.url();
  await stage.hub.call('POST', '/api/rooms', { room: 'looks', title: 'The round table' });
  await visit(worker, '/machines');
  await worker.locator('.tile b').first().waitFor();
  machine = (await stage.hub.call('GET', '/api/fleet')).agents[0].agent_id;
});
after(async () => {
  await stage?.close();
  console.log(`# screenshots: ${shots}`);
});

const desk = { width: 1280, height: 860 };
const hand = { width: 360, height: 740 };
const phone = { viewport: hand, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

function pages() {
  const conversation = new URL(asker.url());
  return {
    home: '/', inbox: '/inbox', agents: '/agents', chat: conversation.pathname + conversation.search, talk: new URL(plan).pathname + new URL(plan).search, editor: `/agents/${TESTER}/edit`, newagent: '/agents/new?create',
    tasks: '/tasks', task: new URL(task).pathname, newtask: '/tasks/new', terminals: '/terminals', rooms: '/rooms', room: '/r/looks',
    machines: '/machines', machine: `/machines/${encodeURIComponent(machine)}`, addmachine: '/machines/-/add', calls: '/machines/-/calls', policy: '/machines/-/policy', updates: '/machines/-/updates',
    place: '/place', postings: '/place/postings', skills: '/place/skills', threads: '/place/threads', extensions: '/place/extensions', visits: '/place/visits', keys: '/place/keys', traffic: '/place/traffic', peers: '/place/peers',
    audit: '/audit', notifications: '/settings/notifications', settings: '/settings', rules: '/settings/rules', devices: '/settings/devices', tokens: '/settings/tokens', models: '/settings/models', people: '/settings/people', cluster: '/settings/cluster', lost: '/nowhere', gone: '/tasks/no-such-task',
  };
}

// In the dark the same elements have other colours: only those are looked at again.
async function check(page, name, only) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) }), only);
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`), [], name);
}

// Loaded means: nothing is grey any more and the hub is heard.
async function ready(page) {
  await page.locator('.shimmer').first().waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).and(page.locator(':visible')).first().waitFor();
}

// What is pressed stands in its own right and is less than 9 mm wide or high on a
// phone. Words in a sentence or a table may be smaller.
function tooSmall() {
  return [...document.querySelectorAll('button, a, select, input, summary')]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('p, dd, td:not(.end), .md, .xterm, [inert]') && !e.matches('.skip, :disabled'))
    .filter((e) => { const r = (e.closest('label') ?? e).getBoundingClientRect(); return r.width > 0 && (r.height < 36 || r.width < 34); })
    .map((e) => e.outerHTML.slice(0, 120));
}

// One load, three looks: light, dark, and as narrow as a phone.
async function looks(page, name) {
  const shoot = (kind) => page.screenshot({ path: join(shots, `${name}-${kind}.png`) });
  await shoot('light');
  await check(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await shoot('dark');
  await check(page, `${name}, dark`, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(hand);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await shoot('phone');
  await check(page, `${name}, phone`);
  const small = await page.evaluate(tooSmall);
  assert.deepEqual(small, [], `${name}, phone: a finger would miss these`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${name} is ${over} px wider than the screen`);
  // What is chosen is in view, and what can be pressed in a table can be reached without pushing it aside.
  const hidden = await page.evaluate(() => {
    const outside = (e) => e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > innerWidth;
    return [...document.querySelectorAll('nav[aria-label=Sections] [aria-current], .cards button')].filter(outside).map((e) => e.textContent);
  });
  assert.deepEqual(hidden, [], `${name}, phone`);
  await page.setViewportSize(desk);
}

test('a phone can approve by touch', async () => {
  const page = await stage.person(phone);
  await visit(page, '/inbox');
  const button = page.getByRole('article').filter({ hasText: 'make release' }).getByRole('button', { name: 'Approve' });
  const box = await button.boundingBox();
  assert.ok(box.height >= 40 && box.width >= 200, `the button is ${box.width} × ${box.height}`);
  await button.tap();
  await page.getByRole('article').filter({ hasText: 'make release' }).waitFor({ state: 'detached' });
});

test('every page is accessible and fits: light, dark, phone', async (t) => {
  // The tests of accessibility bring a script of their own into the page.
  const page = await stage.person({ viewport: desk, colorScheme: 'light', bypassCSP: true });
  // What waits for an answer does not wait for ever: it is looked at first.
  await ready(page);
  await t.test('palette', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Where to' }).waitFor();
    await looks(page, 'palette');
    await page.keyboard.press('Escape');
  });
  await t.test('drawer', async () => {
    await page.locator('.bell:visible').click();
    await page.getByRole('heading', { name: 'Needs you' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).first().waitFor();
    await looks(page, 'drawer');
    await page.keyboard.press('Escape');
  });
  const dialogs = {
    tool: [`/machines/${encodeURIComponent(machine)}`, 'Run a tool'], section: [`/machines/${encodeURIComponent(machine)}`, /^Disk/], open: ['/rooms', 'Open a room'], pair: ['/settings/devices', 'Pair a device'], token: ['/settings/tokens', 'Make a token'],
  };
  for (const [name, [path, button]] of Object.entries(dialogs)) {
    await t.test(`dialog: ${name}`, async () => {
      await visit(page, path);
      await ready(page);
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('dialog').waitFor();
      await page.locator('.shimmer').first().waitFor({ state: 'detached' });
      await looks(page, `dialog-${name}`);
    });
  }
  for (const [name, path] of Object.entries(pages())) {
    await t.test(name, async () => {
      await visit(page, path);
      await ready(page);
      if (name === 'talk') await page.getByRole('button', { name: 'Memory' }).click();
      if (name === 'room' && (await page.getByRole('button', { name: 'Enter' }).count())) await page.getByRole('button', { name: 'Enter' }).click();
      if (name === 'room') await page.getByRole('log', { name: 'Chat' }).waitFor();
      await looks(page, name);
      if (name !== 'room') return;
      await page.getByRole('button', { name: 'Policy' }).click();
      await page.getByLabel('Who may enter').selectOption('oidc');
      await page.getByLabel('What people may').selectOption('own');
      await page.getByRole('button', { name: 'Make an agent' }).click();
      await page.getByRole('button', { name: 'Add an issuer' }).click();
      await page.getByText('Show as JSON').click();
      await page.getByRole('button', { name: 'Save' }).click();
      await looks(page, 'dialog-room-policy');
    });
  }
  await page.context().close();
});

test('the keyboard alone is enough, and where it is can be seen', async () => {
  const page = await stage.person({ viewport: desk });
  await ready(page);
  const focus = () => page.evaluate(() => {
    const e = document.activeElement;
    const style = getComputedStyle(e);
    return { name: e.getAttribute('aria-label') || e.textContent.trim(), seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0, main: !!e.closest('main') };
  });
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Tab');
  assert.equal((await focus()).name, 'Skip to the content');
  // Every stop on the way around the page can be seen.
  const stops = [];
  for (let i = 0; i < 25; i++) {
    await page.keyboard.press('Tab');
    const stop = await focus();
    assert.ok(stop.seen, `nobody sees that the focus is on “${stop.name}”`);
    stops.push(stop);
  }
  for (const name of ['Inbox', 'Machines', 'Settings', 'Sign out']) assert.ok(stops.some((s) => s.name.startsWith(name)), `${name} is not reached`);
  assert.ok(stops.some((s) => s.main), 'the content is not reached');
  // The palette is worked by arrows and Enter; Escape closes whatever is open and the focus goes back.
  await page.keyboard.press('Control+k');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement.id === 'page-title'); // a new page is read from its heading
  await page.locator('.bell:visible').press('Enter');
  await page.getByRole('dialog').getByRole('heading', { name: 'Needs you' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement.getAttribute('aria-label')?.startsWith('Inbox') || document.activeElement.textContent.trim().startsWith('Inbox'));
});

test('signing in is accessible', async () => {
  const page = await stage.visitor({ bypassCSP: true });
  await page.goto(stage.hub.url);
  await page.getByLabel('Code', { exact: true }).waitFor();
  await page.screenshot({ path: join(shots, 'signin-light.png') });
  await check(page, 'sign in');
});

// Whatever page somebody opens first, with a fresh profile: what comes over the wire, compressed.
test('the first load of every page is small', async () => {
  const figures = [];
  for (const path of ['/', '/inbox', '/agents/tester', new URL(task).pathname, '/terminals', '/r/looks', `/machines/${encodeURIComponent(machine)}`, '/place', '/audit', '/settings']) {
    const page = await stage.visitor();
    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    let bytes = 0;
    client.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
    const link = new URL(await stage.hub.loginLink());
    link.pathname = path;
    const begun = performance.now();
    await page.goto(link.href);
    await page.locator('#page-title').waitFor();
    await ready(page);
    figures.push(`${path.split('/').slice(0, 2).join('/')} ${Math.round(bytes / 1024)} KB, ready after ${Math.round(performance.now() - begun)} ms`);
    await page.context().close();
    assert.ok(bytes <= 300_000, `${path}: ${bytes} bytes`);
  }
  console.log(`# first load: ${figures.join('; ')}`);
});

test('the page can be installed', async () => {
  const page = await stage.person();
  const manifest = await page.evaluate(async () => (await fetch('/manifest.webmanifest')).json());
  assert.ok(manifest.name && manifest.start_url && ['standalone', 'minimal-ui', 'fullscreen'].includes(manifest.display), 'a browser offers to install only what says how it starts');
  for (const size of ['192x192', '512x512']) assert.ok(manifest.icons.some((icon) => icon.sizes === size && icon.type === 'image/png'), `no icon of ${size}`);
  for (const icon of manifest.icons) {
    const answer = await page.request.get(stage.hub.url + icon.src);
    assert.equal(answer.status(), 200, icon.src);
    assert.equal(answer.headers()['content-type'].split(';')[0], icon.type);
  }
  assert.equal(await page.evaluate(async () => !!(await navigator.serviceWorker.ready).active), true);
});
