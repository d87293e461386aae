package bus

import (
	"strings"
	"testing"
)

func TestTokenEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"":             "%",
		"plain-ID_7":   "plain-ID_7",
		"pc.example":   "pc%2Eexample",
		"*":            "%2A",
		">":            "%3E",
		"100%":         "100%25",
		"a b":          "a%20b",
		"é":            "%C3%A9",
		"dev:1@host/x": "dev%3A1%40host%2Fx",
	} {
		if got := Token(in); got != want {
			t.Errorf("Token(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzTokenIsOneValidTokenAndNeverCollides(f *testing.F) {
	f.Add("a", "b")
	f.Add("", "%")
	f.Add("a.b", "a%2Eb")
	f.Add("*", ">")
	f.Fuzz(func(t *testing.T, a, b string) {
		ta, tb := Token(a), Token(b)
		if err := checkSubject("x."+ta, false); err != nil || strings.Contains(ta, ".") {
			t.Fatalf("Token(%q) = %q: %v", a, ta, err)
		}
		if (a == b) != (ta == tb) {
			t.Fatalf("Token(%q) = %q, Token(%q) = %q", a, ta, b, tb)
		}
	})
}
