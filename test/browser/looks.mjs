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
  machine = (await worker.locator('.tile b').first().innerText()).trim();
});
after(async () => {
  await stage?.close();
  console.log(`# screenshots: ${shots}`);
});

const kinds = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 375, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};

function pages() {
  const conversation = new URL(asker.url());
  return {
    home: '/', inbox: '/inbox', agents: '/agents', chat: conversation.pathname + conversation.search, talk: new URL(plan).pathname + new URL(plan).search, editor: `/agents/${TESTER}/edit`,
    tasks: '/tasks', task: new URL(task).pathname, newtask: '/tasks/new', terminals: '/terminals', rooms: '/rooms', room: '/r/looks',
    machines: '/machines', machine: `/machines/${encodeURIComponent(machine)}`, addmachine: '/machines/-/add', calls: '/machines/-/calls', policy: '/machines/-/policy', updates: '/machines/-/updates',
    place: '/place', postings: '/place/postings', keys: '/place/keys', traffic: '/place/traffic', peers: '/place/peers',
    audit: '/audit', notifications: '/settings/notifications', settings: '/settings', devices: '/settings/devices', tokens: '/settings/tokens', models: '/settings/models', people: '/settings/people',
  };
}

async function check(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`), [], name);
}

// Loaded means: nothing is grey any more and the hub is heard.
async function ready(page) {
  await page.locator('.shimmer').first().waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).and(page.locator(':visible')).first().waitFor();
}

for (const [kind, options] of Object.entries(kinds)) {
  test(`every page is accessible and fits: ${kind}`, async (t) => {
    // The tests of accessibility bring a script of their own into the page.
    const page = await stage.person({ ...options, bypassCSP: true });
    for (const [name, path] of Object.entries(pages())) {
      await t.test(name, async () => {
        await visit(page, path);
        await ready(page);
        if (name === 'talk') await page.getByRole('button', { name: 'Memory' }).click();
        if (name === 'room' && (await page.getByRole('button', { name: 'Enter' }).count())) await page.getByRole('button', { name: 'Enter' }).click();
        if (name === 'room') await page.getByRole('log', { name: 'Chat' }).waitFor();
        await page.screenshot({ path: join(shots, `${name}-${kind}.png`) });
        await check(page, name);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `${name} is ${over} px wider than the screen`);
      });
    }
    await t.test('palette and drawer', async () => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Where to' }).waitFor();
      await page.screenshot({ path: join(shots, `palette-${kind}.png`) });
      await check(page, 'palette');
      await page.keyboard.press('Escape');
      await page.locator('.bell:visible').click();
      await page.getByRole('heading', { name: 'Needs you' }).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).first().waitFor();
      await page.screenshot({ path: join(shots, `drawer-${kind}.png`) });
      await check(page, 'drawer');
    });
    await page.context().close();
  });
}

test('signing in is accessible', async () => {
  const page = await stage.visitor({ bypassCSP: true });
  await page.goto(stage.hub.url);
  await page.getByLabel('Code', { exact: true }).waitFor();
  await page.screenshot({ path: join(shots, 'signin-light.png') });
  await check(page, 'sign in');
});

test('a phone can approve by touch', async () => {
  const page = await stage.person(kinds.phone);
  await visit(page, '/inbox');
  const button = page.getByRole('article').filter({ hasText: 'make release' }).getByRole('button', { name: 'Approve' });
  const box = await button.boundingBox();
  assert.ok(box.height >= 40 && box.width >= 200, `the button is ${box.width} × ${box.height}`);
  await button.tap();
  await page.getByRole('article').filter({ hasText: 'make release' }).waitFor({ state: 'detached' });
});

test('the first load is small', async () => {
  const page = await stage.visitor();
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  let bytes = 0;
  client.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
  await page.goto(await stage.hub.loginLink());
  await page.locator('#page-title').waitFor();
  await ready(page);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0);
  console.log(`# first load: ${(bytes / 1024).toFixed(0)} KB transferred, first paint after ${paint.toFixed(0)} ms`);
  assert.ok(bytes < 300 * 1024, `${bytes} bytes`);
});

test('the page can be installed', async () => {
  const page = await stage.person();
  const manifest = await page.evaluate(async () => (await fetch('/manifest.webmanifest')).json());
  for (const icon of manifest.icons) {
    const answer = await page.request.get(stage.hub.url + icon.src);
    assert.equal(answer.status(), 200, icon.src);
    assert.equal(answer.headers()['content-type'].split(';')[0], icon.type);
  }
  assert.equal(await page.evaluate(async () => !!(await navigator.serviceWorker.ready).active), true);
});
