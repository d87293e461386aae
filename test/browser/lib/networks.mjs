// Two homes behind routers, and the internet between them, inside one network namespace.
//
//   internet   203.0.113.1        where this process is
//   a, b       10.1.0.2, 10.2.0.2 behind 203.0.113.11 and .12
//
// A router gives each connection another port and lets nobody in who was not asked, so two
// homes do not find each other without help.

import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const INTERNET = '203.0.113.1';
export const homes = ['a', 'b'];

const run = (text) => execFileSync('/bin/sh', ['-ec', text], { stdio: ['ignore', 'ignore', 'inherit'] });

export function build() {
  run(`mount -t tmpfs none /run/netns 2>/dev/null || { mkdir -p /run/netns && mount -t tmpfs none /run/netns; }
    ip link set lo up
    ip link add wan type bridge && ip addr add ${INTERNET}/24 dev wan && ip link set wan up`);
  homes.forEach((home, i) => run(`
    ip netns add router-${home} && ip netns add ${home}
    ip link add wan-${home} master wan up type veth peer name wan netns router-${home}
    ip -n router-${home} addr add 203.0.113.1${i + 1}/24 dev wan
    ip -n router-${home} link set wan up
    ip -n router-${home} link add lan type veth peer name eth0 netns ${home}
    ip -n router-${home} addr add 10.${i + 1}.0.1/24 dev lan
    ip -n router-${home} link set lan up
    ip -n ${home} addr add 10.${i + 1}.0.2/24 dev eth0
    ip -n ${home} link set eth0 up && ip -n ${home} link set lo up
    ip -n ${home} route add default via 10.${i + 1}.0.1
    ip netns exec router-${home} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
    ip netns exec router-${home} nft -f - <<'END'
table ip nat {
  chain out { type nat hook postrouting priority srcnat; oifname "wan" masquerade fully-random; }
  chain pass { type filter hook forward priority filter; policy drop; iifname "lan" accept; ct state established accept; }
}
END`));
}

/** What a program is started with to be at home. */
export const at = (home, ...program) => ['ip', ['netns', 'exec', home, ...program]];

/** A program that starts another one at home, for those that take only a name. */
export function starter(folder, home, program) {
  const file = join(folder, `at-${home}`);
  writeFileSync(file, `#!/bin/sh\nexec ip netns exec ${home} ${program} "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}
