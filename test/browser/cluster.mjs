// Two real hubs on one PostgreSQL and one NATS server, as the page shows them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startEngines } from './lib/engines.mjs';
import { joinHub } from './lib/hub.mjs';
import { Stage, visit } from './lib/stage.mjs';

let engines, stage, second;
before(async () => {
  engines = await startEngines();
  const env = { PARLEY_DB: engines.db, PARLEY_NATS: engines.nats };
  stage = await Stage.open(env);
  second = await joinHub(env);
  stage.own.push(second.url);
});
after(async () => {
  await second?.stop();
  await stage?.close();
  await engines?.stop();
});

test('two hubs of a cluster are shown by either, and the one that dies is shown as silent', async () => {
  const page = await stage.person();
  const rows = page.getByRole('region', { name: 'Hubs and what they hold' }).getByRole('row').filter({ has: page.getByRole('cell') });
  const here = () => rows.filter({ hasText: 'this one' }).locator('code').innerText();
  const told = async () => {
    await visit(page, '/settings/cluster');
    await page.getByText('2 hubs share the work').waitFor();
    await rows.filter({ hasText: 'alive' }).nth(1).waitFor();
    assert.equal(await rows.count(), 2);
    await page.getByText('PostgreSQL, shared').waitFor();
    await page.getByText('NATS, shared').waitFor();
    await page.getByText('answers', { exact: true }).nth(1).waitFor(); // the database and the bus
    return here();
  };
  const first = await told();
  // The same person, by the same cookie, at the other hub: the session is in what they share.
  await page.goto(second.url);
  const other = await told();
  assert.notEqual(other, first);
  await page.goto(stage.hub.url);
  assert.equal(await told(), first);
  await second.kill();
  await rows.filter({ hasText: other }).getByText('silent').waitFor();
  await page.getByText('One hub runs.').waitFor();
});
