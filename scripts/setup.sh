#!/usr/bin/env bash
# Brings what the build and the tests need. Whatever is there already is left alone
# and no network is touched for it, so a second run is quick and works offline.
#
#   scripts/setup.sh            everything
#   scripts/setup.sh page       only what building the program needs
#   scripts/setup.sh lint       only what the linter needs
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

GOLANGCI_LINT=v2.14.0

# as_root_apt WHY PACKAGE...  installs Debian packages, or says in one line what to do.
# Success is judged by the caller looking for the program again: a package
# whose service cannot start here is still installed.
as_root_apt() {
	local why=$1
	shift
	if ! have apt-get || [ "$(id -u)" -ne 0 ]; then
		die "$why is missing and cannot be installed from here: run 'sudo apt-get install $*' (or your system's equivalent), then again."
	fi
	say "$why: apt-get install $*"
	export DEBIAN_FRONTEND=noninteractive
	local log
	log=$(mktemp)
	{ apt-get update -q && apt-get install -q -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null ||
		tail -n 20 "$log" >&2
	rm -f "$log"
}

need_go_toolchain() {
	have go || die "Go is missing: install the version that go.mod names, from https://go.dev/dl."
	say "$(go version)"
}

need_c_compiler() {
	have cc || have gcc || as_root_apt "a C compiler (for the race detector)" gcc libc6-dev
	have cc || have gcc || die "No C compiler, which the race detector needs: install gcc."
}

need_node() {
	have node && have npm || die "Node.js is missing: install version 20.19 or later, from https://nodejs.org."
	node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
		die "Node.js $(node -v) is too old for the page's tools: install version 20.19 or later."
	say "Node.js $(node -v), npm $(npm -v 2>/dev/null)"
}

# node_modules FOLDER  installs exactly what the folder's lock file names, once per lock file.
node_modules() {
	local folder=$1 stamp="$1/node_modules/.parley-lock" want
	want=$(cksum <"$folder/package-lock.json")
	if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then
		say "$folder/node_modules: as locked"
		return
	fi
	say "$folder/node_modules: npm ci"
	(cd "$folder" && npm ci --no-audit --no-fund --prefer-offline --loglevel=error </dev/null)
	printf '%s\n' "$want" >"$stamp"
}

need_golangci_lint() {
	local program=$TOOLS/bin/golangci-lint
	if [ -x "$program" ] && go version -m "$program" | grep -qF "golangci-lint/v2	$GOLANGCI_LINT	"; then
		say "golangci-lint $GOLANGCI_LINT"
		return
	fi
	say "golangci-lint $GOLANGCI_LINT: go install"
	GOBIN=$TOOLS/bin static go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$GOLANGCI_LINT" 2> >(grep -v '^go: downloading' >&2)
}

need_postgresql() {
	static go build -trimpath -o "$TOOLS/bin/pgserver" ./test/pgtest/cmd/pgserver
	local where
	where=$(pgserver -where 2>/dev/null) || {
		as_root_apt PostgreSQL postgresql
		where=$(pgserver -where) || die "PostgreSQL could not be installed: install its server package, then again."
	}
	say "PostgreSQL in $where"
}

# What the Python SDK needs, for tests that install it as an outsider would.
need_python() {
	python3 -c 'import ensurepip, venv' 2>/dev/null || as_root_apt "Python 3 with venv" python3 python3-venv python3-pip
	python3 -c 'import ensurepip, venv' 2>/dev/null || die "Python 3 with venv is missing: install python3-venv."
	if compgen -G "$TOOLS/wheels/websockets-*.whl" >/dev/null; then
		say "$(python3 --version), .tools/wheels: there"
		return
	fi
	say ".tools/wheels: pip download websockets cryptography"
	python3 -m venv "$TOOLS/pip"
	"$TOOLS/pip/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary :all: -d "$TOOLS/wheels.new" 'websockets>=14' 'cryptography>=42' ||
		die "The Python SDK's tests need the packages websockets and cryptography, and pip cannot fetch them."
	mv "$TOOLS/wheels.new" "$TOOLS/wheels"
	rm -rf "$TOOLS/pip"
}

find_chromium() {
	local name
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		if have "$name"; then
			command -v "$name"
			return
		fi
	done
	local mac="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
	[ -x "$mac" ] && printf '%s\n' "$mac"
}

need_chromium() {
	local where=${PARLEY_CHROMIUM:-}
	[ -n "$where" ] || where=$(find_chromium) || {
		as_root_apt Chromium chromium fonts-liberation
		where=$(find_chromium) || die "Chromium could not be installed: install it, or point PARLEY_CHROMIUM at a Chrome or Chromium program."
	}
	printf '%s\n' "$where" >"$TOOLS/chromium"
	say "browser: $where"
}

# The program alone: Debian's package would also run one.
need_prometheus() {
	if [ -x "$TOOLS/bin/prometheus" ] || have prometheus; then
		say "Prometheus: there"
		return
	fi
	have apt-get || die "Prometheus is missing: put the program into .tools/bin."
	say "Prometheus: apt-get download prometheus"
	local dir
	dir=$(mktemp -d)
	(cd "$dir" && { apt-get update -q && apt-get download -q prometheus; } >log 2>&1 && dpkg -x prometheus_*.deb . && cp usr/bin/prometheus "$TOOLS/bin/") ||
		die "Prometheus could not be fetched: put the program into .tools/bin. $(tail -n 3 "$dir/log")"
	rm -rf "$dir"
}

# For the test that puts people behind routers; elsewhere than on Linux it is left out.
need_networks() {
	[ "$(uname)" = Linux ] || return 0
	{ have ip && have nft && have unshare && have openssl; } || as_root_apt "networks of one's own (for media behind NAT)" iproute2 nftables util-linux openssl
	{ have ip && have nft && have unshare && have openssl; } || die "ip, nft, unshare or openssl is missing: install iproute2, nftables, util-linux and openssl."
}

need_go_toolchain
case ${1:-all} in
page)
	need_node
	node_modules web
	;;
lint)
	need_golangci_lint
	;;
all)
	need_c_compiler
	need_node
	node_modules web
	node_modules test/browser
	node_modules test/mcpconformance
	need_golangci_lint
	need_postgresql
	need_python
	need_chromium
	need_prometheus
	need_networks
	;;
*) die "setup.sh: page, lint or nothing, not '$1'" ;;
esac
