#!/usr/bin/env bash
# Linux packages: builds them, and tries them.
#
#   scripts/packages.sh build IN OUT     IN/parley-linux-ARCH and IN/parley-endpoint-linux-ARCH into OUT/*.deb, *.rpm, *.apk
#   scripts/packages.sh test             builds programs and packages of this machine twice, compares the bytes,
#                                        installs, upgrades and removes them in a folder of their own
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NFPM=v2.44.1
VERSION=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

need_nfpm() {
	if [ ! -x "$TOOLS/bin/nfpm" ] || ! go version -m "$TOOLS/bin/nfpm" | grep -qF "nfpm/v2	$NFPM	"; then
		say "nfpm $NFPM: go install"
		GOBIN=$TOOLS/bin GOFLAGS= static go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$NFPM" 2> >(grep -v '^go: downloading' >&2)
	fi
}

# package_version  what package managers can order: they want a digit first. A build
# without a version counts as older than every release.
package_version() {
	local v=${VERSION#v}
	case $v in [0-9]*.*) printf '%s' "${v//-/+}" ;; *) printf '0.0.0+%s' "${v//[^0-9A-Za-z.]/.}" ;; esac
}

# papers PROGRAM STAGE  completions and manual pages, as a program that runs here writes them.
papers() {
	local program=$1 stage=$2 name
	name=$(basename "$program")
	mkdir -p "$stage/completions" "$stage/man"
	"$program" completion bash >"$stage/completions/$name.bash"
	"$program" completion zsh >"$stage/completions/_$name"
	"$program" completion fish >"$stage/completions/$name.fish"
	"$program" man "$stage/man"
	gzip -9nf "$stage"/man/*.1
}

# pack NAME ARCH STAGE OUT  one program in all three formats.
pack() {
	local config format
	config=$(mktemp)
	ARCH=$2 STAGE=$3 VERSION=$(package_version) MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ) perl -pe 's/\$\{(\w+)\}/$ENV{$1}/g' "packaging/nfpm/$1.yaml" >"$config"
	for format in deb rpm apk; do
		nfpm package -f "$config" -p "$format" -t "$4/" >/dev/null
	done
	rm -f "$config"
}

build() {
	local in=$1 out=$2 arch stage program
	need_nfpm
	mkdir -p "$out"
	for arch in amd64 arm64; do
		for program in parley parley-endpoint; do
			[ -f "$in/$program-linux-$arch" ] || continue
			stage=$(mktemp -d)
			cp "$in/$program-linux-$arch" "$stage/$program"
			mkdir -p "$stage/papers"
			cp "$in/$program-linux-$(go env GOHOSTARCH)" "$stage/papers/$program"
			papers "$stage/papers/$program" "$stage"
			if [ "$program" = parley ]; then
				mkdir "$stage/endpoints"
				cp "$in"/parley-endpoint-* "$stage/endpoints/"
				static go run -trimpath ./internal/release/tool endpoints "$VERSION" "$stage/endpoints" "${RELEASE_KEY:-}"
			fi
			find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
			pack "$program" "$arch" "$stage" "$out"
			rm -rf "$stage"
			say "$program for $arch: deb, rpm, apk"
		done
	done
}

case ${1:-} in
build)
	[ $# -eq 3 ] || die "usage: scripts/packages.sh build IN OUT"
	build "$2" "$3"
	;;
test)
	need_nfpm
	PARLEY_TEST_PACKAGES=1 static go test -trimpath -vet=off -timeout 60m -v ./test/packages
	;;
*) die "usage: scripts/packages.sh build IN OUT, or test" ;;
esac
