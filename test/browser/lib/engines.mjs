// The engines that several hubs share: a PostgreSQL and a NATS server of the test's own.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join, resolve } from 'node:path';
import { printed } from './hub.mjs';

const root = resolve('../..');
const tools = join(root, '.tools');

/** Starts both: { db, nats, stop }. */
export async function startEngines() {
  const server = spawn(natsProgram(), ['--addr', '127.0.0.1', '--port', '-1'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const [, port] = await printed(server, /client connections on 127\.0\.0\.1:(\d+)[^]*Server is ready/);
  const postgres = await startPostgres();
  return {
    db: postgres.url,
    nats: `nats://127.0.0.1:${port}`,
    stop: async () => {
      server.kill('SIGTERM');
      await postgres.stop();
    },
  };
}

// pgserver runs a command beside a server and stops it when the command ends: this one tells the address and waits.
async function startPostgres() {
  const program = join(tools, 'bin', 'pgserver');
  assert.ok(existsSync(program), `${program} is missing: make setup builds it`);
  const child = spawn(program, ['sh', '-c', 'echo "$PARLEY_TEST_PG"; cat >/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.on('exit', done));
  const url = await line(child.stdout, (text) => text.startsWith('postgres://'), 'PostgreSQL');
  return { url, stop: () => (child.stdin.end(), ended) };
}

// The tests in Go build the same program to the same place.
function natsProgram() {
  const module = 'github.com/nats-io/nats-server/v2';
  const go = (...args) => execFileSync('go', args, { cwd: root, encoding: 'utf8', env: { ...process.env, CGO_ENABLED: '0' } }).trim();
  const built = existsSync(tools) ? readdirSync(tools).find((name) => name.startsWith('nats-server-')) : undefined;
  if (built) return join(tools, built);
  const path = join(tools, `nats-server-${go('list', '-m', '-f', '{{.Version}}', module)}-${go('env', 'GOOS')}-${go('env', 'GOARCH')}`);
  go('build', '-o', path, module);
  return path;
}

function line(stream, wanted, who) {
  return new Promise((done, fail) => {
    const lines = createInterface({ input: stream });
    lines.on('line', (text) => wanted(text) && (done(text), lines.close()));
    lines.on('close', () => fail(new Error(`${who} did not start`)));
  });
}
