#!/usr/bin/env bash
# Fuzzes every FuzzXxx of the tree in turn, FUZZTIME each (30 s unless told), and has
# random people try to get more than they have for twenty times as long. `make test`
# runs the same functions on their seed corpora, and a hundred of the people's histories.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fuzztime=${FUZZTIME:-30s}
git grep -hoE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null || die "There is no fuzz test."
git grep -oE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file func; do
	step "fuzz ${file%/*} ${func#func }" \
		go test -run '^$' -fuzz "^${func#func }\$" -fuzztime "$fuzztime" "./${file%/*}" </dev/null
done

seconds() { case $1 in *h) echo $((${1%h} * 3600)) ;; *m) echo $((${1%m} * 60)) ;; *) echo "${1%s}" ;; esac; }
step "nothing grows" static go test -timeout 0 ./test/growth -growth.for "$(($(seconds "$fuzztime") * 20))s"
