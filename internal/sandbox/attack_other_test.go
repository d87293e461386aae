//go:build unix && !linux

package sandbox_test

// attackVariable and attack are for the tests of Linux, where boxes can be tried.
const attackVariable = "PARLEY_TEST_ATTACK"

func attack(string, []string) int { return 99 }
