// A page of another origin, opened in a browser that is signed in to the hub,
// can do nothing there and learn nothing from there.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

let stage;
let stranger;
let address;
before(async () => {
  stage = await Stage.open();
  stranger = createServer((_, res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>elsewhere</title><p>hi'));
  await new Promise((done) => stranger.listen(0, '127.0.0.1', done));
  // Another name for the same machine: another site, not only another port.
  address = `http://localhost:${stranger.address().port}/`;
});
after(async () => {
  stranger?.closeAllConnections();
  stranger?.close();
  stage?.strangers.clear(); // here the stranger is who asks
  if (stage) stage.faults = [];
  await stage?.close();
});

async function elsewhere() {
  const own = await stage.person();
  const page = await own.context().newPage();
  await page.goto(address);
  return { own, page };
}

test('it cannot read an answer', async () => {
  const { page } = await elsewhere();
  for (const path of ['/', '/api/session', '/api/status', '/api/cluster', '/api/approvals', '/api/tokens', '/api/audit', '/api/audit/export', '/api/agents', '/api/tasks', '/api/terminals', '/api/rooms', '/api/fleet', '/api/place/agents', '/api/openapi.json', '/metrics']) {
    const outcome = await page.evaluate(async (url) => {
      try {
        return (await (await fetch(url, { credentials: 'include' })).text()).slice(0, 80);
      } catch {
        return 'refused';
      }
    }, stage.hub.url + path);
    assert.equal(outcome, 'refused', path);
  }
});

test('it cannot change anything, by fetch or by form', async () => {
  const { own, page } = await elsewhere();
  await visit(own, '/settings/tokens');
  await own.getByRole('row').nth(1).waitFor();
  const count = await own.getByRole('row').count();
  await page.evaluate(async (hub) => {
    const body = JSON.stringify({ name: 'stolen', role: 'operator', scopes: ['admin'], ttl: '1h' });
    for (const type of ['text/plain', 'application/json']) {
      await fetch(`${hub}/api/tokens`, { method: 'POST', credentials: 'include', mode: 'no-cors', headers: { 'Content-Type': type }, body }).catch(() => {});
      await fetch(`${hub}/api/tokens`, { method: 'POST', credentials: 'include', headers: { 'Content-Type': type, 'X-Parley-CSRF': 'guess' }, body }).catch(() => {});
    }
    const frame = document.createElement('iframe');
    frame.name = 'sink';
    document.body.append(frame);
    const form = Object.assign(document.createElement('form'), { method: 'POST', action: `${hub}/api/tokens`, enctype: 'text/plain', target: 'sink' });
    form.append(Object.assign(document.createElement('input'), { name: '{"name":"stolen","role":"operator","x":"', value: '"}' }));
    document.body.append(form);
    const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
    form.submit();
    await loaded;
  }, stage.hub.url);
  await own.reload();
  await own.getByRole('row').nth(1).waitFor();
  assert.equal(await own.getByRole('row').count(), count);
  assert.equal(await own.getByText('stolen').count(), 0);
});

test('it cannot listen to the events or open a conversation', async () => {
  const { page } = await elsewhere();
  const events = await page.evaluate((url) => new Promise((done) => {
    const source = new EventSource(url, { withCredentials: true });
    source.addEventListener('hello', () => done('heard'));
    source.addEventListener('error', () => { source.close(); done('refused'); });
  }), `${stage.hub.url}/api/events`);
  assert.equal(events, 'refused');
  const streams = await page.evaluate((urls) => Promise.all(urls.map((url) => new Promise((done) => {
    const source = new EventSource(url, { withCredentials: true });
    source.addEventListener('open', () => { source.close(); done('open'); });
    source.addEventListener('error', () => { source.close(); done('refused'); });
  }))), [`${stage.hub.url}/api/fleet/stream`]);
  assert.deepEqual(streams, ['refused']);
  await stage.hub.call('POST', '/api/rooms', { room: 'private', policy: { humans: { mode: 'open' }, agents: { mode: 'none' } } });
  for (const path of ['/talk/ws', '/ws', '/agent/ws', '/rooms/private/ws']) {
    // A socket that opens but says nothing and takes nothing would do no harm; here none even opens.
    const socket = await page.evaluate((url) => new Promise((done) => {
      const ws = new WebSocket(url);
      ws.addEventListener('open', () => done('open'));
      ws.addEventListener('error', () => done('refused'));
    }), `${stage.hub.url.replace('http', 'ws')}${path}`);
    assert.equal(socket, 'refused', path);
  }
});

test('it can load nothing from the hub as its own: no script, picture, style, worker or frame of data', async () => {
  const { page } = await elsewhere();
  const got = await page.evaluate(async (hub) => {
    const load = (tag, set) => new Promise((done) => {
      const element = Object.assign(document.createElement(tag), set);
      element.addEventListener('load', () => done('loaded'));
      element.addEventListener('error', () => done('refused'));
      document.body.append(element);
    });
    const worker = () => new Promise((done) => {
      try {
        const w = new SharedWorker(`${hub}/sw.js`);
        w.addEventListener('error', () => done('refused'));
      } catch {
        done('refused');
      }
    });
    return {
      script: await load('script', { src: `${hub}/api/session` }),
      picture: await load('img', { src: `${hub}/icon-192.png` }),
      style: await load('link', { rel: 'stylesheet', href: `${hub}/api/status` }),
      object: await load('object', { data: `${hub}/api/session`, type: 'application/json' }),
      worker: await worker(),
      register: await navigator.serviceWorker?.register(`${hub}/sw.js`).then(() => 'registered', () => 'refused') ?? 'refused',
    };
  }, stage.hub.url);
  assert.deepEqual(got, { script: 'refused', picture: 'refused', style: 'refused', object: 'refused', worker: 'refused', register: 'refused' });
});

test('it cannot answer an approval, start a task, run a tool or sign somebody out', async () => {
  const { own, page } = await elsewhere();
  const tries = [
    ['POST', '/api/approvals/00000000-0000-7000-8000-000000000000', { approved: true }], ['DELETE', '/api/session', undefined], ['POST', '/api/login-links', {}], ['POST', '/api/backup', undefined],
    ['PUT', '/api/agents/parley', { prompt: 'obey' }], ['POST', '/api/pairing', {}], ['POST', '/api/rooms', { room: 'theirs' }], ['POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
  ];
  const seen = await page.evaluate(async ([hub, list]) => {
    const out = [];
    for (const [method, path, body] of list) {
      for (const mode of ['cors', 'no-cors']) {
        const init = { method, mode, credentials: 'include', body: body && JSON.stringify(body), headers: body ? { 'Content-Type': mode === 'cors' ? 'application/json' : 'text/plain' } : {} };
        out.push(await fetch(hub + path, init).then((a) => (a.type === 'opaque' ? 'opaque' : `${path} answered ${a.status}`), () => 'refused'));
      }
      navigator.sendBeacon(hub + path, new Blob([JSON.stringify(body ?? {})], { type: 'text/plain' }));
    }
    return out;
  }, [stage.hub.url, tries]);
  assert.deepEqual(seen.filter((s) => s !== 'opaque' && s !== 'refused'), []);
  await own.reload();
  await own.locator('#page-title').waitFor(); // still signed in
  assert.notEqual((await stage.hub.call('GET', '/api/agents/parley')).prompt, 'obey');
  assert.equal((await stage.hub.call('GET', '/api/rooms')).rooms?.some((r) => r.room === 'theirs') ?? false, false);
});

test('a form cannot navigate its way in, and messages to the page are not heard', async () => {
  const { own, page } = await elsewhere();
  const [opened] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate((hub) => {
      const form = Object.assign(document.createElement('form'), { method: 'POST', action: `${hub}/api/login-links`, target: '_blank', enctype: 'text/plain' });
      form.append(Object.assign(document.createElement('input'), { name: '{"scopes":["admin"],"x":"', value: '"}' }));
      document.body.append(form);
      form.submit();
    }, stage.hub.url),
  ]);
  await opened.waitForLoadState();
  assert.equal((await opened.content()).includes('#login='), false, 'a form made a login link');
  await opened.close();
  await own.evaluate(() => window.postMessage({ type: 'approve', id: 'x' }, '*'));
  await own.locator('#page-title').waitFor();
});

test('it cannot frame the page, nor reach it through a window it opened', async () => {
  const { page } = await elsewhere();
  const framed = await page.evaluate(async (url) => {
    const frame = document.createElement('iframe');
    frame.src = url;
    const loaded = new Promise((done) => frame.addEventListener('load', done));
    document.body.append(frame);
    await loaded;
    try {
      return frame.contentDocument?.title ?? 'nothing';
    } catch {
      return 'nothing';
    }
  }, stage.hub.url);
  assert.notEqual(framed, 'Parley');
  assert.equal(page.frames().some((f) => f.url() === `${stage.hub.url}/`), false, 'the page is in a frame');
  const [popup, closed] = await Promise.all([
    page.waitForEvent('popup'),
    page.evaluate(async (url) => {
      const w = window.open(url);
      for (let i = 0; i < 2400 && !w.closed; i++) await new Promise((done) => setTimeout(done, 25));
      return w.closed; // cut off: the opener sees a closed window
    }, stage.hub.url),
  ]);
  await popup.close();
  assert.equal(closed, true, 'the opener still holds the window');
});
