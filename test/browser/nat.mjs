// Media between people and agents in two networks, each behind a router of its own, by the
// hub's TURN server. The networks are namespaces of this computer that nobody else sees; they
// are gone with the process that made them.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';

const root = process.getuid?.() === 0;
const alone = [...(root ? [] : ['--user', '--map-root-user']), '--net', '--mount', '--fork', '--kill-child'];

/** Why no networks can be made here, if so. */
function missing() {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  for (const [program, from] of [['ip', 'iproute2'], ['nft', 'nftables'], ['unshare', 'util-linux'], ['openssl', 'openssl']]) {
    if (spawnSync(program, [program === 'openssl' ? 'version' : '-V'], { stdio: 'ignore' }).error) return `install ${from}: ${program} is not there`;
  }
  const tried = spawnSync('unshare', [...alone, 'nft', 'add', 'table', 'ip', 'try'], { encoding: 'utf8' });
  return tried.status === 0 ? '' : `this system lets nobody make a network: ${tried.stderr.trim()}`;
}

const why = missing();
const strict = process.env.PARLEY_TEST_REQUIRE_ALL === '1' && process.platform === 'linux';

test('voice and screen cross two routers by the hub’s own relay: page, widget and a Go agent', { skip: strict ? false : why || false }, () => {
  assert.equal(why, '', 'what this test needs is not there');
  execFileSync('unshare', [...alone, process.execPath, 'lib/behindnat.mjs'], { stdio: ['ignore', 'inherit', 'inherit'] });
});
