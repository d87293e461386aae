#!/usr/bin/env bash
# Formatting and the house rules of .golangci.yml.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

unformatted=$(git ls-files -z -co --exclude-standard '*.go' | xargs -0 gofmt -s -l)
[ -z "$unformatted" ] || die "gofmt -s would change (run 'make fmt'):
$unformatted"
GOFLAGS="$GOFLAGS -trimpath" static golangci-lint run --concurrency 2 ./...
