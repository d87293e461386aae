// Being told while the page is closed: the service worker shows the message, and
// an answer given there uses the browser's own login and nothing else.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';
import { setUpTester, startTurn } from './lib/tester.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
  await setUpTester(stage);
});
after(() => stage?.close());

/** Somebody whose page is in the hands of its service worker: { page, worker }. */
async function person() {
  const page = await stage.person({ permissions: ['notifications'] });
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  const script = await page.evaluate(() => navigator.serviceWorker.controller.scriptURL);
  const context = page.context();
  const worker = context.serviceWorkers().find((w) => w.url() === script) ?? (await context.waitForEvent('serviceworker', { predicate: (w) => w.url() === script }));
  await worker.evaluate(watch);
  return { page, worker };
}

// Runs in the service worker: its own handlers stay as they are, and what they ask the
// browser for is noted. What Chromium lists as shown does not count: without a desktop
// it forgets messages when it compares its list with the desktop's. Windows open only
// for a real click, so where one would open is noted too.
function watch() {
  const { registration, clients } = self;
  const show = registration.showNotification.bind(registration);
  const ask = self.fetch.bind(self);
  self.seen = { answers: [], opened: [] };
  self.told = new Promise((done, fail) => {
    registration.showNotification = (title, options) => {
      const shown = show(title, options);
      shown.then(() => done({ title, ...options }), fail);
      return shown;
    };
  });
  self.fetch = async (what, options) => {
    const answer = await ask(what, options);
    const { pathname } = new URL(answer.url);
    if (pathname.startsWith('/api/')) self.seen.answers.push(`${options?.method ?? 'GET'} ${pathname} ${answer.status}`); // the rest is the page's shell
    return answer;
  };
  clients.matchAll = async () => [];
  clients.openWindow = async (url) => void self.seen.opened.push(new URL(url).pathname);
}

/** Gives the active service worker of the page a push message, as the browser would, and tells what it showed. */
async function told({ page, worker }, note) {
  const cdp = await page.context().newCDPSession(page);
  const active = new Promise((done) =>
    cdp.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
      const version = versions.find((v) => v.scriptURL === worker.url() && v.status === 'activated');
      if (version) done(version.registrationId);
    }),
  );
  await cdp.send('ServiceWorker.enable');
  await cdp.send('ServiceWorker.deliverPushMessage', { origin: stage.hub.url, registrationId: await active, data: JSON.stringify(note) });
  const shown = await worker.evaluate(() => self.told);
  await cdp.detach();
  return shown;
}

/** Clicks on a button of the message that was shown, and tells what the service worker did then: { closed, answers, opened }. */
async function click({ worker }, shown, action) {
  return worker.evaluate(
    async ({ data, what }) => {
      let work;
      let closed = false;
      const event = Object.defineProperties(new Event('notificationclick'), {
        notification: { value: { data, close: () => (closed = true) } }, action: { value: what }, waitUntil: { value: (promise) => (work = promise) },
      });
      self.dispatchEvent(event);
      await work;
      return { closed, ...self.seen };
    },
    { data: shown.data, what: action },
  );
}

async function waiting(page, text) {
  await startTurn(await stage.person(), `/tool shell {"command":"${text}"}`);
  await visit(page, '/inbox');
  await page.getByRole('article').filter({ hasText: text }).waitFor();
  const { approvals } = await stage.hub.call('GET', '/api/approvals');
  return approvals.find((a) => a.arguments.command === text);
}

test('a message shows what would run, and approving there is the same as on the page', async () => {
  const someone = await person();
  const { page } = someone;
  const approval = await waiting(page, 'echo pushed');
  const note = { id: approval.id, kind: 'approval', title: 'May shell run?', text: '{"command":"echo pushed"}', path: `/inbox/${approval.id}`, approval: approval.id };
  const shown = await told(someone, note);
  assert.deepEqual({ title: shown.title, body: shown.body, tag: shown.tag, actions: shown.actions.map((a) => a.action) },
    { title: 'May shell run?', body: '{"command":"echo pushed"}', tag: approval.id, actions: ['approve', 'reject'] });
  assert.deepEqual(await click(someone, shown, 'approve'), { closed: true, answers: ['GET /api/session 200', `POST /api/approvals/${approval.id} 200`], opened: [] });
  await page.getByRole('article').filter({ hasText: 'echo pushed' }).waitFor({ state: 'detached' });
  const { outcome } = await stage.hub.call('GET', `/api/approvals/${approval.id}`);
  assert.equal(outcome, 'approved');
});

test('a browser that is signed out can decide nothing from a message', async () => {
  const someone = await person();
  const approval = await waiting(someone.page, 'echo stale');
  const note = { id: approval.id, kind: 'approval', title: 'May shell run?', path: '/inbox', approval: approval.id };
  const shown = await told(someone, note);
  await someone.page.context().clearCookies();
  assert.deepEqual(await click(someone, shown, 'approve'), { closed: true, answers: ['GET /api/session 401'], opened: ['/inbox'] }, 'the hub knows nobody, and the page opens instead');
  assert.equal((await stage.hub.call('GET', `/api/approvals/${approval.id}`)).outcome, 'pending');
});

test('the settings say whether this browser can be told', async () => {
  const page = await stage.person();
  await visit(page, '/settings/notifications');
  await page.getByRole('heading', { name: 'This browser' }).waitFor();
  await page.getByRole('status').filter({ hasText: /browser/ }).waitFor();
});
