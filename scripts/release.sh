#!/usr/bin/env bash
# Makes a release: for every system one archive with the hub's program and, beside it,
# the endpoints of all the others, so that a hub can install them without anything else.
#
#   scripts/release.sh                   builds everything, then packs it
#   scripts/release.sh pack IN OUT       only packs: IN/parley-OS-ARCH[.exe] into OUT/parley-VERSION-OS-ARCH.tar.gz
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TARGETS=(linux/amd64 linux/arm64 windows/amd64 darwin/arm64)
VERSION=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo dev)}

exe() { case $1 in windows-*) echo ".exe" ;; esac; }

# list_others FOLDER  writes the list that a hub reads (internal/fleet/update/carried.go).
list_others() {
	local folder=$1 file platform first=1
	{
		printf '{"version":"%s","programs":[' "$VERSION"
		for file in "$folder"/parley-*; do
			platform=$(basename "$file" .exe)
			platform=${platform#parley-}
			[ -n "$first" ] || printf ','
			first=
			printf '\n{"platform":"%s","file":"%s","sha256":"%s"}' "$platform" "$(basename "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
		done
		printf '\n]}\n'
	} >"$folder/programs.json"
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

pack() {
	local in=$1 out=$2 file platform name dir
	mkdir -p "$out"
	for file in "$in"/parley-*; do
		platform=$(basename "$file" .exe)
		platform=${platform#parley-}
		name=parley-$VERSION-$platform
		dir=$out/$name
		rm -rf "$dir"
		mkdir -p "$dir/endpoints"
		install -m 755 "$file" "$dir/parley$(exe "$platform")"
		cp LICENSE "$dir/"
		for other in "$in"/parley-*; do
			[ "$other" = "$file" ] || cp "$other" "$dir/endpoints/"
		done
		list_others "$dir/endpoints"
		[ ! -d "$in/sdk" ] || cp -r "$in/sdk" "$dir/"
		tar -C "$out" -czf "$out/$name.tar.gz" "$name"
		rm -rf "$dir"
		say "$out/$name.tar.gz"
	done
}

if [ "${1:-}" = pack ]; then
	[ $# -eq 3 ] || die "usage: scripts/release.sh pack IN OUT"
	pack "$2" "$3"
	exit
fi
rm -rf bin/cross
scripts/setup.sh page
scripts/page.sh
scripts/build.sh "${TARGETS[@]}"
carry_packages bin/cross/sdk
pack bin/cross bin/release
