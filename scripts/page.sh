#!/usr/bin/env bash
# Builds the page into web/dist, from where Go embeds it; does nothing when no source of it changed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

stamp=$TOOLS/page.built
want=$(fingerprint web)
if [ -f web/dist/index.html ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
	say "web/dist: up to date"
	exit
fi
rm -f "$stamp"
(cd web && npm run --silent build </dev/null)
printf '%s\n' "$want" >"$stamp"
