package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeedlesOfAPattern(t *testing.T) {
	for pattern, want := range map[string][]string{
		`(?i)foo\s+(?:alpha|beta)`: {"alpha", "beta"},
		`a*`:                       nil,
		`(?:abc|x?)`:               nil,
		`(?:abc)+d`:                {"abc"},
		`(?i)Vssadmin\b.*`:         {"vssadmin"},
		`[`:                        nil,
		`(abc|def)(?:longer)?x{2}`: {"abc", "def"},
	} {
		if d := cmp.Diff(want, needles(pattern)); d != "" {
			t.Errorf("%s:\n%s", pattern, d)
		}
	}
}

func TestNeedlesNeverHideAMatch(t *testing.T) {
	var with, without int
	for _, e := range entries(t) {
		c := e.compile()
		if c.script.needles == nil {
			without++
		} else {
			with++
		}
		for _, example := range slices.Concat(e.Blocks, e.Passes) {
			for _, d := range []Dialect{PowerShell, POSIXShell} {
				for _, f := range ScriptForms(d, example) {
					if c.script.re.MatchString(f.Text) && !mentions(f.lower, c.script.needles) {
						t.Errorf("%s: needles %q miss %q", e.ID, c.script.needles, f.Text)
					}
				}
			}
		}
	}
	if without > with/10 {
		t.Errorf("%d of %d rules have no needles; judging a long script will be slow", without, with+without)
	}
	t.Logf("%d rules with needles, %d without", with, without)
}
