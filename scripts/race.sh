#!/usr/bin/env bash
# Every package under the race detector: a quarter of an hour on two cores.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export PARLEY_TEST_REQUIRE_ALL=1
unset PARLEY_TEST_PG PARLEY_HUB PARLEY_TOKEN PARLEY_DATA
scripts/setup.sh
CGO_ENABLED=1 pgserver go test -race -timeout 30m ./...
