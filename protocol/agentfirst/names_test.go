package agentfirst_test

import (
	"errors"
	"strings"
	"testing"

	af "parley.internal/protocol/agentfirst"
)

func TestNames(t *testing.T) {
	checks := map[string]func(string) error{"agent": af.CheckAgent, "sender": af.CheckSender, "thread": af.CheckThread}
	for _, tc := range []struct {
		kind, name string
		ok         bool
	}{
		{"agent", "crab", true},
		{"agent", "0_a-b", true},
		{"agent", strings.Repeat("a", 64), true},
		{"agent", strings.Repeat("a", 65), false},
		{"agent", "", false},
		{"agent", "-a", false},
		{"agent", "_a", false},
		{"agent", "Crab", false},
		{"agent", "a b", false},
		{"agent", "é", false},
		{"agent", "a\n", false},
		{"agent", "../x", false},
		{"sender", "user", true},
		{"sender", "tg:123", true},
		{"sender", "Ünïcode Name", true},
		{"sender", strings.Repeat("é", 128), true},
		{"sender", strings.Repeat("é", 128) + "x", false},
		{"sender", "", false},
		{"sender", "a\x00b", false},
		{"sender", "a\u0085b", false},
		{"sender", "a\x7f", false},
		{"sender", "\xff", false},
		{"thread", "", true},
		{"thread", "Holiday plans", true},
		{"thread", strings.Repeat("x", 128), true},
		{"thread", strings.Repeat("x", 129), false},
		{"thread", "a\tb", false},
	} {
		err := checks[tc.kind](tc.name)
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, af.ErrBadName) {
			t.Errorf("%s %q: %v", tc.kind, tc.name, err)
		}
	}
}

func TestAbsentAndEmptySenderAreTheSame(t *testing.T) {
	for _, tc := range [][3]string{{"", "", "user"}, {"", "ann", "ann"}, {"bob", "ann", "bob"}, {"bob", "", "bob"}} {
		if got := af.SenderOr(tc[0], tc[1]); got != tc[2] {
			t.Errorf("SenderOr(%q, %q) = %q", tc[0], tc[1], got)
		}
	}
}

func TestHandlesAreNotPaths(t *testing.T) {
	const id = "0198c3d4-7a10-7c3e-9b1a-2f8f6f7b1c11"
	if got, ok := af.ParseHandle(af.Handle(id)); !ok || got != id {
		t.Errorf("%q %v; want ok, got to be %v", got, ok, id)
	}
	for _, bad := range []string{
		"", "conversation:", id, "/etc/passwd", "conversation:/etc/passwd", "conversation:../x", "Conversation:" + id,
		"conversation:" + id + "\n", "conversation:" + strings.Repeat("a", 65),
	} {
		if got, ok := af.ParseHandle(bad); ok || got != "" {
			t.Errorf("%q is a handle", bad)
		}
	}
}

func TestCodesSayWhatTheyMean(t *testing.T) {
	for _, c := range []af.Code{400, 401, 403, 404, 409, 410, 413, 429, 500, 502, 503, 504} {
		if c.Meaning() == "" {
			t.Errorf("%d has no meaning", c)
		}
	}
	if af.Code(418).Meaning() != "" || af.CodeNotFound.Temporary() || !af.CodeUnavailable.Temporary() {
		t.Error("foreign or temporary")
	}
	for _, c := range []af.Code{404, 418} {
		if af.NewError(c, "").GetError().GetMessage() == "" {
			t.Errorf("%d: empty message", c)
		}
	}
}
