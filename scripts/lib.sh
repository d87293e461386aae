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
STEPS=$(mktemp)
trap 'rm -f "$STEPS"' EXIT
step() {
	local title=$1 start=$SECONDS before code
	shift
	before=$(mktemp)
	times >"$before"
	printf '\n==> %s\n' "$title"
	# The command runs in a shell of its own: inside a plain `if`, bash would ignore set -e.
	set +e
	(set -e; "$@")
	code=$?
	set -e
	times >>"$before"
	printf '%s\t%s\t%s\t%s\n' "$code" "$((SECONDS - start))" "$(spent <"$before")" "$title" >>"$STEPS"
	rm -f "$before"
	if [ "$code" -ne 0 ]; then
		report
		exit 1
	fi
	say "$title: $((SECONDS - start)) s"
}

# spent reads two outputs of `times` and prints the seconds of processor time that
# ended children used in between.
spent() {
	awk 'NR % 2 == 0 { split($1, u, /[ms]/); split($2, v, /[ms]/); t[NR] = u[1] * 60 + u[2] + v[1] * 60 + v[2] } END { printf "%d", t[4] - t[2] }'
}

# report prints every step with its seconds, wall clock and processor, and names what failed.
report() {
	printf '\n==> steps\n    %7s %7s\n' seconds CPU
	awk -F '\t' '{ printf "    %7d %7d  %s%s\n", $2, $3, $4, $1 == 0 ? "" : "  FAILED" }' "$STEPS"
	if grep -qv '^0\b' "$STEPS"; then
		awk -F '\t' '$1 != 0 { printf "\n==> FAILED: %s (after %s s, exit code %s)\n", $4, $2, $1 }' "$STEPS" >&2
	fi
	awk -F '\t' '{ $1 == 0 ? good++ : bad++ } END { printf "steps: %d passed, %d failed\n", good, bad }' "$STEPS"
}

# fingerprint PATH...  one hash over the names and contents of all files below the paths.
fingerprint() {
	find "$@" -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -print0 |
		LC_ALL=C sort -z | xargs -0 cksum | cksum
}
