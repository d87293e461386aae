// Passkeys, with an authenticator that the browser plays. They are bound to a
// name, so all of it happens on localhost.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, byName, visit } from './lib/stage.mjs';

let stage;
before(async () => {
  stage = await Stage.open();
});
after(() => stage?.close());


/** A page whose device has a fingerprint reader that always finds the right finger. */
async function device() {
  const page = await stage.visitor();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return {
    page,
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    finger: (right) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: right }),
  };
}

async function signInByLink(page) {
  await page.goto(byName(await stage.hub.loginLink()));
  await page.locator('#page-title').waitFor();
}

async function addPasskey(page, name) {
  await visit(page, '/settings/devices');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('What to call it').fill(name);
  await page.getByRole('button', { name: 'Add it' }).click();
  await row(page, name).waitFor();
}

async function signOut(page) {
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await page.getByLabel('Code', { exact: true }).waitFor();
}

const row = (page, name) => page.getByRole('region', { name: 'Passkeys' }).getByRole('row', { name: new RegExp(name) });
const usePasskey = (page) => page.getByRole('button', { name: 'Use a passkey' }).click();

test('a passkey is added, signs in, is removed and then refused', async () => {
  const { page, credentials } = await device();
  await signInByLink(page);
  await addPasskey(page, 'Thumb');
  assert.match(await row(page, 'Thumb').innerText(), /never/);
  const [kept] = await credentials();
  assert.equal(kept.rpId, 'localhost');
  assert.equal(kept.isResidentCredential, true);

  await signOut(page);
  await usePasskey(page);
  await page.locator('#page-title').waitFor();
  await visit(page, '/settings/devices');
  await row(page, 'Thumb').waitFor();
  assert.doesNotMatch(await row(page, 'Thumb').innerText(), /never/);

  await row(page, 'Thumb').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  // What was signed in with it ends with it, this page too.
  await page.getByLabel('Code', { exact: true }).waitFor();
  await usePasskey(page);
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /does not know this passkey, or it was removed/);
  await page.reload();
  await page.getByLabel('Code', { exact: true }).waitFor();
});

test('the wrong finger does not sign in, and is told what happened', async () => {
  const { page, finger } = await device();
  await signInByLink(page);
  await addPasskey(page, 'Index finger');
  await signOut(page);
  await finger(false);
  await usePasskey(page);
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /cancelled, took too long/);
  await finger(true);
  await usePasskey(page);
  await page.locator('#page-title').waitFor();
});

test('the same device is not added twice', async () => {
  const { page, credentials } = await device();
  await signInByLink(page);
  await addPasskey(page, 'Ring finger');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.getByText(/has a passkey for this hub already/).waitFor();
  assert.equal((await credentials()).length, 1);
});

test('an old browser that cannot convert options by itself can use them too', async () => {
  const { page } = await device();
  await page.addInitScript(() => {
    delete PublicKeyCredential.parseCreationOptionsFromJSON;
    delete PublicKeyCredential.parseRequestOptionsFromJSON;
    delete PublicKeyCredential.prototype.toJSON;
  });
  await signInByLink(page);
  await addPasskey(page, 'Old phone');
  await signOut(page);
  await usePasskey(page);
  await page.locator('#page-title').waitFor();
});

test('on a number instead of a name the page says where passkeys work, and takes the person along', async () => {
  const out = await stage.visitor();
  await out.goto(stage.hub.url);
  await out.getByRole('link', { name: /Open localhost/ }).waitFor();
  assert.equal(await out.getByRole('button', { name: 'Use a passkey' }).isDisabled(), true);

  const page = await stage.person();
  await visit(page, '/settings/devices');
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).isDisabled(), true);
  await page.getByRole('link', { name: /Open this page on localhost/ }).click();
  await page.waitForURL(`${byName(stage.hub.url)}/settings/devices`);
  await page.getByRole('button', { name: 'Add a passkey' }).and(page.locator(':enabled')).waitFor();
});
