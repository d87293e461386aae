// A hub to test the page against: started from PARLEY_BIN or bin/parley in a
// temporary folder, with the offline model.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const built = resolve('../../bin/parley');
// Programs that take their time and whose answers no test looks at.
const PATH = `${resolve('lib/quiet')}:${process.env.PATH}`;
const program = process.env.PARLEY_BIN || built;
if (!existsSync(program)) throw new Error(`${program} is not there: build it with 'make build', or name one in PARLEY_BIN`);

/** Starts it; more is added to its environment. */
export async function startHub(more = {}, address = ANY) {
  const data = mkdtempSync(join(tmpdir(), 'parley-browser-'));
  const env = { ...process.env, PATH, PARLEY_MODEL: 'offline', PARLEY_NET_ALLOW_PRIVATE: '127.0.0.0/8', ...more };
  const run = (listen) => spawn(program, ['up', '--data', data, '--listen', listen], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let child = run(address);
  const [first] = await printed(child, /https?:\/\/\S+#login=\S+/);
  const { origin: url, host } = new URL(first);
  const token = readFileSync(join(data, 'owner.token'), 'utf8').trim();
  const call = async (method, path, body) => {
    const answer = await fetch(url + path, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  };
  const end = (signal) => {
    const ended = new Promise((done) => child.on('exit', done));
    child.kill(signal);
    return ended;
  };
  let used = false;
  return {
    url, token, call, data,
    loginLink: async () => {
      if (!used) {
        used = true;
        return first;
      }
      return url + (await call('POST', '/api/login-links', {})).path;
    },
    /** As a power cut would: at once. */
    kill: () => end('SIGKILL'),
    /** The same hub again, after kill. */
    restart: async () => {
      // While it was away somebody else may have been given its port for a moment.
      for (let up = false; !up; ) {
        child = run(host);
        up = await printed(child, READY).then(() => true, () => false);
      }
    },
    stop: async () => {
      await end('SIGTERM');
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Another hub of a cluster, whose engines env names: { url, kill, stop }. */
export async function joinHub(more) {
  const data = mkdtempSync(join(tmpdir(), 'parley-browser-'));
  const env = { ...process.env, PATH, PARLEY_MODEL: 'offline', PARLEY_NET_ALLOW_PRIVATE: '127.0.0.0/8', ...more };
  const child = spawn(program, ['serve', '--data', data, '--listen', ANY], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.on('exit', done));
  const [, url] = await printed(child, READY);
  const end = (signal) => (child.kill(signal), ended);
  return {
    url,
    kill: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGTERM');
      rmSync(data, { recursive: true, force: true });
    },
  };
}

// Each hub takes whichever port is free and says which: a port looked up beforehand
// may be somebody else's by the time it is used.
const ANY = '127.0.0.1:0';
const READY = /"msg":"the hub is ready","url":"([^"]+)"/;

/** Waits until a program has printed what fits; fails if it ends before. */
export function printed(child, wanted) {
  let output = '';
  return new Promise((done, fail) => {
    const read = (chunk) => {
      if (output === null) return;
      output += chunk;
      const found = wanted.exec(output);
      if (!found) return;
      output = null;
      done(found);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('exit', (code) => fail(new Error(`${child.spawnfile} ended with ${code}:\n${output ?? ''}`)));
  });
}
