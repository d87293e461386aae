// The apps in examples/, each as it stands there, on a website of their own: two people play,
// draw and review, and an agent takes part as far as it is let.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Stage } from './lib/stage.mjs';

let stage, website, site;

before(async () => {
  stage = await Stage.open();
  website = createServer((q, s) => {
    const app = /^\/(\w+)\/$/.exec(new URL(q.url, 'http://x').pathname)?.[1];
    s.writeHead(app ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' });
    if (app === 'agent') s.end(`<!doctype html><title>An agent</title><link rel="icon" href="data:,"><script src="${stage.hub.url}/widget.js"></script>`);
    else s.end(app && readFileSync(`../../examples/${app}/index.html`, 'utf8').replaceAll('http://127.0.0.1:7788', stage.hub.url));
  });
  await new Promise((done) => website.listen(0, '127.0.0.1', done));
  site = `http://localhost:${website.address().port}`;
  stage.own.push(site);
  await stage.hub.call('POST', '/api/websites', { origin: site });
});
after(async () => {
  website?.close();
  await stage?.close();
});

/** Opens a room as examples/README.md says. */
const open = (room, directedOnly = false) =>
  stage.hub.call('POST', '/api/rooms', { room, title: room, policy: { humans: { mode: 'open' }, agents: { mode: 'open' }, views: { publishers: ['humans'], directedOnly } } });

/** A person in an app, and everything its page was sent. */
async function person(app, name) {
  const page = await stage.visitor();
  const heard = [];
  page.on('websocket', (ws) => ws.on('framereceived', ({ payload }) => heard.push(String(payload))));
  await page.goto(`${site}/${app}/`);
  await page.getByLabel('Your name here').fill(name);
  await page.getByRole('button', { name: 'Enter' }).click();
  await page.getByRole('log', { name: 'Chat' }).waitFor();
  return Object.assign(page, { heard });
}

/** An agent in a page of its own, and all views that it was shown. */
async function agent(room, name) {
  const page = await stage.visitor();
  await page.goto(`${site}/agent/`);
  await page.evaluate(async ([room, name]) => {
    const controller = Kibitz.mount({ room, name, headless: true, meta: { role: 'agent' } });
    globalThis.agent = Kibitz.createAgent(controller, { backend: 'A model' });
    globalThis.views = [];
    globalThis.agent.onView((view) => globalThis.views.push(view));
    globalThis.allowed = new Promise((done) => globalThis.agent.onGrant((g) => g.act.includes('act') && done()));
    await new Promise((done) => controller.on('live', done));
    globalThis.id = controller.self.id;
  }, [room, name]);
  return page;
}

const mayAct = async (room, page) => {
  const id = await page.evaluate(() => globalThis.id);
  await stage.hub.call('PUT', `/api/rooms/${room}/grants/${id}`, { perceive: ['read-chat', 'read-roster', 'receive-directed'], act: ['act'] });
  await page.evaluate(() => globalThis.allowed);
};
const hand = (page) => page.getByRole('list', { name: 'Your hand' }).getByRole('button');
const cards = async (page) => (await hand(page).allTextContents()).sort();

test('cards: a hand reaches its player alone, and an agent only when the player lets it look', async () => {
  await open('cards', true);
  const ann = await person('cards', 'Ann');
  const bob = await person('cards', 'Bob');
  const kibitzer = await agent('cards', 'Kibitzer');
  await bob.getByText('Let Kibitzer see my hand').waitFor();
  await ann.getByText('Let Kibitzer see my hand').waitFor();
  await ann.getByRole('button', { name: 'Deal' }).click();
  await hand(bob).nth(2).waitFor();
  const [anns, bobs] = [await cards(ann), await cards(bob)];
  assert.equal(new Set([...anns, ...bobs]).size, 6, 'six different cards');
  await kibitzer.waitForFunction(() => globalThis.views.length > 0);
  const seen = () => kibitzer.evaluate(() => JSON.stringify(globalThis.views));
  for (const card of [...anns, ...bobs]) assert.ok(!(await seen()).includes(`"${card}"`), `the agent was shown ${card}`);
  for (const card of anns) assert.ok(!bob.heard.some((text) => text.includes(`"${card}"`)), `Bob's page was sent ${card} of Ann's hand`);

  // Not his turn: a page that sends a card all the same changes nothing.
  await bob.evaluate((card) => room.sendTo(view.dealer, { __kib_agent: 'act', action: { play: card } }), bobs[0]);
  const played = await hand(ann).first().textContent();
  await hand(ann).first().click();
  await bob.getByRole('list', { name: 'Table' }).getByText(`Ann: ${played}`).waitFor();
  assert.equal(await hand(bob).count(), 3, 'a card out of turn was taken');
  await hand(bob).first().click();
  await ann.getByRole('list', { name: 'Tricks' }).getByText(/: 1$/).waitFor();

  await bob.getByLabel('Let Kibitzer see my hand').check();
  await kibitzer.waitForFunction(() => globalThis.views.at(-1).over === 'Bob');
  assert.deepEqual((await kibitzer.evaluate(() => globalThis.views.at(-1).hand)).sort(), await cards(bob));
});

/** How much ink is on a board. */
const ink = (page) => page.evaluate(() => document.getElementById('board').getContext('2d').getImageData(0, 0, 640, 400).data.filter((v, i) => i % 4 === 3 && v > 0).length);
const drawn = (page, least) => page.waitForFunction((n) => document.getElementById('board').getContext('2d').getImageData(0, 0, 640, 400).data.filter((v, i) => i % 4 === 3 && v > 0).length > n, least);

async function stroke(page, [x1, y1], [x2, y2]) {
  const at = await page.getByLabel('Board').boundingBox();
  await page.mouse.move(at.x + x1, at.y + y1);
  await page.mouse.down();
  await page.mouse.move(at.x + x2, at.y + y2, { steps: 5 });
  await page.mouse.up();
}

test('whiteboard: two draw at once and lose nothing, who comes late sees it, and an agent draws what a person agrees to', async () => {
  await open('whiteboard');
  const [ann, bob] = [await person('whiteboard', 'Ann'), await person('whiteboard', 'Bob')];
  await Promise.all([stroke(ann, [20, 20], [200, 20]), stroke(bob, [20, 200], [200, 300])]);
  const both = async (page) => page.waitForFunction(() => Object.keys(board.strokes).length === 2);
  await Promise.all([both(ann), both(bob)]);
  await drawn(ann, 0);
  assert.equal(await ink(ann), await ink(bob));
  const late = await person('whiteboard', 'Cat');
  await both(late);
  const before = await ink(late);
  const artist = await agent('whiteboard', 'Artist');
  await artist.waitForFunction(() => globalThis.views.some((v) => Object.keys(v.strokes).length === 2));
  await mayAct('whiteboard', artist);
  await artist.evaluate(() => globalThis.agent.act({ draw: [[300, 300], [500, 350], [400, 100]] }));
  await ann.getByText('Artist wants to draw.').waitFor();
  await ann.getByRole('button', { name: 'Draw it' }).click();
  await drawn(late, before);
  await bob.getByRole('button', { name: 'Clear' }).click();
  await late.waitForFunction(() => board.era === 1 && !Object.keys(board.strokes).length);
});

test('review: comments of two people, and one that an agent proposes and a person takes over', async () => {
  await open('review');
  const [ann, bob] = [await person('review', 'Ann'), await person('review', 'Bob')];
  await ann.getByLabel('Code to review').fill('func add(a, b int) int {\n\treturn a - b\n}\n<img src=x onerror=alert(1)>');
  await ann.getByRole('button', { name: 'Review this' }).click();
  await bob.getByText('return a - b').click();
  await bob.getByLabel('Comment on line 2').fill('is that a minus?');
  await bob.getByRole('button', { name: 'Comment' }).click();
  await ann.getByText('is that a minus?').waitFor();
  const reviewer = await agent('review', 'Reviewer');
  await reviewer.waitForFunction(() => globalThis.views.some((v) => Object.values(v.comments).some((c) => c.text === 'is that a minus?')));
  // It may only watch: asking for something is refused.
  const denied = reviewer.evaluate(() => new Promise((done) => globalThis.agent.onDenied(done)));
  await reviewer.evaluate(() => void globalThis.agent.act({ comment: { line: 1, text: 'too early' } }));
  assert.equal((await denied).code, 'act.denied');
  await mayAct('review', reviewer);
  await reviewer.evaluate(() => globalThis.agent.act({ comment: { line: 2, text: 'add should add' } }));
  await ann.getByText('Reviewer proposes').waitFor();
  await ann.getByRole('button', { name: 'Take it over' }).click();
  await bob.getByText('Reviewer, for Ann').waitFor();
  assert.equal(await ann.getByText('too early').count(), 0);
  assert.equal(await ann.locator('ol img').count(), 0, 'markup in the code became markup of the page');
});
