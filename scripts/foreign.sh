#!/usr/bin/env bash
# Programs of others against a hub: fetched from their registries into .tools/foreign, then run.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

FOREIGN=$TOOLS/foreign
mkdir -p "$FOREIGN"

python_packages() {
	[ -x "$FOREIGN/python/bin/python" ] || python3 -m venv "$FOREIGN/python" || die "Python 3 with venv is missing: install python3-venv."
	"$FOREIGN/python/bin/python" -m pip install --quiet --disable-pip-version-check openai litellm mcp ||
		die "pip cannot fetch openai and litellm: is PyPI within reach?"
}

node_packages() {
	have node && have npm || die "Node.js with npm is missing."
	[ -f "$FOREIGN/package.json" ] || echo '{"private": true}' >"$FOREIGN/package.json"
	# Some of them want a newer Node.js than the page does; it comes as a package.
	local system
	system=$(node -p 'process.platform + "-" + process.arch')
	(cd "$FOREIGN" && npm install --no-audit --no-fund --silent @openai/agents acpx zod "node-$system@22") ||
		die "npm cannot fetch @openai/agents and acpx: is its registry within reach?"
}

foreign_tests() {
	PARLEY_TEST_FOREIGN=$FOREIGN static go test -trimpath -vet=off -ldflags='-s -w' -timeout 15m -count=1 -run 'OfOthers' ./test/clients
}

step "packages from PyPI" python_packages
step "packages from npm" node_packages
step "programs of others against a hub" foreign_tests
report
