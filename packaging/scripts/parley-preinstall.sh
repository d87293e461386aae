#!/bin/sh
# The hub's own user, who owns nothing but its data folder.
set -e
getent group parley >/dev/null 2>&1 || groupadd --system parley 2>/dev/null || addgroup -S parley
getent passwd parley >/dev/null 2>&1 ||
	useradd --system --gid parley --home-dir /var/lib/parley --shell /usr/sbin/nologin parley 2>/dev/null ||
	adduser -S -D -H -h /var/lib/parley -s /sbin/nologin -G parley parley
