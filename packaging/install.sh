#!/bin/sh
# Installs Parley from a release. Nothing of the release is run or unpacked before its
# checksums were found to be signed by the release key below.
#
#   sh install.sh --from FOLDER-OR-URL [--version V] [--to /usr/local]
#
# --from is where the release's files are: a folder, or an https address.
set -eu

RELEASE_KEY='@RELEASE_KEY@'
SSH_KEY='@SSH_KEY@'

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

FROM= VERSION= TO=/usr/local
while [ $# -gt 0 ]; do
	case $1 in
	--from) FROM=${2:?"--from needs a folder or an address"} ;;
	--version) VERSION=${2:?"--version needs a version"} ;;
	--to) TO=${2:?"--to needs a folder"} ;;
	*) fail "unknown: $1; --from, --version and --to are known" ;;
	esac
	shift 2
done
[ -n "$FROM" ] || fail "say where the release is: --from FOLDER-OR-URL"
case $RELEASE_KEY in @*) fail "this copy names no release key: take install.sh out of a release" ;; esac

case "$(uname -s)-$(uname -m)" in
Linux-x86_64 | Linux-amd64) PLATFORM=linux-amd64 ;;
Linux-aarch64 | Linux-arm64) PLATFORM=linux-arm64 ;;
Darwin-x86_64) PLATFORM=darwin-amd64 ;;
Darwin-arm64) PLATFORM=darwin-arm64 ;;
*) fail "there is no Parley for $(uname -s) $(uname -m)" ;;
esac

DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT

# get NAME  fetches one file of the release.
get() {
	case $FROM in
	https://*)
		if command -v curl >/dev/null 2>&1; then
			curl -fsSL --proto '=https' -o "$DIR/$1" "${FROM%/}/$1"
		else
			wget -q --https-only -O "$DIR/$1" "${FROM%/}/$1"
		fi
		;;
	*://*) fail "an address must begin with https://" ;;
	*) cp "$FROM/$1" "$DIR/$1" ;;
	esac || fail "$FROM has no $1"
}

# by_openssl and by_ssh tell whether the checksums are signed; 2 says that this tool cannot.
by_openssl() {
	command -v openssl >/dev/null 2>&1 || return 2
	# The fixed bytes before a key say that it is an Ed25519 key (RFC 8410).
	{
		printf '\060\052\060\005\006\003\053\145\160\003\041\000'
		printf '%s' "$RELEASE_KEY" | openssl base64 -d -A
	} >"$DIR/key.der"
	openssl pkey -pubin -inform DER -in "$DIR/key.der" -out "$DIR/key.pem" 2>/dev/null || return 2
	openssl base64 -d -A <"$DIR/SHA256SUMS.sig" >"$DIR/raw"
	openssl pkeyutl -verify -pubin -inkey "$DIR/key.pem" -rawin -in "$DIR/SHA256SUMS" -sigfile "$DIR/raw" >"$DIR/said" 2>&1 && return 0
	grep -q 'Signature Verification Failure' "$DIR/said" && return 1
	return 2
}

by_ssh() {
	command -v ssh-keygen >/dev/null 2>&1 || return 2
	printf 'parley %s\n' "$SSH_KEY" >"$DIR/allowed"
	ssh-keygen -Y verify -f "$DIR/allowed" -I parley -n parley-release -s "$DIR/SHA256SUMS.sshsig" <"$DIR/SHA256SUMS" >/dev/null 2>&1
}

get SHA256SUMS
get SHA256SUMS.sig
get SHA256SUMS.sshsig
code=0
by_openssl || code=$?
if [ "$code" -eq 2 ]; then
	code=0
	by_ssh || code=$?
fi
case $code in
0) ;;
2) fail "neither openssl 3 nor ssh-keygen is here to check the signature: install one of them. Nothing was installed" ;;
*) fail "the checksums are not signed by Parley's release key. Nothing was installed" ;;
esac

# What is installed is the version asked for, else the one version that was signed.
ARCHIVE=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(parley-.*-$PLATFORM\.tar\.gz\)\$/\1/p" "$DIR/SHA256SUMS")
[ -z "$VERSION" ] || [ "$ARCHIVE" = "parley-$VERSION-$PLATFORM.tar.gz" ] || fail "this release is not $VERSION. Nothing was installed"
[ -n "$ARCHIVE" ] && [ "$(printf '%s\n' "$ARCHIVE" | wc -l)" -eq 1 ] || fail "this release has no archive for $PLATFORM. Nothing was installed"
get "$ARCHIVE"
WANT=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$ARCHIVE\$/\1/p" "$DIR/SHA256SUMS")
if command -v sha256sum >/dev/null 2>&1; then GOT=$(sha256sum "$DIR/$ARCHIVE"); else GOT=$(shasum -a 256 "$DIR/$ARCHIVE"); fi
[ "${GOT%% *}" = "$WANT" ] || fail "$ARCHIVE is not the file that was signed. Nothing was installed"

mkdir -p "$TO/bin" "$TO/lib"
tar -C "$DIR" -xzf "$DIR/$ARCHIVE"
NEW=$TO/lib/parley.new
rm -rf "$NEW"
mv "$DIR/${ARCHIVE%.tar.gz}" "$NEW" || fail "cannot write to $TO: run this with sudo, or give --to another folder"
rm -rf "$TO/lib/parley.old"
[ ! -d "$TO/lib/parley" ] || mv "$TO/lib/parley" "$TO/lib/parley.old"
mv "$NEW" "$TO/lib/parley"
ln -sf ../lib/parley/parley "$TO/bin/parley"
rm -rf "$TO/lib/parley.old"
echo "Parley is installed: $("$TO/bin/parley" version)"
echo "Next: $TO/bin/parley up"
