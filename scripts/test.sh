#!/usr/bin/env bash
# Everything that must hold, in one run: sets itself up, stops at the first step
# that fails, and names it. Nothing is skipped for want of a tool, except that the
# Windows program runs only where Wine is installed (test/wine): it is too large to
# fetch for that.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PARLEY_TEST_REQUIRE_ALL=1
unset PARLEY_TEST_PG PARLEY_HUB PARLEY_TOKEN PARLEY_DATA

# What the linter has vetted is not vetted again, and test programs without tables
# for debuggers link faster. The program that tests start as a process is linked once,
# and not inside the time limit of a dozen packages. That limit is per package and only
# there to turn a hang into a stack trace.
go_tests() {
	static go build -trimpath -o "$PWD/bin/test/parley" ./cmd/parley
	PARLEY_TEST_PROGRAM="$PWD/bin/test/parley" static pgserver go test -trimpath -vet=off -ldflags='-s -w' -timeout 30m ./...
}

# The race detector makes tests five times slower and compiles everything apart, so
# it watches here what all else hangs on; `make race` watches everything.
race_tests() {
	CGO_ENABLED=1 pgserver go test -race -vet=off -timeout 15m ./internal/bus/... ./internal/lease ./internal/wsconn ./internal/terminal ./internal/room
}

# A Windows of its own takes minutes to make and both cores; see test/wine.
wine_tests() {
	PARLEY_TEST_WINE=1 static go test -trimpath -vet=off -timeout 20m ./test/wine
}

page_types() { (cd web && npm run --silent check); }
page_units() { (cd web && npm test --silent); }

browser_tests() {
	(cd test/browser && PARLEY_CHROMIUM=$(cat "$TOOLS/chromium") npm test --silent)
}

# One after the other: every step can use both cores, and tests that share them with
# compilers and browsers tell more about the machine than about the code.
step "set-up" scripts/setup.sh
step "page: build" scripts/page.sh
step "page: types" page_types
step "page: unit tests" page_units
step "format and lint" scripts/lint.sh
step "go test (SQLite, PostgreSQL, NATS, real processes)" go_tests
step "go test -race on what all else hangs on" race_tests
step "fuzzing what was changed lately" scripts/fuzz.sh changed
step "the program" scripts/build.sh
step "browser tests" browser_tests
# Types on every other system are checked by test/systems, without compiling; one whole
# program shows that what is checked also links. A release builds them all.
step "cross-build" scripts/build.sh windows/amd64
if command -v wine wine64 /usr/lib/wine/wine64 >/dev/null; then
	step "the Windows program under Wine" wine_tests
else
	printf '\n==> skipped: the Windows program under Wine, which is not installed here (Debian: apt-get install wine64)\n'
fi
report
printf '\n==> everything passed in %s s\n' "$SECONDS"
