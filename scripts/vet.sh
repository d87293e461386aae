#!/usr/bin/env bash
# go vet for the systems the linter does not run on, tests included. What it compiles
# the cross-builds use.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for target in windows/amd64 darwin/arm64; do
	start=$SECONDS
	GOOS=${target%/*} GOARCH=${target#*/} static go vet -trimpath ./...
	say "$target: $((SECONDS - start)) s"
done
