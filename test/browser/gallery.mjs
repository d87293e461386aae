// Takes every page in every state, for looking at:
//
//   node gallery.mjs FOLDER [full] [empty] [loading] [offline] [few] [failing] [dialogs]
//
// Not a test; run.mjs leaves it out. Each picture comes in light, dark, as a
// phone and as a phone in the dark, and every nine of a kind on one sheet.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Scene, remember } from './lib/scenes.mjs';
import { Stage, visit } from './lib/stage.mjs';

const [to, ...chosen] = process.argv.slice(2);
if (!to) throw new Error('name a folder');
const folder = resolve(to);
process.chdir(dirname(fileURLToPath(import.meta.url)));
mkdirSync(folder, { recursive: true });
const wanted = (state) => !chosen.length || chosen.includes(state);

const desk = { width: 1280, height: 860 };
const hand = { width: 390, height: 844 };
const kinds = { light: ['light', desk], dark: ['dark', desk], phone: ['light', hand], night: ['dark', hand] };
const taken = Object.fromEntries(Object.keys(kinds).map((k) => [k, []]));
const most = 2600;

/** One page in four looks. A phone's is taken to its end, within reason. */
async function take(page, name, only = Object.keys(kinds)) {
  for (const kind of only) {
    const [colorScheme, size] = kinds[kind];
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    if (size === hand && height > hand.height) await page.setViewportSize({ ...hand, height: Math.min(most, height) });
    const path = join(folder, `${name}-${kind}.png`);
    await page.screenshot({ path, animations: 'disabled' });
    taken[kind].push([name, path]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) console.log(`${name} ${kind}: ${wide} px too wide`);
    if (size === hand) await small(page, `${name} ${kind}`);
  }
  await page.setViewportSize(desk);
  await page.emulateMedia({ colorScheme: 'light' });
}

const told = new Set();

// What a finger hits only by luck. Words in a sentence may be small.
async function small(page, name) {
  const found = await page.evaluate(() => [...document.querySelectorAll('button, a, select, input, summary, [role=tab], [role=switch]')]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('p, dd, td:not(.end), .md, .sr, [inert]') && !e.matches('.skip, :disabled'))
    .map((e) => [e.closest('label') ?? e, e]).map(([hit, e]) => [hit.getBoundingClientRect(), e])
    .filter(([r]) => r.width && r.height && (r.height < 36 || r.width < 36))
    .map(([r, e]) => `${e.tagName.toLowerCase()}.${e.className} “${(e.getAttribute('aria-label') || e.textContent).trim().slice(0, 30)}” ${Math.round(r.width)}×${Math.round(r.height)}`));
  for (const one of found) if (!told.has(one)) { told.add(one); console.log(`small: ${name}: ${one}`); }
}

const settle = async (page) => {
  await page.locator('.shimmer').first().waitFor({ state: 'detached', timeout: 20_000 }).catch(() => console.log(`${page.url()}: still loading`));
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
};

const path = (page) => new URL(page.url()).pathname + new URL(page.url()).search;

const places = {
  home: '/', inbox: '/inbox', agents: '/agents', chat: '/agents/parley', newagent: '/agents/new?create', tasks: '/tasks', newtask: '/tasks/new', terminals: '/terminals', rooms: '/rooms',
  machines: '/machines', machine: '/machines/nas', addmachine: '/machines/-/add', calls: '/machines/-/calls', policy: '/machines/-/policy', updates: '/machines/-/updates',
  place: '/place', postings: '/place/postings', skills: '/place/skills', threads: '/place/threads', extensions: '/place/extensions', visits: '/place/visits', keys: '/place/keys', traffic: '/place/traffic', peers: '/place/peers',
  audit: '/audit', settings: '/settings', notifications: '/settings/notifications', rules: '/settings/rules', devices: '/settings/devices', tokens: '/settings/tokens', models: '/settings/models', people: '/settings/people', cluster: '/settings/cluster',
};

async function walk(page, prefix, only, list = places) {
  for (const [name, where] of Object.entries(list)) {
    await visit(page, where);
    await settle(page);
    await take(page, `${prefix}${name}`, only);
  }
}

async function full() {
  const scene = await Scene.open();
  try {
    const { stage } = scene;
    const people = await scene.play();
    const page = await stage.person();
    await remember(page);
    const { tasks } = await stage.hub.call('GET', '/api/tasks?limit=50');
    const one = (status) => `/tasks/${tasks.find((t) => t.status === status)?.task_id ?? ''}`;
    const more = { editor: '/agents/parley/edit', done: one('completed'), failed: one('failed'), running: one('running'), lost: '/nowhere', gone: '/tasks/no-such-task', door: '/r/table', laptop: '/machines/laptop-grace' };
    if (wanted('full')) {
      for (const [name, p] of Object.entries(people)) {
        await settle(p);
        await take(p, name === 'chat' ? 'talk' : name);
      }
      await walk(page, '', undefined, { ...places, ...more });
    }
    if (wanted('dialogs')) await dialogs(stage, page, people);
    if (wanted('loading')) await loading(page);
    if (wanted('failing')) await failingPages(page);
    if (wanted('few')) await few(stage);
    if (wanted('offline')) await offline(stage);
  } finally {
    await scene.close();
  }
}

async function dialogs(stage, page, people) {
  const shows = async (name, where, open) => {
    try {
      page.setDefaultTimeout(8000);
      await visit(page, where);
      await settle(page);
      await open();
      await page.getByRole('dialog').first().waitFor();
      await take(page, `dialog-${name}`);
      await page.keyboard.press('Escape');
    } catch (error) {
      console.log(`dialog ${name}: ${error.message.split('\n')[0]}`);
    } finally {
      page.setDefaultTimeout(120_000);
    }
  };
  const press = (name) => () => page.getByRole('button', { name }).first().click();
  await shows('palette', '/', () => page.keyboard.press('Control+k'));
  await shows('drawer', '/', () => page.locator('.bell:visible').click());
  await shows('terminal', '/terminals', press(/Open (one|a terminal)/));
  await shows('room', '/rooms', press('Open a room'));
  await shows('tool', '/machines/nas', press('Run a tool'));
  await shows('edit', '/machines/nas', press('Edit'));
  await shows('remove', '/machines/nas', press('Remove'));
  await shows('section', '/machines/nas', () => page.getByRole('list', { name: 'Sections' }).getByRole('button', { name: /^Disk/ }).click());
  await shows('rollout', '/machines/-/updates', press('Update all'));
  await shows('agent', '/place', () => page.getByRole('region', { name: 'Agents' }).getByRole('row').nth(1).getByRole('button').click());
  await shows('review', '/place/skills', press('Review'));
  await shows('token', '/settings/tokens', press(/(New|Create|Make).*token|^New/));
  await shows('pair', '/settings/devices', press('Pair a device'));
  await shows('person', '/settings/people', press(/Add/));
  await shows('signin-link', '/settings/people', press(/link/));
  await shows('fanout', '/machines', async () => {
    await page.getByLabel('Choose nas').check();
    await page.getByRole('button', { name: /Run on/ }).click();
  });
  await shows('steps', path(people.task), async () => {
    await page.getByLabel('More', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Look at the frames' }).click();
  });
  for (const [name, p] of [['memory', people.chat]]) {
    await p.getByRole('button', { name: 'Memory' }).click();
    await settle(p);
    await take(p, `dialog-${name}`);
  }
  await people.room.getByRole('list', { name: 'People and agents' }).getByRole('button').filter({ hasText: 'kibitzer' }).click();
  await take(people.room, 'dialog-consent');
  await people.room.getByRole('dialog').getByLabel('Close').click();
  for (const name of ['App', 'Audit', 'Policy', 'Invite']) {
    const button = people.room.getByRole('button', { name, exact: true });
    if (!(await button.count())) { console.log(`room: no ${name}`); continue; }
    await button.first().click();
    await take(people.room, `dialog-room-${name.toLowerCase()}`);
    await people.room.keyboard.press('Escape');
  }
  const cards = await stage.person();
  await cards.goto(`${stage.hub.url}/r/table`);
  await cards.getByRole('button', { name: 'Enter' }).click();
  await cards.getByRole('log', { name: 'Chat' }).waitFor();
  await cards.getByRole('button', { name: 'App', exact: true }).click();
  await take(cards, 'cards');
  await cards.context().close();
}

const ways = ['light', 'night'];

// Answers that take for ever.
async function loading(page) {
  const held = [];
  const hold = (route) => (/\/api\/(session|events)/.test(route.request().url()) ? route.fallback() : held.push(route));
  for (const [name, where] of Object.entries(places)) {
    await page.route('**/api/**', hold);
    await page.goto(new URL(where, page.url()).href);
    await page.locator('#page-title').waitFor({ timeout: 5000 }).catch(() => console.log(`loading ${name}: no title`));
    await page.waitForTimeout(150);
    await take(page, `loading-${name}`, ways);
    await page.unroute('**/api/**', hold);
    for (const route of held.splice(0)) await route.abort().catch(() => {});
  }
}

async function failingPages(page) {
  const fail = (route) => (/\/api\/(session|events)/.test(route.request().url()) ? route.fallback() : route.fulfill({ status: 500, contentType: 'application/problem+json', json: { title: 'Internal error', status: 500, detail: 'The hub could not do this; its log says why.', code: 'internal', request_id: 'a1b2c3d4' } }));
  await page.route('**/api/**', fail);
  await walk(page, 'failing-', ways);
  await page.unroute('**/api/**', fail);
}

async function few(stage) {
  const { token } = await stage.hub.call('POST', '/api/tokens', { name: 'a guest', role: 'operator', scopes: ['status:read', 'task:read', 'fleet:read', 'talk', 'place'], ttl: '1h' });
  const page = await stage.visitor();
  await page.goto(stage.hub.url);
  await take(page, 'signin');
  await page.getByRole('tab', { name: 'Token' }).click();
  await take(page, 'signin-token', ways);
  await page.locator('#token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#page-title').waitFor();
  await walk(page, 'few-', ways);
  await page.context().close();
}

async function offline(stage) {
  const page = await stage.person();
  await page.evaluate(() => navigator.serviceWorker.ready);
  let profile = page;
  const pages = [];
  for (const [name, where] of [['home', '/'], ['tasks', '/tasks'], ['machines', '/machines'], ['chat', '/agents/parley'], ['inbox', '/inbox']]) {
    if (pages.length % 3 === 2) profile = await stage.person(); // a profile has only so many connections
    const p = await profile.context().newPage();
    await p.goto(stage.hub.url + where);
    await p.locator('#page-title').waitFor();
    await settle(p);
    pages.push([name, p]);
  }
  await stage.hub.kill();
  for (const [name, p] of pages) {
    await p.bringToFront();
    await p.locator('[role=status].pill:visible').filter({ hasText: /Reconnecting|Offline/ }).first().waitFor();
    await take(p, `offline-${name}`, ways);
    // From a page that is open to one that was not yet looked at.
    if (name === 'home') for (const next of ['machines', 'audit', 'settings']) {
      await p.evaluate((to) => document.querySelector(`nav a[href="/${to}"]`)?.click(), next);
      await p.waitForTimeout(800);
      await take(p, `offline-to-${next}`, ways);
    }
  }
  await page.reload().catch(() => {});
  await page.waitForTimeout(1500);
  await take(page, 'offline-reload', ways);
}

async function empty() {
  const stage = await Stage.open();
  try {
    const page = await stage.person();
    const { machine, ...rest } = places;
    await walk(page, 'empty-', ['light', 'phone'], rest);
  } finally {
    await stage.close().catch((error) => console.error(error.message));
  }
}

// Nine of a kind on one sheet, to look at many at once.
async function sheets() {
  const { launch } = await import('./lib/browser.mjs');
  const browser = await launch();
  for (const [kind, list] of Object.entries(taken)) {
    const onHand = kinds[kind][1] === hand;
    const size = onHand ? 10 : 6;
    for (let i = 0; i < list.length; i += size) {
      const page = await browser.newPage({ viewport: { width: onHand ? 2000 : 1960, height: 400 } });
      const html = list.slice(i, i + size).map(([name, file]) => `<figure><figcaption>${name}</figcaption><img src="data:image/png;base64,${readFileSync(file).toString('base64')}"></figure>`).join('');
      await page.setContent(`<style>body{margin:0;display:grid;grid-template-columns:repeat(${onHand ? 5 : 2},1fr);gap:8px;background:#888;font:14px sans-serif;align-items:start}figure{margin:0}figcaption{background:#222;color:#fff;padding:2px 6px}img{width:100%;display:block}</style>${html}`);
      await page.waitForFunction(() => [...document.images].every((img) => img.complete));
      writeFileSync(join(folder, `sheet-${kind}-${String(i / size).padStart(2, '0')}.png`), await page.screenshot({ fullPage: true }));
      await page.close();
    }
  }
  await browser.close();
}

if (wanted('empty')) await empty();
if (!chosen.length || chosen.some((c) => c !== 'empty')) await full();
await sheets();
