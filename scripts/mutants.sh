#!/usr/bin/env bash
# Takes mends out again, one by one, and sees the tests fail that tell their stories:
# test/mutants has the list. The tree stays as it is.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
unset PARLEY_TEST_PG PARLEY_HUB PARLEY_TOKEN PARLEY_DATA
static pgserver go run ./test/mutants "$@"
