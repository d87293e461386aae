#!/usr/bin/env bash
# Everything that must hold, in one run: sets itself up, stops at the first step
# that fails, and names it. Nothing is skipped for want of a tool.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PARLEY_TEST_REQUIRE_ALL=1
unset PARLEY_TEST_PG PARLEY_HUB PARLEY_TOKEN PARLEY_DATA

page_tests() {
	(cd web && npm run --silent check </dev/null && npm test --silent </dev/null)
}

# The race detector needs cgo, so these compile apart from everything else. The time
# limit is per package and only there to turn a hang into a stack trace.
go_tests() {
	CGO_ENABLED=1 pgserver go test -race -timeout 15m $(go list ./... | grep -v '^parley/test/')
}

# These drive the real program from outside: the detector would watch only the driver.
system_tests() {
	static pgserver go test -trimpath -timeout 15m ./test/...
}

browser_tests() {
	scripts/build.sh
	(cd test/browser && PARLEY_CHROMIUM=$(cat "$TOOLS/chromium") npm test --silent </dev/null)
}

step "set-up" scripts/setup.sh
step "page: build" scripts/page.sh
step "page: types and unit tests" page_tests
step "format and lint" scripts/lint.sh
step "go vet on linux, windows, darwin" scripts/vet.sh
step "go test -race (SQLite, PostgreSQL, NATS)" go_tests
step "whole-system tests (real processes)" system_tests
step "browser tests" browser_tests
step "cross-builds" scripts/build.sh linux/amd64 linux/arm64 windows/amd64 darwin/arm64

printf '\n==> everything passed in %s s\nsteps: %s passed, 0 failed\n' "$SECONDS" "$STEPS_DONE"
