// The audit trail, checked by the browser itself: what the hub hands out is
// believed only as far as hashes and signatures go.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
});
after(() => stage?.close());


/** Has the hub's export changed on its way to the page. */
async function tamper(page, change) {
  await page.route('**/api/audit/export', async (route) => {
    const answer = await route.fetch();
    const lines = (await answer.text()).trimEnd().split('\n');
    await route.fulfill({ response: answer, body: change(lines).join('\n') + '\n' });
  });
}

async function verdict(page) {
  await visit(page, '/audit');
  await page.getByRole('button', { name: 'Verify' }).click();
  const note = page.locator('.note[role=status]');
  await note.waitFor();
  return note.innerText();
}

test('an honest trail is unbroken, and the hub is not asked for its opinion', async () => {
  for (let n = 0; n < 30; n++) await stage.hub.call('POST', '/api/people', { name: `Person ${n} Ünïcode Ωmega 鴨 O'Neil` });
  const page = await stage.person();
  const asked = [];
  page.on('request', (r) => asked.push(new URL(r.url()).pathname));
  const text = await verdict(page);
  assert.match(text, /Unbroken\. \d+ entries( and \d+ signed checkpoints?)? fit together, checked by this browser\./);
  assert.ok(Number(/(\d+) entries/.exec(text)[1]) >= 30, text);
  assert.equal(asked.includes('/api/audit/verify'), false);
});

test('the chart counts what the filter lets through, and agrees with the entries listed', async () => {
  const page = await stage.person();
  await visit(page, '/audit');
  const chart = page.getByRole('img', { name: /^\d+ entr.* in 24 hours/ });
  await chart.waitFor();
  // What the bars say, one by one, against the figure that sums them up and the rows below.
  const counted = () => chart.locator('rect.back title').evaluateAll((all) => all.map((t) => Number(/: (\d+)/.exec(t.textContent)[1])));
  const sum = async () => (await counted()).reduce((a, b) => a + b, 0);
  // Read in one go: the chart is live.
  const [everything, summed] = await chart.evaluate((c) => [parseInt(c.getAttribute('aria-label'), 10), [...c.querySelectorAll('rect.back title')].reduce((sum, t) => sum + Number(/: (\d+)/.exec(t.textContent)[1]), 0)]);
  assert.equal(summed, everything);
  const { entries } = await stage.hub.call('GET', '/api/audit?action=person.added&limit=1000');
  assert.ok(entries.length >= 30 && entries.length < 50 && entries.length < everything);
  const steps = [
    ['action', 'person.added', entries.length, `${entries.length} entries in 24 hours, 0 not successful`],
    ['target', entries.at(-1).target, 1, '1 entry in 24 hours, 0 not successful'],
    ['outcome', 'error', 0, '0 entries in 24 hours, 0 not successful'],
  ];
  for (const [field, text, n, says] of steps) {
    await page.getByLabel(`Filter by ${field}`).fill(text);
    await page.getByRole('img', { name: says, exact: true }).waitFor();
    const listed = page.getByRole('button', { name: /Details of entry/ });
    await page.waitForFunction((n) => document.querySelectorAll('[aria-label^="Details of entry"]').length === n, n);
    assert.equal(await listed.count(), n);
    assert.equal(await sum(), n);
    const heights = await chart.locator('rect.bar').evaluateAll((all) => all.map((r) => Number(r.getAttribute('height')) > 0));
    assert.deepEqual(heights, (await counted()).map((c) => c > 0), 'a bar for each hour with entries');
  }
  // Whoever is turned away counts as not successful.
  await stage.hub.call('POST', '/api/session', { token: 'prl_wrong' }).catch(() => {});
  while (!(await stage.hub.call('GET', '/api/audit?action=auth.refused')).entries.length);
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Filter by action').fill('auth.refused');
  await page.getByRole('img', { name: '1 entry in 24 hours, 1 not successful' }).waitFor();
  assert.equal(await chart.locator('rect.bad').evaluateAll((all) => all.filter((r) => Number(r.getAttribute('height')) > 0).length), 1);
});

test('a changed entry is found and named', async () => {
  const page = await stage.person();
  await tamper(page, (lines) => lines.map((l) => l.replace('Person 7 ', 'Person 8 ')));
  const text = await verdict(page);
  const seq = Number(/broken at entry (\d+)/.exec(text)?.[1]);
  const { entries } = await stage.hub.call('GET', '/api/audit?action=person.added&limit=1000');
  assert.equal(seq, entries.find((e) => e.target.startsWith('Person 7 ')).seq, text);
});

test('a removed entry is found', async () => {
  const page = await stage.person();
  await tamper(page, (lines) => lines.filter((_, i) => i !== 4));
  assert.match(await verdict(page), /broken at entry 5: entry 5 is missing or out of order/);
});

test('a signature is checked, and a wrong one found', async () => {
  // A trail of another hub, which had the time to sign it.
  const signed = readFileSync('../../web/src/lib/testdata/audit-export.jsonl', 'utf8');
  const page = await stage.person();
  await page.route('**/api/status', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), public_key: 'I3nTukkXX+cOB40d9F24ImGJP7QKgU+8riT2/4xkytc=' } });
  });
  let body = signed;
  await page.route('**/api/audit/export', (route) => route.fulfill({ contentType: 'application/jsonl', body }));
  assert.match(await verdict(page), /Unbroken\. 6 entries and 1 signed checkpoint fit together, checked by this browser\. The last signature covers entry 5\./);
  body = signed.replace('"signature":"85', '"signature":"86');
  assert.match(await verdict(page), /broken at entry 5: a checkpoint’s signature is wrong/);
});

test('a signature by another key is found', async () => {
  const { publicKey, privateKey } = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  const hex = (data) => Buffer.from(data).toString('hex');
  const key = hex(await crypto.subtle.exportKey('raw', publicKey));
  const page = await stage.person();
  await page.route('**/api/audit/export', async (route) => {
    const answer = await route.fetch();
    const entries = (await answer.text()).trimEnd().split('\n').filter((l) => !l.startsWith('{"checkpoint"'));
    const { hash, seq } = JSON.parse(entries.at(-1));
    const at = Date.now() * 1000;
    const signature = hex(await crypto.subtle.sign('Ed25519', privateKey, Buffer.from(`parley-audit-checkpoint-v1\n${seq}\n${hash}\n${at}\n${key}`)));
    const forged = `{"checkpoint":{"at":${at},"hash":"${hash}","public_key":"${key}","seq":${seq},"signature":"${signature}"}}`;
    await route.fulfill({ response: answer, body: [...entries, forged].join('\n') + '\n' });
  });
  assert.match(await verdict(page), /signature is wrong or by an unknown key/);
});

test('a browser without Ed25519 says what it did not check', async () => {
  const page = await stage.visitor();
  await page.addInitScript(() => {
    const importKey = SubtleCrypto.prototype.importKey;
    SubtleCrypto.prototype.importKey = function (format, data, algorithm, ...rest) {
      if (algorithm === 'Ed25519') return Promise.reject(new DOMException('no such algorithm', 'NotSupportedError'));
      return importKey.call(this, format, data, algorithm, ...rest);
    };
  });
  await page.goto(await stage.hub.loginLink());
  await page.locator('#page-title').waitFor();
  const { public_key: key } = await stage.hub.call('GET', '/api/status');
  // A young hub has signed nothing yet; this line makes the browser meet a signature.
  await tamper(page, (lines) => {
    const { hash, seq } = JSON.parse(lines.findLast((l) => !l.startsWith('{"checkpoint"')));
    return [...lines, `{"checkpoint":{"at":1,"hash":"${hash}","public_key":"${Buffer.from(key, 'base64').toString('hex')}","seq":${seq},"signature":"${'00'.repeat(64)}"}}`];
  });
  assert.match(await verdict(page), /Unbroken\. \d+ entries fit together.*Signatures not checked by this browser/s);
});

test('actions are told in words with their code beside them, and found by either', async () => {
  await stage.hub.call('POST', '/api/people', { name: 'Worded' });
  const page = await stage.person();
  await visit(page, '/audit');
  const rows = page.getByRole('region', { name: 'Table' }).getByRole('row');
  const added = rows.filter({ hasText: 'Person added' }).first();
  await added.getByText('person.added', { exact: true }).waitFor();
  for (const [text, says] of [['person.added', 'Person added'], ['person add', 'Person added'], ['browser signed in', 'page.opened']]) {
    await page.getByLabel('Filter by action').fill(text);
    await rows.nth(1).filter({ hasText: says }).waitFor();
    await page.waitForFunction((says) => [...document.querySelectorAll('tbody tr')].every((r) => r.textContent.includes(says)), says);
  }
  // Several have such a name: they are offered.
  await page.getByLabel('Filter by action').fill('refused');
  await page.getByRole('button', { name: 'Sign-in refused' }).click();
  assert.equal(await page.getByLabel('Filter by action').inputValue(), 'auth.refused');
  await visit(page, '/');
  const lately = page.getByRole('region', { name: 'Last 24 hours' }).getByRole('listitem');
  await lately.filter({ hasText: 'Browser signed in' }).filter({ hasText: 'page.opened' }).first().waitFor();
});

test('a cut that kept checkpoints show is told before anybody asks, and who acknowledged it', async () => {
  const page = await stage.person();
  const kept = '/var/lib/parley/audit/checkpoints.jsonl';
  let compared = { kept: [{ where: kept, agree: 1, last: 800 }], cuts: [{ after: 812, exact: true, up_to: 900, kept }] };
  await page.route('**/api/audit/compare', (route) => route.fulfill({ json: compared }));
  await visit(page, '/audit');
  const alert = page.getByRole('alert').filter({ hasText: 'cut off' });
  await alert.waitFor();
  assert.match(await alert.innerText(), /cut off at entry 812\. The trail ends at 812, but a checkpoint kept in \S+checkpoints\.jsonl signs entry 900\./);
  compared.cuts[0].acknowledged = { by: 'person:owner', at: '2026-03-02T09:14:00Z', seq: 815, reason: 'a restored <b>backup</b>' };
  assert.match(await verdict(page), /What is left is unbroken\./);
  assert.match(await page.locator('.note.warn').innerText(), /Cut at entry 812, acknowledged by person:owner on .*: a restored <b>backup<\/b>\./);
  compared = { kept: [{ where: kept, agree: 1, last: 800 }] };
  assert.match(await verdict(page), /^Unbroken\./);
  await page.getByText('The end of the trail agrees with the checkpoints kept outside the database, in 1 place.').waitFor();
});
