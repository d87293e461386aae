// What a test of the page needs: a hub, a browser, people who are signed in.
//
//   const stage = await Stage.open();
//   const page = await stage.person();          signed in, in a profile of its own
//   …
//   await stage.close();                        fails if a page had an error or broke the policy

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { afterEach } from 'node:test';
import { launch } from './browser.mjs';
import { startHub } from './hub.mjs';

if (!process.env.PARLEY_CHROMIUM && existsSync('/usr/bin/chromium')) process.env.PARLEY_CHROMIUM = '/usr/bin/chromium';

// Far above what anything needs: on a machine that does much else, slow is not wrong.
const PATIENCE = 120_000;

// A test that fails on a machine nobody can look at leaves what the newest pages showed.
const open = new Set();
afterEach(async (t) => {
  if (t.passed === false) for (const page of [...open].slice(-4)) console.log(`# shown at the failure: ${await shown(page)}`);
});

async function shown(page) {
  const text = await page.locator('body').innerText({ timeout: 2_000 }).catch((error) => error.message);
  return `${page.url()}: ${text.replaceAll(/\s+/g, ' ').slice(0, 1_500)}`;
}

export class Stage {
  faults = [];
  strangers = new Set();
  /** Addresses a page may ask. */
  own = [];

  static async open(env) {
    const stage = new Stage();
    stage.hub = await startHub(env);
    stage.own.push(stage.hub.url, byName(stage.hub.url));
    stage.browser = await launch();
    return stage;
  }

  /** A fresh profile with an empty page. */
  async visitor(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    this.#watch(page);
    open.add(page);
    page.on('close', () => open.delete(page));
    return page;
  }

  /** A fresh profile that followed a login link. */
  async person(options = {}) {
    const page = await this.visitor(options);
    await page.goto(await this.hub.loginLink());
    await page.locator('#page-title').waitFor();
    return page;
  }

  // Script errors, broken policy and requests to anybody else are faults of the
  // page whatever a test looks at.
  #watch(page) {
    page.on('pageerror', (error) => this.faults.push(`${page.url()}: ${error.stack}`));
    page.on('console', (message) => {
      if (/Content Security Policy|Permissions-Policy|Trusted(HTML|Script)|Refused to/i.test(message.text())) this.faults.push(message.text());
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && !this.own.includes(url.origin)) this.strangers.add(request.url());
    });
  }

  async close() {
    await this.browser?.close();
    await this.hub?.stop();
    assert.deepEqual(this.faults, [], 'the page had errors');
    assert.deepEqual([...this.strangers], [], 'the page asked somebody else');
  }
}

/** The hub's address with the name of this computer instead of its number. */
export function byName(url) {
  return url.replace('127.0.0.1', 'localhost');
}

/** Goes to a path inside the page, as a link would. */
export async function visit(page, path) {
  await page.goto(new URL(path, page.url()).href);
  await page.locator('#page-title').waitFor();
}
