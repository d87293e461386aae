#!/usr/bin/env bash
# Everything that must hold, in one run: sets itself up, stops at the first step
# that fails, and names it. Nothing is skipped for want of a tool.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PARLEY_TEST_REQUIRE_ALL=1
unset PARLEY_TEST_PG PARLEY_HUB PARLEY_TOKEN PARLEY_DATA

page_tests() {
	(cd web && npm run --silent check </dev/null && npm test --silent </dev/null)
}

# The time limit is per package and only there to turn a hang into a stack trace.
go_tests() {
	static pgserver go test -trimpath -timeout 15m ./...
}

# The race detector makes tests five times slower and compiles everything apart, so
# it watches here what all else hangs on; `make race` watches everything.
race_tests() {
	CGO_ENABLED=1 pgserver go test -race -timeout 15m ./internal/bus/... ./internal/lease ./internal/wsconn ./internal/terminal ./internal/room
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
step "go test (SQLite, PostgreSQL, NATS, real processes)" go_tests
step "go test -race on what all else hangs on" race_tests
step "browser tests" browser_tests
step "cross-builds" scripts/build.sh linux/amd64 linux/arm64 windows/amd64 darwin/arm64

printf '\n==> everything passed in %s s\nsteps: %s passed, 0 failed\n' "$SECONDS" "$STEPS_DONE"
