// The shell of the page: signing in, what is shown to whom, settings.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, visit } from './lib/stage.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
});
after(() => stage?.close());

test('a login link signs in, leaves the address at once and works once', async () => {
  const link = await stage.hub.loginLink();
  const page = await stage.visitor();
  await page.goto(link);
  await page.locator('#page-title').waitFor();
  assert.equal(page.url(), stage.hub.url + '/');
  assert.equal(await page.evaluate(() => document.cookie), '', 'scripts can read the session');
  const late = await stage.visitor();
  await late.goto(link);
  await late.getByRole('alert').waitFor();
  assert.match(await late.getByRole('alert').innerText(), /work once/);
  assert.equal(new URL(late.url()).hash, '');
});

test('a token signs in, and a wrong one says so', async () => {
  const page = await stage.visitor();
  await page.goto(stage.hub.url);
  await page.getByRole('tab', { name: 'Token' }).click();
  await page.getByLabel('Token', { exact: true }).and(page.locator('input')).fill('prl_' + 'x'.repeat(43));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await page.locator('#token').fill(stage.hub.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#page-title').waitFor();
});

test('a pairing code lets a phone in with narrower rights, and revoking puts it out', async () => {
  const owner = await stage.person();
  await visit(owner, '/settings/devices');
  await owner.getByRole('button', { name: 'Pair a device' }).click();
  const offered = await owner.locator('dialog input[type=checkbox]:checked').count();
  assert.ok(offered > 0);
  await owner.getByRole('button', { name: 'Show the code' }).click();
  const code = await owner.getByLabel('Pairing code', { exact: true }).innerText();
  const phone = await stage.visitor({ viewport: { width: 375, height: 720 } });
  await phone.goto(stage.hub.url);
  await phone.getByLabel('Code', { exact: true }).fill(code);
  await phone.getByLabel('This device is called').fill('Test phone');
  await phone.getByRole('button', { name: 'Sign in' }).click();
  await phone.locator('#page-title').waitFor();
  assert.equal(await phone.getByRole('link', { name: 'Audit' }).count(), 0, 'a page is offered that it may not see');
  await visit(phone, '/audit');
  await phone.getByText('You may not see this').waitFor();

  await owner.getByRole('button', { name: 'Done' }).click();
  await owner.getByRole('row', { name: /Test phone/ }).getByRole('button', { name: 'Revoke' }).click();
  await owner.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await owner.getByRole('row', { name: /Test phone/ }).waitFor({ state: 'detached' });
  await phone.reload();
  await phone.getByLabel('Code', { exact: true }).waitFor();
});

test('home says what the hub is and that it is well', async () => {
  const page = await stage.person();
  await page.getByText('The hub is healthy.').waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
  assert.match(await page.title(), /Home/);
});

test('the palette goes to pages and does things', async () => {
  const page = await stage.person();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('audit');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('theme dark');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('the navigation leads to every part, by mouse and by keyboard, and says where one is', async () => {
  const page = await stage.person();
  const parts = { Home: '/', Inbox: '/inbox', Agents: '/agents', Tasks: '/tasks', Terminals: '/terminals', Rooms: '/rooms', Machines: '/machines', 'Meeting place': '/place', Audit: '/audit', Settings: '/settings' };
  const links = page.locator('nav.side').getByRole('link');
  for (const [how, go] of Object.entries({ mouse: (link) => link.click(), keyboard: (link) => link.press('Enter') })) {
    for (const [name, path] of Object.entries(parts)) {
      const link = links.filter({ hasText: new RegExp(`^\\s*${name}`) });
      await go(link);
      await page.waitForURL((url) => url.pathname === path || (path === '/settings' && url.pathname.startsWith(path)));
      await page.locator('#page-title').waitFor();
      await link.and(page.locator('[aria-current=page]')).waitFor();
      assert.equal(await links.and(page.locator('[aria-current=page]')).count(), 1, `${name} by ${how}`);
      await page.getByText('There is no such page').waitFor({ state: 'detached' });
    }
  }
});

test('the audit can be filtered, verified and exported', async () => {
  const page = await stage.person();
  await visit(page, '/audit');
  await page.getByRole('button', { name: /Details of entry/ }).first().click();
  await page.getByText('Hash', { exact: true }).waitFor();
  await page.getByLabel('Filter by action').fill('no.such.action');
  await page.getByText('No entry fits the filter').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('button', { name: /Details of entry/ }).first().waitFor();
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByText('Unbroken.').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export' }).click()]);
  assert.equal(file.suggestedFilename().endsWith('.jsonl'), true);
});

test('a token is made, shown once, rotated and revoked', async () => {
  const page = await stage.person();
  await visit(page, '/settings/tokens');
  await page.getByRole('button', { name: 'Make a token' }).click();
  await page.getByLabel('Name').fill('a script');
  await page.getByRole('button', { name: 'Make it' }).click();
  const secret = await page.getByLabel('Token', { exact: true }).innerText();
  assert.match(secret, /^prl_[\w-]{43}$/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText(secret).waitFor({ state: 'detached' });
  const row = page.getByRole('row', { name: /a script/ });
  await row.getByRole('button', { name: 'Rotate' }).click();
  assert.notEqual(await page.getByLabel('Token', { exact: true }).innerText(), secret);
  await page.getByRole('button', { name: 'Done' }).click();
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await row.waitFor({ state: 'detached' });
});

test('a person is added and comes in by a link that works once', async () => {
  const page = await stage.person();
  await visit(page, '/settings/people');
  await page.getByRole('button', { name: 'Add a person' }).click();
  await page.getByLabel('Name').fill('grace');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const link = await page.getByLabel('Sign-in link', { exact: true }).innerText();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('cell', { name: 'grace', exact: true }).waitFor();
  const grace = await stage.visitor();
  await grace.goto(link);
  await grace.locator('nav.side').getByText('grace', { exact: true }).waitFor();
  await visit(grace, '/settings');
  assert.equal(await grace.getByRole('link', { name: 'People' }).count(), 0, 'a newcomer is offered other people');
});

test('settings show the hubs, what they hold and share, and how clients come in', async () => {
  const page = await stage.person();
  await visit(page, '/settings/cluster');
  await page.getByText('This hub is alone').waitFor();
  const row = page.getByRole('region', { name: 'Hubs and what they hold' }).getByRole('row').nth(1);
  await row.getByText('this one').waitFor();
  await row.getByText('alive').waitFor();
  // This computer is in the fleet: the machine is held here.
  const machines = await page.getByRole('columnheader').allInnerTexts().then((heads) => heads.findIndex((h) => /machines/i.test(h)));
  await page.waitForFunction((i) => document.querySelector('tbody tr')?.children[i]?.textContent === '1', machines);
  await page.getByText('SQLite, one file').waitFor();
  await page.getByText('None: only this computer can connect').waitFor();
  await page.getByText(stage.hub.url, { exact: true }).waitFor();
});

test('what an agent may spend is set on the page and kept in its file', async () => {
  const page = await stage.person();
  await visit(page, '/settings/models');
  await page.getByRole('button', { name: 'Change the budget of parley' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('A day, USD').fill('2.5');
  await dialog.getByLabel('A month, USD').fill('20');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('of $2.50').waitFor();
  await page.reload();
  await page.getByText('of $20.00').waitFor();
  assert.deepEqual((await stage.hub.call('GET', '/api/agents/parley')).budget.day_usd, 2.5);
  await page.getByRole('button', { name: 'Change the budget of parley' }).click();
  for (const field of ['A day, USD', 'A month, USD']) await page.getByRole('dialog').getByLabel(field).fill('');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('of $2.50').waitFor({ state: 'detached' });
});

test('a backup of everything is one button', async () => {
  const page = await stage.person();
  await visit(page, '/settings');
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download a backup' }).click()]);
  assert.equal(file.suggestedFilename(), 'parley-backup.tar.gz');
});

test('somebody with few scopes sees what they may and is told about the rest', async () => {
  const { token } = await stage.hub.call('POST', '/api/tokens', { name: 'a guest', role: 'operator', scopes: ['status:read', 'task:read'], ttl: '1h' });
  const page = await stage.visitor();
  await page.goto(stage.hub.url);
  await page.getByRole('tab', { name: 'Token' }).click();
  await page.locator('#token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The hub is healthy.').waitFor();
  assert.deepEqual(await page.locator('nav.side li').allInnerTexts(), ['Home', 'Tasks', 'Settings']);
  await visit(page, '/tasks');
  await page.getByText('No task yet').waitFor();
  assert.equal(await page.getByRole('link', { name: 'New task' }).count(), 0);
  for (const path of ['/inbox', '/agents', '/terminals', '/rooms', '/machines', '/place', '/audit', '/settings/people', '/settings/cluster', '/settings/tokens', '/settings/models']) {
    await visit(page, path);
    await page.getByText('You may not see this').waitFor();
  }
});

test('without the network the page says so and goes on by itself', async () => {
  const page = await stage.person();
  await page.getByText('Live', { exact: true }).first().waitFor();
  await page.context().setOffline(true);
  await page.getByText('Offline', { exact: true }).first().waitFor();
  await page.context().setOffline(false);
  await page.getByText('Live', { exact: true }).first().waitFor();
});

test('the shell opens without the hub and says what to do', async () => {
  const page = await stage.person();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.locator('#page-title').waitFor();
  await page.context().setOffline(true);
  await page.reload();
  await page.getByText('The hub cannot be reached').waitFor();
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('#page-title').waitFor();
});

test('a hub that is killed and comes back: every page says so, keeps what it shows and goes on', async () => {
  const pages = [];
  // Three profiles, because one has only so many connections.
  for (const paths of [['/', '/tasks', '/machines'], ['/agents', '/rooms', '/place'], ['/inbox', '/terminals', '/audit', '/settings/cluster']]) {
    const first = await stage.person();
    for (const path of paths) {
      const page = path === paths[0] ? first : await first.context().newPage();
      await page.goto(stage.hub.url + path);
      pages.push(page);
    }
  }
  for (const page of pages) await page.getByText('Live', { exact: true }).first().waitFor();
  await stage.hub.kill();
  for (const page of pages) {
    await page.locator('[role=status].pill:visible').filter({ hasText: /Reconnecting|Offline/ }).waitFor();
    await page.locator('#page-title').waitFor();
  }
  await stage.hub.restart();
  for (const page of pages) {
    await page.getByText('Live', { exact: true }).first().waitFor();
    await page.getByText('cannot be reached').waitFor({ state: 'detached' });
    await page.close();
  }
});

test('many tabs can be open at once: those nobody looks at share one connection', async () => {
  const first = await stage.person();
  const hide = (page, hidden) => page.evaluate((h) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => h });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const tabs = [first];
  for (let i = 0; i < 8; i++) {
    await hide(tabs.at(-1), true);
    const tab = await first.context().newPage();
    await tab.goto(`${stage.hub.url}/settings`);
    await tab.getByText('Live', { exact: true }).first().waitFor();
    tabs.push(tab);
  }
  await hide(tabs.at(-1), true);
  await hide(tabs[3], false);
  await tabs[3].getByText('Live', { exact: true }).first().waitFor();
});

test('a room is opened on the page; its policy is edited there, and a stranger enters by an invitation', async () => {
  const host = await stage.person();
  await stage.hub.call('POST', '/api/rooms', { room: 'parlour', policy: { humans: { mode: 'invite' }, agents: { mode: 'gated' } } });
  await visit(host, '/rooms');
  await host.getByRole('link', { name: /parlour/ }).first().click();
  await host.getByRole('button', { name: 'Enter' }).click();
  await host.getByRole('button', { name: 'Policy' }).click();
  const policy = host.getByRole('dialog', { name: 'Policy of parlour' });
  await policy.getByLabel('Places').fill('7');
  await policy.getByRole('button', { name: 'Save' }).click();
  await host.getByText('The policy holds now.').waitFor();
  assert.equal((await stage.hub.call('GET', '/api/rooms/parlour/policy')).policy.max, 7);
  await host.keyboard.press('Escape');

  const stranger = await stage.visitor();
  await stranger.goto(`${stage.hub.url}/r/parlour`);
  await stranger.getByRole('button', { name: 'Enter' }).click();
  await stranger.getByText('This room is for invited people.').waitFor();
  await host.getByRole('button', { name: 'Invite' }).click();
  await host.getByLabel('Name', { exact: true }).fill('Ines');
  await host.getByRole('button', { name: 'Make the link' }).click();
  const guest = await stage.visitor();
  await guest.goto(await host.getByLabel('Invite link').innerText());
  await guest.getByLabel('Your name here').fill('Ines');
  await guest.getByRole('button', { name: 'Enter' }).click();
  await guest.getByRole('log', { name: 'Chat' }).waitFor();
  await host.keyboard.press('Escape');
  await host.getByRole('list', { name: 'People and agents' }).getByText('Ines').waitFor();
});

test('a policy is a form: what is wrong is said at the field, what it does not know stays, and a reload shows what was saved', async () => {
  const grant = { perceive: ['read-chat'], act: [] };
  const { key } = await stage.hub.call('POST', '/api/rooms', { room: 'study', policy: { host: { key: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }, agents: { ca: { grant } } } });
  assert.ok(key);
  const saved = async () => (await stage.hub.call('GET', '/api/rooms/study/policy')).policy;
  const host = await stage.person();
  const open = async () => {
    await host.goto(`${stage.hub.url}/r/study`);
    await host.getByRole('button', { name: 'Policy' }).or(host.getByRole('button', { name: 'Enter' })).first().waitFor();
    if (await host.getByRole('button', { name: 'Enter' }).count()) await host.getByRole('button', { name: 'Enter' }).click();
    await host.getByRole('button', { name: 'Policy' }).click();
    await form.getByLabel('Places').waitFor();
  };
  const form = host.getByRole('dialog', { name: 'Policy of study' });
  const field = (label) => form.getByLabel(label, { exact: true });
  const save = () => form.getByRole('button', { name: 'Save' }).click();
  await open();

  // The page's own checks, at the field, with the focus on the first.
  await field('Places').fill('0');
  await field('Who may enter').selectOption('oidc');
  await field('Identity provider').fill('ftp://id.example');
  await save();
  await form.getByText('A whole number from 1 to 10000.').waitFor();
  await form.getByText('An address that begins with https://.').waitFor();
  assert.equal(await field('Places').getAttribute('aria-invalid'), 'true');
  assert.equal(await host.evaluate(() => document.activeElement.id), 'p-max');
  assert.equal((await saved()).max, 32);

  // What only the hub finds wrong is said there, too.
  await field('Places').fill('12');
  await field('Who may enter').selectOption('invite');
  await field('Notice').fill('n'.repeat(80_000));
  await save();
  await form.getByRole('alert').filter({ hasText: 'notice is too long' }).waitFor();
  assert.equal(await field('Notice').getAttribute('aria-invalid'), 'true');

  // By keyboard: a checkbox with Space, saved with Enter.
  await field('Notice').fill('Mind the step');
  await field('Waiting room').focus();
  await host.keyboard.press('Space');
  await field('What people may').selectOption('only this');
  await form.getByLabel('speak, show a camera or screen').first().uncheck();
  await field('Who shows the app’s state').fill('host\n\nhumans\n');
  const files = host.waitForEvent('download');
  await form.getByRole('button', { name: 'Make an agent\'s key' }).click();
  await files;
  await form.getByLabel('Name', { exact: true }).fill('scribe');
  await field('Notice').press('Enter');
  await host.getByText('The policy holds now.').first().waitFor();
  const now = await saved();
  assert.deepEqual([now.max, now.notice, now.lobby.on, now.humans.mode, now.views.publishers], [12, 'Mind the step', true, 'invite', ['host', 'humans']]);
  assert.ok(now.humans.grant.perceive.includes('read-chat') && !now.humans.grant.act.includes('speak'), JSON.stringify(now.humans.grant));
  assert.equal(now.agents.keys[0].label, 'scribe');
  assert.ok(!('d' in now.agents.keys[0].key), 'the private key was sent');
  assert.deepEqual(now.agents.ca.grant, grant, 'what the form does not know is gone');
  assert.equal(now.host.key.x, 'AA');

  // A reload shows it; the rest is behind the disclosure, where it can be changed as well.
  await open();
  assert.equal(await field('Places').inputValue(), '12');
  assert.ok(await field('Waiting room').isChecked());
  assert.equal(await field('Who may enter').inputValue(), 'invite');
  await form.getByText('Show as JSON').click();
  await form.getByText('agents.ca.grant', { exact: true }).waitFor();
  const json = form.getByLabel('The whole policy');
  await json.fill('{ not a policy');
  await save();
  await form.getByRole('alert').filter({ hasText: 'This is no policy' }).waitFor();
  await json.fill(JSON.stringify({ ...now, max: 13 }));
  assert.equal(await field('Places').inputValue(), '13');
  await json.fill(JSON.stringify({ ...now, max: 13, maximum: 2 }));
  await save();
  await form.getByRole('alert').filter({ hasText: 'unknown field' }).waitFor();
  await json.fill(JSON.stringify({ ...now, max: 13 }));

  // Whoever was faster is not overwritten.
  await stage.hub.call('PUT', '/api/rooms/study/policy', { ...now, max: 20 });
  await save();
  await form.getByRole('button', { name: 'Show what holds now' }).click();
  await form.getByRole('alert').waitFor({ state: 'detached' });
  assert.equal(await field('Places').inputValue(), '20');
});

test('an unknown page says so', async () => {
  const page = await stage.person();
  await visit(page, '/nowhere');
  await page.getByText('There is no such page').waitFor();
});

test('signing out ends the session', async () => {
  const page = await stage.person();
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  await page.reload();
  await page.getByLabel('Code', { exact: true }).waitFor();
});
