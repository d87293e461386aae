package policy

import (
	"os"
	"strings"
	"testing"

	"parley.internal/protocol/kenny"
)

// The corpus is two lists of scripts as people write them, one dangerous and
// one harmless. Two thirds were looked at while the rules were written; every
// third line was not, and says how well the rules do on what nobody thought of.
// "sh:" is run by shell_exec, "ps:" by powershell_exec; ⏎ is the end of a line.

// goodShare is how many of a hundred must be judged rightly, on either list.
const goodShare = 97

func TestTheGuardKnowsDangerousFromHarmless(t *testing.T) {
	for name, dangerous := range map[string]bool{"dangerous": true, "harmless": false} {
		t.Run(name, func(t *testing.T) {
			var seen, unseen score
			for i, line := range corpus(t, name) {
				part := &seen
				if i%3 == 2 {
					part = &unseen
				}
				part.add(t, line, dangerous)
			}
			seen.report(t, name+", looked at")
			unseen.report(t, name+", not looked at")
		})
	}
}

// The held-out lists were written when the rules stood, in shapes that none of them
// names: quotes, variables, globs, subshells, wrappers, programs in other languages. Of each
// batch 90 to 96 % of the dangerous ones were known when it was first tried; what was missed
// was mended as a class, never as a line.
func TestTheGuardKnowsWhatItWasNotMadeFor(t *testing.T) {
	for name, dangerous := range map[string]bool{"heldout-dangerous": true, "heldout-harmless": false} {
		var all score
		for _, line := range corpus(t, name) {
			all.add(t, line, dangerous)
		}
		all.report(t, name)
	}
}

type score struct {
	all   int
	wrong []string
}

func (s *score) add(t *testing.T, line string, dangerous bool) {
	t.Helper()
	s.all++
	if r, hit := corpusCall(t, line).check(t, Builtin()); hit != dangerous {
		s.wrong = append(s.wrong, strings.TrimSpace(line+"   "+r.ID))
	}
}

func (s *score) report(t *testing.T, name string) {
	t.Helper()
	t.Logf("%s: %d of %d right", name, s.all-len(s.wrong), s.all)
	if len(s.wrong)*100 > s.all*(100-goodShare) {
		t.Errorf("%s: fewer than %d %% are judged rightly; wrong are:\n%s", name, goodShare, strings.Join(s.wrong, "\n"))
	}
}

func corpus(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func corpusCall(t testing.TB, line string) call {
	t.Helper()
	kind, text, ok := strings.Cut(line, ": ")
	if !ok {
		t.Fatalf("a line of the corpus begins with sh: or ps:, not %q", line)
	}
	os := kenny.Linux
	if kind == "ps" {
		os = kenny.Windows
	}
	return script(os, strings.ReplaceAll(text, "⏎", "\n"))
}
