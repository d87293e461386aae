package brain_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

func long(name string) *tool.Tool {
	return &tool.Tool{Name: name, Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("output ", 100)}, nil
	}}
}

var tooLong = &model.Error{Cause: model.CauseContext, Text: "too long"}

func shorten(times *int) func(context.Context, []model.Message) ([]model.Message, error) {
	return func(_ context.Context, msgs []model.Message) ([]model.Message, error) {
		*times++
		return append([]model.Message{{Role: model.User, Text: "before", Summary: true}}, msgs[1:]...), nil
	}
}

func TestTooLongIsCompactedOnceThenElidedThenAnError(t *testing.T) {
	times := 0
	p := &fake{acts: []act{wants("", "x {}"), wants("", "x {}"), fails(tooLong), fails(tooLong), fails(tooLong), says("never")}}
	s := spec(p, long("x"))
	s.Compact = shorten(&times)
	var l log
	out := brain.Run(t.Context(), s, &l)
	if out.Stop != brain.StopModelError || !errors.Is(out.Err, tooLong) || times != 1 || p.calls() != 5 || out.Rounds != 3 {
		t.Errorf("%+v, compacted %d times, %d calls", out, times, p.calls())
	}
	if m := p.request(3).Messages; !m[0].Summary || len(m[2].Text) < 100 {
		t.Errorf("first comes the archive: %+v", m)
	}
	if m := p.request(4).Messages; len(m[2].Text) > 100 || len(m[4].Text) < 100 {
		t.Errorf("then older output goes, the newest stays: %+v", m)
	}
	if l.lines[len(l.lines)-1] != "notice elided" {
		t.Errorf("l.lines is %v; want l.lines[len(l.lines)-1] to be \"notice elided\"", l.lines)
	}
}

func TestTooLongGoesOnAfterACompaction(t *testing.T) {
	times := 0
	s := spec(&fake{acts: []act{fails(tooLong), says("fits")}})
	s.Compact = shorten(&times)
	if out := brain.Run(t.Context(), s, &log{}); out.Stop != brain.StopDone || out.Text != "fits" || out.Rounds != 1 {
		t.Errorf("%+v; want out.Stop to be %v, out.Text to be \"fits\", out.Rounds to be 1", out, brain.StopDone)
	}
}

func TestANearlyFullWindowIsCompactedBeforeTheNextRound(t *testing.T) {
	for window, want := range map[int64]int{0: 0, 110: 1, 115: 1, 116: 0, 1000: 0} {
		times := 0
		s := spec(&fake{acts: []act{wants("", "x {}"), says("ok")}}, long("x")) // reports 110 tokens
		s.Compact = shorten(&times)
		s.Model.Window = window
		if out := brain.Run(t.Context(), s, &log{}); out.Stop != brain.StopDone || times != want {
			t.Errorf("window %d: compacted %d times, %v", window, times, out.Stop)
		}
	}
	times := 0
	s := spec(&fake{acts: []act{says("ok")}})
	s.Compact, s.Model.Window = shorten(&times), 5
	if brain.Run(t.Context(), s, &log{}); times != 0 {
		t.Error("a finished answer was followed by something")
	}
}

func TestAFailedCompactionIsNoticedAndElided(t *testing.T) {
	p := &fake{acts: []act{wants("", "x {}"), wants("", "x {}"), fails(tooLong), says("ok")}}
	s := spec(p, long("x"))
	s.Compact = func(context.Context, []model.Message) ([]model.Message, error) { return nil, errors.New("no summary") }
	var l log
	out := brain.Run(t.Context(), s, &l)
	if out.Stop != brain.StopDone || !strings.Contains(strings.Join(l.lines, ";"), "notice compact_failed;notice elided") {
		t.Errorf("%+v %v; want out.Stop to be %v, \"notice compact_failed;notice elided\" in it", out, l.lines, brain.StopDone)
	}
}
