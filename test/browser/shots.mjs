// Takes the pictures for the documentation, from the real hub and the real page:
//
//   node shots.mjs            into docs/images, or into PARLEY_SHOTS
//
// Not a test; run.mjs leaves it out. What happens on them is in lib/scenes.mjs.

import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Scene, remember } from './lib/scenes.mjs';
import { visit } from './lib/stage.mjs';

process.chdir(dirname(fileURLToPath(import.meta.url)));
const folder = process.env.PARLEY_SHOTS || resolve('../../docs/images');
const LIMIT = 150 * 1024;

async function shoot(page, name) {
  await page.locator('.shimmer').first().waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).and(page.locator(':visible')).first().waitFor();
  for (const button of await page.getByRole('button', { name: 'Approve' }).all()) await button.and(page.locator(':enabled')).waitFor();
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  console.log(`${name}.png ${(size / 1024).toFixed(0)} KB`);
  if (size > LIMIT) throw new Error(`${name}.png is larger than ${LIMIT / 1024} KB`);
}

mkdirSync(folder, { recursive: true });
const scene = await Scene.open();
try {
  const scenes = await scene.play();
  const page = await scene.stage.person();
  await remember(page);
  const paths = { home: '/', inbox: '/inbox', machines: '/machines', machine: '/machines/nas', place: '/place', audit: '/audit', cluster: '/settings/cluster' };
  for (const colorScheme of ['light', 'dark']) {
    for (const p of [page, ...Object.values(scenes)]) {
      await p.emulateMedia({ colorScheme });
      await p.setViewportSize({ width: 1280, height: 800 });
    }
    for (const [name, scene] of Object.entries(scenes)) await shoot(scene, `${name}-${colorScheme}`);
    for (const [name, path] of Object.entries(paths)) {
      await visit(page, path);
      if (name === 'audit') {
        await page.getByRole('button', { name: 'Verify' }).click();
        await page.getByText('Unbroken.').waitFor();
      }
      await shoot(page, `${name}-${colorScheme}`);
    }
  }
  for (const name of ['chat', 'task']) {
    await scenes[name].emulateMedia({ colorScheme: 'light' });
    await scenes[name].setViewportSize({ width: 390, height: 844 });
    await shoot(scenes[name], `${name}-phone`);
  }
} finally {
  await scene.close();
}
