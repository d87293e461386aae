//go:build unix

package sandbox_test

import (
	"strings"
	"testing"

	"parley.internal/internal/sandbox"
)

// No Mac is here to try it: what can be shown is that the rules say what they should, and that no
// name of a folder can say more.
func TestTheRulesOfAMac(t *testing.T) {
	rules := sandbox.Seatbelt([]string{"/usr", `/opt/od"d) (allow default) (\\`}, []string{"/Users/me/.parley/workspace"}, 4711)
	lines := strings.Split(strings.TrimSpace(rules), "\n")
	if lines[0] != "(version 1)" || lines[1] != "(deny default)" {
		t.Errorf("the rules begin with %q, %q; expected everything to be denied first", lines[0], lines[1])
	}
	for _, want := range []string{
		`(allow file-read* (subpath "/usr"))`, `(allow file-read* file-write* (subpath "/Users/me/.parley/workspace"))`,
		`(allow network-outbound (remote ip "localhost:4711"))`, `(allow file-read* (subpath "/opt/od\"d) (allow default) (\\\\"))`,
		"(allow signal (target same-sandbox))", "(deny file-write-setugid)",
	} {
		if !strings.Contains(rules, want+"\n") {
			t.Errorf("the rules lack %s", want)
		}
	}
	for _, line := range lines {
		if strings.Count(line, "(") != strings.Count(line, ")") && !strings.Contains(line, "od") {
			t.Errorf("this rule does not end: %s", line)
		}
	}
	if shut := sandbox.Seatbelt([]string{"/usr"}, nil, 0); strings.Contains(shut, "network") || strings.Contains(shut, "mach-register") || strings.Contains(shut, "securityd") {
		t.Errorf("a box without a way out has a network, or the keychain:\n%s", shut)
	}
}

func TestLimitsThatAShellSets(t *testing.T) {
	got := sandbox.Limits{OpenFiles: 64, FileSize: 1 << 20, Processes: 9, Memory: 9}.InShell()
	if got != `ulimit -c 0; ulimit -n 64; ulimit -f 2048; exec "$0" "$@"` {
		t.Errorf("the limits are set by %q", got)
	}
}
