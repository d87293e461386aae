#!/bin/sh
# An endpoint that ran goes on in the new version; a new one waits to be enrolled.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart parley-endpoint.service
