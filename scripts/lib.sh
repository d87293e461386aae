# Shared by the scripts in this folder: where things are, and how they speak.
# Sourced, never run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
TOOLS=$ROOT/.tools
export PATH="$TOOLS/bin:$PATH"
mkdir -p "$TOOLS/bin"

# One set of build settings for everything but the race detector: what vet, the
# linter and the builds compile is then compiled once and shared through Go's cache.
export GOFLAGS="-buildvcs=false ${GOFLAGS:-}"
static() { CGO_ENABLED=0 "$@"; }

# Colours are for people: a log file gets plain text.
[ -t 1 ] || export NO_COLOR=1

say() { printf '    %s\n' "$*"; }

die() {
	printf '\n%s\n' "$*" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# step TITLE COMMAND...  runs one step under a heading, with its time; the first
# failing step ends the script and is named last.
STEPS_DONE=0
step() {
	local title=$1 start=$SECONDS
	shift
	printf '\n==> %s\n' "$title"
	# The command runs in a shell of its own: inside a plain `if`, bash would ignore set -e.
	set +e
	(set -e; "$@")
	local code=$?
	set -e
	if [ "$code" -ne 0 ]; then
		printf '\n==> FAILED: %s (after %s s, exit code %s)\n' "$title" "$((SECONDS - start))" "$code" >&2
		printf 'steps: %s passed, 1 failed\n' "$STEPS_DONE" >&2
		exit 1
	fi
	STEPS_DONE=$((STEPS_DONE + 1))
	say "$title: $((SECONDS - start)) s"
}

# fingerprint PATH...  one hash over the names and contents of all files below the paths.
fingerprint() {
	find "$@" -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -print0 |
		LC_ALL=C sort -z | xargs -0 cksum | cksum
}
