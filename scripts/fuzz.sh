#!/usr/bin/env bash
# Fuzzes every FuzzXxx of the tree in turn, FUZZTIME each (30 s unless told), and has
# random people try to get more than they have for twenty times as long. `make test`
# runs the same functions on their seed corpora, and a hundred of the people's histories.
#
#   scripts/fuzz.sh             everything
#   scripts/fuzz.sh changed     what was changed lately, for a few seconds: a step of `make test`
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# fuzzers  prints "folder function" of every fuzz test.
fuzzers() {
	git grep -oE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed -E 's|/[^/]*:func | |'
}

# fuzz FOLDER FUNCTION TIME
fuzz() {
	static go test -trimpath -vet=off -run '^$' -fuzz "^$2\$" -fuzztime "$3" "./$1" </dev/null
}

# lately  prints the folders in which Go files differ from what they were ten commits
# ago, or are not committed yet.
lately() {
	local base
	base=$(git rev-parse -q --verify 'HEAD~10' || git rev-list --max-parents=0 HEAD | tail -n 1)
	{ git diff --name-only "$base" -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; } | xargs -rn1 dirname | sort -u
}

# small FOLDER...  prints those whose tests need no database. Fuzzing compiles everything
# below a package anew, and SQLite alone takes minutes of that.
small() {
	local folder
	for folder; do
		static go list -test -deps "./$folder" 2>/dev/null | grep -q '^modernc.org/' || echo "$folder"
	done
}

# those_in FOLDERS FUZZERS  prints the fuzz tests in those folders.
those_in() { awk 'NR == FNR { folder[$1]; next } $1 in folder' "$1" "$2"; }

# changed  fuzzes at most twelve, and says how many were left to `make fuzz`.
changed() {
	local all few
	all=$(those_in <(lately) <(fuzzers))
	few=$(those_in <(small $(cut -d ' ' -f 1 <<<"$all" | uniq)) <(echo "$all") | sort -R | sed -n 1,12p)
	while read -r folder func; do
		[ -z "$func" ] || fuzz "$folder" "$func" "${FUZZTIME:-3s}"
	done <<<"$few"
	say "fuzzed $(grep -c . <<<"$few") of the $(grep -c . <<<"$all") that were changed lately; make fuzz has them all"
}

everything() {
	local fuzztime=${FUZZTIME:-30s}
	fuzzers | while read -r folder func; do
		step "fuzz $folder $func" fuzz "$folder" "$func" "$fuzztime"
	done
	step "nothing grows" static go test -timeout 0 ./test/growth -growth.for "$(($(seconds "$fuzztime") * 20))s"
}

seconds() { case $1 in *h) echo $((${1%h} * 3600)) ;; *m) echo $((${1%m} * 60)) ;; *) echo "${1%s}" ;; esac; }

case ${1:-} in
changed) changed ;;
*) everything ;;
esac
