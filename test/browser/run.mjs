// Runs the browser tests: every .mjs file beside this one, each in a process of its
// own, two at a time, by Node's test runner. Names given as arguments run only those:
//
//   node run.mjs rooms        only rooms.mjs

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(dirname(fileURLToPath(import.meta.url)));

// Not tests: this file, and those that take pictures.
const others = [basename(fileURLToPath(import.meta.url)), 'shots.mjs', 'gallery.mjs'];
const only = process.argv.slice(2);
const files = readdirSync('.')
  .filter((name) => name.endsWith('.mjs') && !others.includes(name))
  .filter((name) => only.length === 0 || only.includes(basename(name, '.mjs')))
  .sort();

if (files.length === 0) {
  console.error('no browser test found');
  process.exit(1);
}

// The limit turns a hang into a named failure; it is far above what any test needs.
const scratch = mkdtempSync(join(tmpdir(), 'parley-browser-run-'));
const count = join(scratch, 'count');
const flags = [
  '--test', '--test-concurrency=2', '--test-timeout=900000',
  '--test-reporter=spec', '--test-reporter-destination=stdout',
  '--test-reporter=./lib/tally.mjs', `--test-reporter-destination=${count}`,
];
const { status, error } = spawnSync(process.execPath, [...flags, ...files], { stdio: ['ignore', 'inherit', 'inherit'] });
if (error) throw error;
process.stdout.write(readFileSync(count, 'utf8'));
rmSync(scratch, { recursive: true, force: true });
process.exit(status ?? 1);
