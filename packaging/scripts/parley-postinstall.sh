#!/bin/sh
# A new hub waits for its settings; one that ran goes on in the new version.
set -e
install -d -m 0700 -o parley -g parley /var/lib/parley
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart parley.service
