#!/usr/bin/env bash
# Builds the programs, static and with their version inside. The same tree makes the same
# bytes, wherever it lies (scripts/packages.sh looks).
#
#   scripts/build.sh                     bin/parley and bin/parley-endpoint for this machine
#   scripts/build.sh linux/arm64 ...     bin/cross/parley-linux-arm64, bin/cross/parley-endpoint-linux-arm64 ...
#
# RELEASE_KEYS='KEY,...' builds in the public keys whose updates and releases are trusted.
# PROGRAMS='parley-endpoint' builds only some of them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}
flags="-s -w -X main.version=$version"
[ -z "${RELEASE_KEYS:-}" ] || flags="$flags -X parley.internal/internal/endpoint/update.releaseKeys=$RELEASE_KEYS"

# build PROGRAM OUT
build() {
	static go build -trimpath -ldflags "$flags" -o "$2" "./cmd/$1"
	say "$2 ($version, $(($(wc -c <"$2") / 1048576)) MiB)"
}

for program in ${PROGRAMS:-parley parley-endpoint}; do
	if [ $# -eq 0 ]; then
		build "$program" "bin/$program$(go env GOEXE)"
	fi
	for target in "$@"; do
		GOOS=${target%/*} GOARCH=${target#*/}
		(
			export GOOS GOARCH
			build "$program" "bin/cross/$program-$GOOS-$GOARCH$(go env GOEXE)"
		)
	done
done
