#!/usr/bin/env bash
# Makes a release in bin/release: for every system one archive with the hub's program and,
# beside it, the small endpoint programs for all of them, so that a hub can install them
# without anything else; packages for Linux; checksums, what it is made of, and install.sh.
#
#   scripts/release.sh                   builds everything, then packs it
#   scripts/release.sh pack IN OUT       only packs: IN/parley-OS-ARCH[.exe] and IN/parley-endpoint-OS-ARCH[.exe]
#
# RELEASE_KEY=FILE signs it: a file with an Ed25519 seed in base64. The public half is built in.
# The archives have the time of the commit in them and no user's name: the same tree, the same bytes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TARGETS=(linux/amd64 linux/arm64 windows/amd64 windows/arm64 darwin/amd64 darwin/arm64)
VERSION=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}
RELEASE_KEY=${RELEASE_KEY:-}
export VERSION SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

exe() { case $1 in windows-*) echo ".exe" ;; esac; }

tool() { static go run -trimpath ./internal/release/tool "$@"; }

# archive FOLDER NAME  packs FOLDER/NAME into FOLDER/NAME.tar.gz, for Windows .zip, always the same way.
archive() {
	case $2 in *-windows-*)
		tool zip "$1" "$2" "$SOURCE_DATE_EPOCH"
		return
		;;
	esac
	tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u+rw,go+r-w,a+X' -cf - "$2" | gzip -9n >"$1/$2.tar.gz"
}

# carry_packages FOLDER  gets what the SDKs need, so that a hub hands it out without internet (docs/rooms.md).
carry_packages() {
	local folder=$1 work
	work=$(mktemp -d)
	cp internal/face/sdk/gomod.txt "$work/go.mod"
	(cd "$work" && GOMODCACHE=$work/cache GOFLAGS=-modcacherw go mod download all)
	mkdir -p "$folder/go" "$folder/python"
	(cd "$work/cache/cache/download" && find . -path '*/@v/*' \( -name '*.info' -o -name '*.mod' -o -name '*.zip' \) -print0 | tar -cf - --null -T -) | tar -C "$folder/go" -xf -
	python3 -m venv "$work/pip"
	"$work/pip/bin/python" -m pip download --quiet --no-deps --platform any --python-version 3.10 --only-binary :all: -d "$folder/python" 'websockets>=14'
	rm -rf "$work"
}

# pack_hub IN OUT FILE  one archive with a hub.
pack_hub() {
	local in=$1 out=$2 file=$3 platform name dir
	platform=$(basename "$file" .exe)
	platform=${platform#parley-}
	name=parley-$VERSION-$platform
	dir=$out/$name
	rm -rf "$dir"
	mkdir -p "$dir"
	install -m 755 "$file" "$dir/parley$(exe "$platform")"
	cp LICENSE packaging/README.txt "$dir/"
	cp -r "$out/endpoints" "$dir/"
	[ ! -d "$in/sdk" ] || cp -r "$in/sdk" "$dir/"
	archive "$out" "$name"
	rm -rf "$dir"
	say "$out/$name"
}

pack() {
	local in=$1 out=$2 file
	mkdir -p "$out/endpoints"
	cp "$in"/parley-endpoint-* "$out/endpoints/"
	tool endpoints "$VERSION" "$out/endpoints" "$RELEASE_KEY"
	for file in "$in"/parley-*; do
		case $(basename "$file") in
		parley-endpoint-*) cp "$file" "$out/" ;;
		*) pack_hub "$in" "$out" "$file" ;;
		esac
	done
	rm -rf "$out/endpoints"
}

# installer OUT KEY  install.sh with the key that it is to trust.
installer() {
	sed -e "s|@RELEASE_KEY@|$2|" -e "s|@SSH_KEY@|$(tool sshkey "$2")|" packaging/install.sh >"$1/install.sh"
	chmod 755 "$1/install.sh"
}

# finish OUT  what only a whole release has: what the programs are made of, and the signed checksums.
finish() {
	local out=$1 program
	for program in parley parley-endpoint; do
		tool parts "bin/cross/$program-linux-amd64" web/package-lock.json "$VERSION" >"$out/$program-$VERSION.cdx.json"
	done
	[ -z "$RELEASE_KEY" ] || installer "$out" "$(tool key "$RELEASE_KEY")"
	tool sums "$out" "$RELEASE_KEY"
	[ -n "$RELEASE_KEY" ] || say "not signed: RELEASE_KEY names no key"
}

case ${1:-all} in
pack)
	[ $# -eq 3 ] || die "usage: scripts/release.sh pack IN OUT"
	pack "$2" "$3"
	exit
	;;
installer)
	[ $# -eq 3 ] || die "usage: scripts/release.sh installer OUT PUBLICKEY"
	installer "$2" "$3"
	exit
	;;
esac
rm -rf bin/cross bin/release
[ -z "$RELEASE_KEY" ] || { RELEASE_KEYS=$(tool key "$RELEASE_KEY") && export RELEASE_KEYS; }
scripts/setup.sh page
scripts/page.sh
scripts/build.sh "${TARGETS[@]}"
carry_packages bin/cross/sdk
pack bin/cross bin/release
scripts/packages.sh build bin/cross bin/release
finish bin/release
