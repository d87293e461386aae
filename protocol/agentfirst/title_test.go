package agentfirst_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	af "parley.internal/protocol/agentfirst"
)

func TestTitleVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/titles.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%q: %v; want no error", line, err)
		}
		in, err1 := strconv.Unquote(quoted)
		want, err2 := strconv.Unquote(strings.TrimSpace(line[len(quoted):]))
		if err1 != nil || err2 != nil {
			t.Fatalf("%q: %v %v; want err1 to be nil, err2 to be nil", line, err1, err2)
		}
		if got := af.Title(in); got != want {
			t.Errorf("Title(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestATitleIsOneShortLineAndItsOwnTitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		got := af.Title(in)
		if utf8.RuneCountInString(got) > af.MaxTitle || strings.ContainsAny(got, "\n\r\t") || got != strings.TrimSpace(got) {
			t.Fatalf("Title(%q) = %q", in, got)
		}
		if af.Title(got) != got {
			t.Fatalf("the title of %q is %q", got, af.Title(got))
		}
	})
}
