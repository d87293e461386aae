#!/usr/bin/env bash
# go vet for every system the program runs on, tests included.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for target in linux/amd64 windows/amd64 darwin/arm64; do
	start=$SECONDS
	GOOS=${target%/*} GOARCH=${target#*/} static go vet -trimpath ./...
	say "$target: $((SECONDS - start)) s"
done
