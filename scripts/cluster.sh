#!/usr/bin/env bash
# Everything that several hubs are tried with, at length: three hubs with a PostgreSQL and
# three NATS nodes of their own, under load, while each of them dies, hangs and comes back.
# Prints how long people waited. `make test` has the short form.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PARLEY_TEST_REQUIRE_ALL=1 PARLEY_TEST_CLUSTER=all
static pgserver go test -trimpath -vet=off -ldflags='-s -w' -timeout 40m -v -count=1 ./test/cluster "$@"
