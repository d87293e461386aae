package model

import (
	"errors"
	"io"
	"testing"
)

func TestASumOfUsagesKnowsItsCostOnlyIfAllDo(t *testing.T) {
	a := Usage{Prompt: 1, Completion: 2, CacheHit: 3, CacheMiss: 4, CacheWrite: 5, Reasoning: 6, CostMicros: 7, CostKnown: true, Rounds: 1}
	want := Usage{Prompt: 2, Completion: 4, CacheHit: 6, CacheMiss: 8, CacheWrite: 10, Reasoning: 12, CostMicros: 14, CostKnown: true, Rounds: 2}
	if got := a.Add(a); got != want {
		t.Errorf("%+v; want %v", got, want)
	}
	if got := a.Add(Usage{Prompt: 1}); got.CostKnown || got.Prompt != 2 || got.Total() != 4 {
		t.Errorf("%+v; want not got.CostKnown, got.Prompt to be 2, got.Total() to be 4", got)
	}
	if a.Add(Usage{}) != a || (Usage{}).Add(a) != a {
		t.Error("nothing changes nothing")
	}
}

func TestRefsReadAsTheyAreWritten(t *testing.T) {
	for s, want := range map[string]Ref{
		"offline": {"offline", ""}, "anthropic:claude": {"anthropic", "claude"}, "ollama:qwen:7b": {"ollama", "qwen:7b"}, "": {},
	} {
		if got := ParseRef(s); got != want || got.String() != s {
			t.Errorf("%q: %+v; want got to be %v, got.String() to be %v", s, got, want, s)
		}
	}
}

func TestWhichFailuresMayPass(t *testing.T) {
	for _, c := range []struct {
		e    Error
		want bool
	}{
		{Error{Cause: CauseConnect}, true},
		{Error{Cause: CauseTimeout}, true},
		{Error{Cause: CauseStatus, Status: 408}, true},
		{Error{Cause: CauseStatus, Status: 429}, true},
		{Error{Cause: CauseStatus, Status: 503}, true},
		{Error{Cause: CauseStatus, Status: 400}, false},
		{Error{Cause: CauseContext}, false},
		{Error{Cause: CauseBadData}, false},
		{Error{Cause: CauseConnect, Final: true}, false},
	} {
		if c.e.Retryable() != c.want {
			t.Errorf("%+v; want c.e.Retryable() to be %v", c.e, c.want)
		}
	}
	e := &Error{Provider: "p", Err: io.EOF}
	if e.Error() != "p: EOF" || !errors.Is(e, io.EOF) {
		t.Errorf("e is %v; want e.Error() to be \"p: EOF\", %v", e, io.EOF)
	}
}
