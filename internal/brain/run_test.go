package brain_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
	"parley.internal/internal/brain/tool"
)

func TestARunWithoutToolsIsOneCall(t *testing.T) {
	var l log
	p := &fake{acts: []act{says("Good ", "morning.")}}
	out := brain.Run(t.Context(), spec(p), &l)
	want := []string{"open 1", "chunk Good ", "chunk morning.", "close 1", "usage 1: 10+2"}
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Error(diff)
	}
	if out.Stop != brain.StopDone || out.Err != nil || out.Text != "Good morning." || out.Rounds != 1 || out.Finish != model.FinishStop {
		t.Errorf("%+v; want no error, out.Stop to be %v, out.Text to be \"Good morning.\", out.Rounds to be 1, out.Finish to be %v", out, brain.StopDone, model.FinishStop)
	}
	if out.Reply.Role != model.Assistant || out.Reply.Text != out.Text || out.Reply.Interrupted {
		t.Errorf("%+v; want out.Reply.Role to be %v, out.Reply.Text to be %v, not out.Reply.Interrupted", out.Reply, model.Assistant, out.Text)
	}
	if r := p.request(0); r.Model != "m1" || r.Attempt != 1 || len(r.Tools) != 0 {
		t.Errorf("%+v; want r.Model to be \"m1\", r.Attempt to be 1, len(r.Tools) to be 0", r)
	}
}

func TestToolEventsComeInTheirOrderAndHistoryInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		var k kept
		p := &fake{acts: []act{wants("Let me see.", `slow {"a":1}`, `fast {}`), says("Done.")}}
		s := spec(p, echo("slow", tool.ReadOnly, 2*time.Second), echo("fast", tool.ReadOnly, time.Second))
		s.Store = &k
		out := brain.Run(t.Context(), s, &l)
		want := []string{
			"open 1", "chunk Let me see.", "close 1", "named slow", "named fast", "usage 1: 100+10",
			`calls slow{"a":1},fast{}`, "result fast did fast", "result slow did slow", "complete",
			"open 1", "chunk Done.", "close 1", "usage 2: 10+1",
		}
		if diff := cmp.Diff(want, l.lines); diff != "" {
			t.Error(diff)
		}
		sent := p.request(1).Messages[1:]
		calls := []model.Call{{ID: "id0", Name: "slow", Arguments: `{"a":1}`}, {ID: "id1", Name: "fast", Arguments: "{}"}}
		wantSent := []model.Message{
			{Role: model.Assistant, Text: "Let me see.", Calls: calls},
			{Role: model.Tool, Text: "did slow", CallID: "id0", Name: "slow"},
			{Role: model.Tool, Text: "did fast", CallID: "id1", Name: "fast"},
		}
		if diff := cmp.Diff(wantSent, sent); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(wantSent[:1], k.calls); diff != "" || len(k.results) != 1 || k.results[0][0].Call.Name != "slow" {
			t.Error(diff, k.results)
		}
		if out.Usage.Prompt != 110 || out.Usage.Completion != 11 || out.Usage.Rounds != 2 || out.Last.Prompt != 10 {
			t.Errorf("usage is not the sum of rounds: %+v, last %+v", out.Usage, out.Last)
		}
	})
}

func TestEachStepIsStoredBeforeTheNextBegins(t *testing.T) {
	var order []string
	p := &fake{acts: []act{wants("", "x {}"), says("ok")}}
	x := &tool.Tool{Name: "x", Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
		order = append(order, "tool")
		return tool.Result{}, nil
	}}
	s := spec(p, x)
	s.Store = hooks{
		calls:   func() { order = append(order, "store calls") },
		results: func() { order = append(order, "store results") },
	}
	brain.Run(t.Context(), s, brain.SinkFunc(func(e brain.Event) {
		if e.Kind == brain.ToolCalls || e.Kind == brain.ToolsComplete || e.Kind == brain.Chunk {
			order = append(order, line(e))
		}
	}))
	want := []string{"store calls", "calls x{}", "tool", "store results", "complete", "chunk ok"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

type hooks struct{ calls, results func() }

func (h hooks) Calls(context.Context, model.Message, model.Usage) error { h.calls(); return nil }
func (h hooks) Results(context.Context, []tool.Done) error              { h.results(); return nil }

func TestAStoreThatFailsEndsTheRun(t *testing.T) {
	lost := errors.New("lease lost")
	for name, k := range map[string]*kept{"calls": {failCalls: lost}, "results": {failResult: lost}} {
		p := &fake{acts: []act{wants("", "x {}"), says("never")}}
		s := spec(p, echo("x", tool.ReadOnly, 0))
		s.Store = k
		out := brain.Run(t.Context(), s, &log{})
		if out.Stop != brain.StopInternal || !errors.Is(out.Err, lost) || p.calls() != 1 {
			t.Errorf("%s: %+v; want out.Stop to be %v, %v, p.calls() to be 1", name, out, brain.StopInternal, lost)
		}
		if (len(k.results) > 0) != (name == "results") {
			t.Errorf("%s: a tool ran though its call was not stored", name)
		}
	}
}

func TestThinkingIsForwardedAndSegmentsNeverOverlap(t *testing.T) {
	var l log
	p := &fake{acts: []act{plays(
		model.Event{Kind: model.Thinking, Text: "hm"}, model.Event{Kind: model.Thinking, Text: "m"},
		model.Event{Kind: model.Text, Text: "a"}, model.Event{Kind: model.Thinking, Text: "b"},
		model.Event{Kind: model.Text, Text: ""}, model.Event{Kind: model.Text, Text: "c"},
		model.Event{Kind: model.Done, Signature: "sig"},
	)}}
	out := brain.Run(t.Context(), spec(p), &l)
	want := []string{
		"open 2", "thinking hm", "thinking m", "close 2", "open 1", "chunk a", "close 1",
		"open 2", "thinking b", "close 2", "open 1", "chunk c", "close 1", "usage 1: 0+0",
	}
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Error(diff)
	}
	if out.Reply.Reasoning != "hmmb" || out.Reply.ReasoningSignature != "sig" || out.Text != "ac" {
		t.Errorf("%+v; want out.Reply.Reasoning to be \"hmmb\", out.Reply.ReasoningSignature to be \"sig\", out.Text to be \"ac\"", out.Reply)
	}
}

func TestTheRoundLimitCarriesItsReason(t *testing.T) {
	p := &fake{acts: []act{wants("again", "x {}")}}
	s := spec(p, echo("x", tool.ReadOnly, 0))
	s.MaxRounds = 3
	var k kept
	s.Store = &k
	out := brain.Run(t.Context(), s, &log{})
	if out.Stop != brain.StopRounds || out.Err.Error() != "stopped after 3 rounds" || !errors.Is(out.Err, brain.ErrRounds) {
		t.Errorf("%+v; want out.Stop to be %v, out.Err.Error() to be \"stopped after 3 rounds\", brain.ErrRounds", out, brain.StopRounds)
	}
	if p.calls() != 3 || len(k.results) != 3 || out.Reply.Role != "" || out.Text != "again" {
		t.Errorf("%d calls, %d results, reply %+v", p.calls(), len(k.results), out.Reply)
	}
	p = &fake{acts: []act{wants("", "x {}")}}
	s = spec(p, echo("x", tool.ReadOnly, 0))
	if out := brain.Run(t.Context(), s, &log{}); out.Err == nil || out.Err.Error() != "stopped after 16 rounds" {
		t.Errorf("%+v; want an error, out.Err.Error() to be \"stopped after 16 rounds\"", out)
	}
}

func TestSilenceCarriesItsReason(t *testing.T) {
	out := brain.Run(t.Context(), spec(&fake{acts: []act{wants("", "x {}"), says()}}, echo("x", tool.ReadOnly, 0)), &log{})
	if out.Stop != brain.StopSilent || out.Err != nil || out.Reply.Role != "" {
		t.Errorf("%+v; want no error, out.Stop to be %v, out.Reply.Role to be \"\"", out, brain.StopSilent)
	}
	out = brain.Run(t.Context(), spec(&fake{acts: []act{wants("a word", "x {}"), says()}}, echo("x", tool.ReadOnly, 0)), &log{})
	if out.Stop != brain.StopDone {
		t.Errorf("there was text: %+v", out)
	}
}

func TestNoFailingToolEndsARun(t *testing.T) {
	p := &fake{acts: []act{wants("", "nosuch {}", "x oops", "boom {}"), says("I see.")}}
	boom := &tool.Tool{Name: "boom", Class: tool.Mutating, Run: func(context.Context, tool.Call) (tool.Result, error) { panic("x") }}
	out := brain.Run(t.Context(), spec(p, echo("x", tool.ReadOnly, 0), boom), &log{})
	if out.Stop != brain.StopDone || out.Text != "I see." {
		t.Errorf("%+v; want out.Stop to be %v, out.Text to be \"I see.\"", out, brain.StopDone)
	}
	for i, want := range []string{"there is no tool", "not a JSON object", "broke down"} {
		if m := p.request(1).Messages[2+i]; !m.IsError || !strings.Contains(m.Text, want) {
			t.Errorf("%+v; want m.IsError, strings.Contains(m.Text, want)", m)
		}
	}
}

func TestThreeSteersInARoundArriveInOrder(t *testing.T) {
	var waiting []model.Message
	for _, s := range []string{"one", "two", "three"} {
		waiting = append(waiting, model.Message{Role: model.User, Text: s})
	}
	var ready bool
	x := &tool.Tool{Name: "x", Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
		ready = true // they arrive while the tool runs
		return tool.Result{}, nil
	}}
	p := &fake{acts: []act{wants("", "x {}"), says("ok")}}
	s := spec(p, x)
	s.Pending = func() []model.Message {
		if !ready {
			return nil
		}
		got := waiting
		waiting = nil
		return got
	}
	brain.Run(t.Context(), s, &log{})
	msgs := p.request(1).Messages
	var got []string
	for _, m := range msgs[len(msgs)-3:] {
		got = append(got, m.Text)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || msgs[len(msgs)-4].Role != model.Tool {
		t.Error(diff)
	}
}

func TestADroppedCallEndsAGuestsTurn(t *testing.T) {
	var l log
	p := &fake{acts: []act{wants("My view.", "x {}"), says("never")}}
	s := spec(p)
	s.DropCalls = true
	out := brain.Run(t.Context(), s, &l)
	if out.Stop != brain.StopDone || out.Text != "My view." || len(out.Reply.Calls) != 0 || p.calls() != 1 {
		t.Errorf("%+v; want out.Stop to be %v, out.Text to be \"My view.\", len(out.Reply.Calls) to be 0, p.calls() to be 1", out, brain.StopDone)
	}
	if strings.Contains(strings.Join(l.lines, " "), "named") {
		t.Error("somebody heard of the call", l.lines)
	}
}

// upper is a filter that holds the last letter back.
type upper struct{ held string }

func (u *upper) Next(s string) string {
	s = u.held + strings.ToUpper(s)
	u.held = s[len(s)-1:]
	return s[:len(s)-1]
}

func (u *upper) Flush() string { return u.held }

func TestAFilterChangesWhatIsSentAndWhatIsKeptAlike(t *testing.T) {
	var l log
	s := spec(&fake{acts: []act{says("good ", "day")}})
	s.NewFilter = func() brain.TextFilter { return &upper{} }
	out := brain.Run(t.Context(), s, &l)
	if out.Text != "GOOD DAY" || l.text() != "GOOD DAY" {
		t.Errorf("%q, %q; want out.Text to be \"GOOD DAY\", l.text() to be \"GOOD DAY\"", out.Text, l.text())
	}
}

func TestChunksAddUpToTheTextByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.String()).Draw(t, "chunks")
		var l log
		out := brain.Run(context.Background(), spec(&fake{acts: []act{says(chunks...)}}), &l)
		if want := strings.Join(chunks, ""); out.Text != want || l.text() != want {
			t.Fatalf("%q, %q, want %q", out.Text, l.text(), want)
		}
	})
}

func TestHalfAMegabyteArrivesWhole(t *testing.T) {
	word := strings.Repeat("x", 9) + " "
	var l log
	s := spec(offline.New())
	s.Request.Messages[0].Text = "/say " + strings.Repeat(word, 50_000)
	out := brain.Run(t.Context(), s, &l)
	if len(out.Text) != 500_000 || l.text() != out.Text {
		t.Errorf("%d bytes", len(out.Text))
	}
}

func TestACancelKeepsTheTextSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		out := brain.Run(ctx, spec(&fake{acts: []act{stalls("half a ", "sen")}}), &log{})
		if out.Stop != brain.StopCancelled || out.Err.Error() != "cancelled" || out.Reply.Text != "half a sen" || !out.Reply.Interrupted {
			t.Errorf("%+v", out)
		}
	})
}

func TestACancelledRunEndsWithinASecondEvenIfTheProviderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute/2, cancel)
		begin := time.Now()
		out := brain.Run(ctx, spec(&fake{acts: []act{hangs(release, "text")}}), &log{})
		if took := time.Since(begin) - time.Minute/2; took > time.Second {
			t.Errorf("took %s more", took)
		}
		if out.Stop != brain.StopCancelled || out.Reply.Text != "text" {
			t.Errorf("%+v; want out.Stop to be %v, out.Reply.Text to be \"text\"", out, brain.StopCancelled)
		}
	})
}

func TestACancelledRunEndsWithinASecondEvenIfAToolHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		stuck := &tool.Tool{Name: "stuck", Class: tool.Mutating, Run: func(context.Context, tool.Call) (tool.Result, error) {
			<-release
			return tool.Result{}, nil
		}}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(brain.ErrKilled) })
		var k kept
		var l log
		s := spec(&fake{acts: []act{wants("", "stuck {}", "x {}"), says("never")}}, stuck, echo("x", tool.ReadOnly, 0))
		s.Store = &k
		begin := time.Now()
		out := brain.Run(ctx, s, &l)
		if took := time.Since(begin) - time.Second; took > time.Second {
			t.Errorf("took %s more", took)
		}
		if out.Stop != brain.StopKilled || out.Err.Error() != "killed" {
			t.Errorf("%+v; want out.Stop to be %v, out.Err.Error() to be \"killed\"", out, brain.StopKilled)
		}
		if len(k.results) != 1 || !k.results[0][0].IsError || k.results[0][1].Output != "did x" {
			t.Errorf("open calls need an is_error result in the store: %+v", k.results)
		}
	})
}

func TestARunHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec(offline.New(), echo("x", tool.ReadOnly, 0))
		s.Request.Messages[0].Text = "/say working\n/sleep 50000\n/tool x\n/sleep 50000\n/say never"
		s.Timeout = time.Minute
		begin := time.Now()
		out := brain.Run(t.Context(), s, &log{})
		if out.Stop != brain.StopTimeout || !errors.Is(out.Err, brain.ErrRunTimeout) || time.Since(begin) != time.Minute {
			t.Errorf("%+v after %s", out, time.Since(begin))
		}
	})
}

func TestWhyARunWasCancelledIsItsStopReason(t *testing.T) {
	for cause, want := range map[error]brain.Stop{
		errors.New("client left"): brain.StopCancelled, brain.ErrKilled: brain.StopKilled,
		brain.ErrInterrupted: brain.StopInterrupted, context.DeadlineExceeded: brain.StopTimeout,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		p := &fake{acts: []act{says("never")}}
		if out := brain.Run(ctx, spec(p), &log{}); out.Stop != want || p.calls() != 0 {
			t.Errorf("%v: %v after %d calls", cause, out.Stop, p.calls())
		}
	}
}

func TestAProviderThatFailsMidwayLeavesItsText(t *testing.T) {
	p := &fake{acts: []act{func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		yield(model.Event{Kind: model.Text, Text: "half"}, nil)
		yield(model.Event{Kind: model.CallDelta, Name: "x"}, nil)
		yield(model.Event{}, &model.Error{Provider: "fake", Cause: model.CauseStatus, Status: 500, Text: "overloaded"})
	}}}
	out := brain.Run(t.Context(), spec(p, echo("x", tool.ReadOnly, 0)), &log{})
	if out.Stop != brain.StopModelError || out.Err.Error() != "fake: overloaded" || p.calls() != 1 {
		t.Errorf("%+v after %d calls", out, p.calls())
	}
	if out.Reply.Text != "half" || !out.Reply.Interrupted || out.Reply.Calls != nil {
		t.Errorf("%+v; want out.Reply.Text to be \"half\", out.Reply.Interrupted, out.Reply.Calls to be nil", out.Reply)
	}
}

func TestTheOfflineModelRunsAWholeScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		s := spec(offline.New(), echo("a", tool.ReadOnly, 0), echo("b", tool.Mutating, 0))
		s.Request.Messages[0].Text = "/fail-once 500\n/say hello\n/tool a\n/and b\n/result\n/tool nosuch {\"x\":1}\n/say bye"
		out := brain.Run(t.Context(), s, &l)
		if out.Stop != brain.StopDone || out.Text != "bye" || out.Rounds != 3 || !out.Usage.CostKnown || out.Usage.CostMicros != 0 {
			t.Errorf("%+v", out)
		}
		if got := l.text(); got != "hello\"did a\"\n\"did b\"bye" {
			t.Errorf("%q; want \"hello\\\"did a\\\"\\n\\\"did b\\\"bye\"", got)
		}
	})
}
