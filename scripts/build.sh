#!/usr/bin/env bash
# Builds the program, static and with its version inside.
#
#   scripts/build.sh                     bin/parley for this machine
#   scripts/build.sh linux/arm64 ...     bin/cross/parley-linux-arm64 ...
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)

build() {
	local out=$1
	static go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$out" ./cmd/parley
	say "$out ($version, $(($(wc -c <"$out") / 1048576)) MiB)"
}

if [ $# -eq 0 ]; then
	build "bin/parley$(go env GOEXE)"
fi
for target in "$@"; do
	export GOOS=${target%/*} GOARCH=${target#*/}
	build "bin/cross/parley-$GOOS-$GOARCH$(go env GOEXE)"
done
