package visible

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// table is what the page's twin is held to as well.
type table struct {
	Hidden [][2]string
	Cases  []struct{ Why, Text, Shown, Line string }
}

func readTable(t testing.TB) (out table) {
	t.Helper()
	raw, err := os.ReadFile("../../web/src/lib/testdata/visible.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsHiddenBecomesVisible(t *testing.T) {
	for _, c := range readTable(t).Cases {
		if got := Text(c.Text); got != c.Shown {
			t.Errorf("%s: %q is shown as %q, want %q", c.Why, c.Text, got, c.Shown)
		}
		if got := Line(c.Text); got != c.Line {
			t.Errorf("%s: on one line %q is shown as %q, want %q", c.Why, c.Text, got, c.Line)
		}
	}
}

func TestTheSameCharactersAreHiddenHereAndOnThePage(t *testing.T) {
	want := map[rune]bool{}
	for _, r := range readTable(t).Hidden {
		first, err := strconv.ParseUint(r[0], 16, 32)
		last, err2 := strconv.ParseUint(r[1], 16, 32)
		if err != nil || err2 != nil {
			t.Fatal("the table has a range that is no pair of numbers: ", r)
		}
		for c := first; c <= last; c++ {
			want[rune(c)] = true
		}
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if Hidden(r) != want[r] {
			t.Errorf("U+%04X: hidden is %t here and %t in the table", r, Hidden(r), want[r])
		}
	}
}

// FuzzText looks for texts that steer a terminal or keep something to themselves.
func FuzzText(f *testing.F) {
	for _, c := range readTable(f).Cases {
		f.Add(c.Text)
	}
	f.Add("\xff\xfe half \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		text, line := Text(s), Line(s)
		if !utf8.ValidString(text) || !utf8.ValidString(line) {
			t.Fatalf("%q is shown as bytes that are no text", s)
		}
		if strings.ContainsAny(line, "\n\t") || strings.ContainsAny(text+line, "\r\x1b\x00\x7f\u009b\u202e\u2066\u200b\U000e0041") {
			t.Errorf("%q is shown with a character that acts or hides: %q, %q", s, text, line)
		}
		if again := Text(text); again != text {
			t.Errorf("what is visible changes when it is shown again: %q, %q", text, again)
		}
	})
}
