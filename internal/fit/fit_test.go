package fit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley.internal/internal/fit"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, got, want string }{
		{"a short text's head", fit.Head("abc", 3), "abc"},
		{"a head", fit.Head("abcd", 3), "abc"},
		{"a head that would end within a character", fit.Head("aéb", 2), "a"},
		{"a head of nothing", fit.Head("é", 0), ""},
		{"a head of less than nothing", fit.Head("é", -1), ""},
		{"a head of bytes that are no text", fit.Head("\x80\x80\x80", 2), ""},
		{"a text with few enough bytes", fit.Cut("äö", 4), "äö"},
		{"a text with too many bytes", fit.Cut("äöü", 5), "äö…"},
		{"a text that fits", fit.Clip("äöü", 3), "äöü"},
		{"a text that does not fit", fit.Clip("äöüß", 3), "äö…"},
		{"a text cut to one character", fit.Clip("äö", 1), "…"},
		{"an empty text", fit.Clip("", 0), ""},
		{"one line", fit.OneLine(" a\n\t b\r\nc "), "a b c"},
		{"what no database holds", fit.Storable("a\x00b\xffc"), "a\uFFFDb\uFFFDc"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
		}
	}
}

func FuzzCutTexts(f *testing.F) {
	f.Add("aéb\xff", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(0, min(n, 1000))
		if h := fit.Head(s, n); len(h) > n || !strings.HasPrefix(s, h) || utf8.ValidString(s) && !utf8.ValidString(h) {
			t.Errorf("the head of %q in %d bytes is %q", s, n, h)
		}
		if c := fit.Clip(s, n); n > 0 && utf8.RuneCountInString(c) > n {
			t.Errorf("%q clipped to %d characters is %q", s, n, c)
		}
	})
}
