// A real browser for tests: headless, with a profile of its own and no traffic but ours.
//
//   import { test } from 'node:test';
//   import { withPage } from './lib/browser.mjs';
//
//   test('the page greets', () => withPage(async (page) => {
//     await page.goto(url);
//     …
//   }));

import { chromium } from 'playwright-core';

// Chromium looks for updates and talks to its maker's hosts unless told not to.
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  // Peers in one computer find each other by address; there is no name service for local ones here.
  '--disable-features=WebRtcHideLocalIpsWithMdns',
];

// The sandbox refuses to work for root, which is who CI is.
const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];

/** Starts the browser that `make test` found, or a program that starts it elsewhere. The caller closes it. */
export function launch(executablePath = process.env.PARLEY_CHROMIUM) {
  if (!executablePath) throw new Error('PARLEY_CHROMIUM must name a Chromium program: run the tests by `make test`');
  return chromium.launch({ executablePath, args: [...quiet, ...asRoot] });
}

/**
 * Runs fn with a page in a fresh profile and closes everything after it. A
 * script error on the page fails the test, whatever fn looked at.
 */
export async function withPage(fn, options = {}) {
  const browser = await launch();
  try {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(error));
    await fn(page, context);
    if (errors.length > 0) throw errors[0];
  } finally {
    await browser.close();
  }
}
