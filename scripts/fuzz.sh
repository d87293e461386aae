#!/usr/bin/env bash
# Fuzzes every FuzzXxx of the tree in turn, FUZZTIME each (30 s unless told).
# `make test` runs the same functions on their seed corpora only.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fuzztime=${FUZZTIME:-30s}
git grep -hoE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null || die "There is no fuzz test."
git grep -oE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file func; do
	step "fuzz ${file%/*} ${func#func }" \
		go test -run '^$' -fuzz "^${func#func }\$" -fuzztime "$fuzztime" "./${file%/*}" </dev/null
done
