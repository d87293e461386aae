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

// Gives the page's service worker a push message, as the browser would.
async function deliver(page, note) {
  const cdp = await page.context().newCDPSession(page);
  const known = new Promise((done) => cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations[0] && done(registrations[0].registrationId)));
  await cdp.send('ServiceWorker.enable');
  await cdp.send('ServiceWorker.deliverPushMessage', { origin: stage.hub.url, registrationId: await known, data: JSON.stringify(note) });
}

async function person() {
  const page = await stage.person({ permissions: ['notifications'] });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
  return page;
}

const shown = async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => ({ title: n.title, body: n.body, tag: n.tag, actions: n.actions.map((a) => a.action) }));

// Without a desktop that shows them, Chromium now and then forgets notifications when
// it compares its list with the desktop's: then the message comes once more.
const tries = 5;

/** Delivers a message and tells what is shown of it. */
async function told(page, note) {
  for (let n = 1; ; n++) {
    await deliver(page, note);
    try {
      const list = await page.waitForFunction(`(${shown})().then((all) => all.length === 1 && all)`, undefined, { timeout: 5000 });
      return await list.jsonValue();
    } catch (error) {
      if (n === tries) throw error;
    }
  }
}

/** Clicks on the message, which is delivered. */
async function click(page, note, action) {
  const worker = page.context().serviceWorkers()[0] ?? (await page.context().waitForEvent('serviceworker'));
  for (let n = 1; n <= tries; n++) {
    const clicked = await worker.evaluate(async (what) => {
      const [notification] = await self.registration.getNotifications();
      if (!notification) return false;
      await new Promise((done) => {
        const event = new NotificationEvent('notificationclick', { notification, action: what });
        const wait = event.waitUntil.bind(event);
        event.waitUntil = (work) => wait(work.finally(done));
        self.dispatchEvent(event);
      });
      return true;
    }, action);
    if (clicked) return;
    await told(page, note);
  }
  throw new Error('the message was not shown long enough to be clicked');
}

async function waiting(page, text) {
  await startTurn(await stage.person(), `/tool shell {"command":"${text}"}`);
  await visit(page, '/inbox');
  await page.getByRole('article').filter({ hasText: text }).waitFor();
  const { approvals } = await stage.hub.call('GET', '/api/approvals');
  return approvals.find((a) => a.arguments.command === text);
}

test('a message shows what would run, and approving there is the same as on the page', async () => {
  const page = await person();
  const approval = await waiting(page, 'echo pushed');
  const note = { id: approval.id, kind: 'approval', title: 'May shell run?', text: '{"command":"echo pushed"}', path: `/inbox/${approval.id}`, approval: approval.id };
  assert.deepEqual(await told(page, note), [{ title: 'May shell run?', body: '{"command":"echo pushed"}', tag: approval.id, actions: ['approve', 'reject'] }]);
  await click(page, note, 'approve');
  await page.getByRole('article').filter({ hasText: 'echo pushed' }).waitFor({ state: 'detached' });
  const { outcome } = await stage.hub.call('GET', `/api/approvals/${approval.id}`);
  assert.equal(outcome, 'approved');
});

test('a browser that is signed out can decide nothing from a message', async () => {
  const page = await person();
  const approval = await waiting(page, 'echo stale');
  const note = { id: approval.id, kind: 'approval', title: 'May shell run?', path: '/inbox', approval: approval.id };
  await told(page, note);
  await page.context().clearCookies();
  await click(page, note, 'approve').catch(() => {}); // it may not open a window without a real click
  assert.equal((await stage.hub.call('GET', `/api/approvals/${approval.id}`)).outcome, 'pending');
});

test('the settings say whether this browser can be told', async () => {
  const page = await stage.person();
  await visit(page, '/settings/notifications');
  await page.getByRole('heading', { name: 'This browser' }).waitFor();
  await page.getByRole('status').filter({ hasText: /browser/ }).waitFor();
});
