package brain_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/pause"
)

// A run that asks on a Friday is answered on Monday: the limit of half an hour is for what it does
// itself.
func TestWaitingForAPersonUsesUpNothingOfARunsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &brain.Stopwatch{}
		ask := &tool.Tool{Name: "ask", Class: tool.ReadOnly, Asks: true, Schema: json.RawMessage(`{"type":"object"}`), Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			defer clock.Wait()()
			return tool.Result{Text: "yes"}, pause.For(ctx, 72*time.Hour)
		}}
		out := runScript(t, clock, 30*time.Minute, "/sleep 600000\n/tool ask {}\n/sleep 600000\n/say done", ask)
		if out.Err != nil || out.Text != "done" {
			t.Fatalf("after three days of waiting the run ended with %v and said %q; want its answer", out.Err, out.Text)
		}
		out = runScript(t, &brain.Stopwatch{}, 15*time.Minute, "/sleep 600000\n/tool ask {}\n/sleep 600000\n/say done", ask)
		if !errors.Is(out.Err, brain.ErrRunTimeout) {
			t.Errorf("a run that takes longer itself, with a clock that nobody stopped: %v; want the time-out", out.Err)
		}
		late := &brain.Stopwatch{}
		ask.Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			defer late.Wait()()
			return tool.Result{Text: "yes"}, pause.For(ctx, time.Hour)
		}
		out = runScript(t, late, 15*time.Minute, "/sleep 600000\n/tool ask {}\n/sleep 600000\n/say done", ask)
		if !errors.Is(out.Err, brain.ErrRunTimeout) {
			t.Errorf("twenty minutes of its own, with fifteen allowed: %v; want the time-out", out.Err)
		}
	})
}

func runScript(t *testing.T, clock *brain.Stopwatch, limit time.Duration, script string, tools ...*tool.Tool) brain.Outcome {
	t.Helper()
	set, err := tool.NewSet(nil, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return brain.Run(t.Context(), brain.RunSpec{
		Model: brain.Model{Provider: offline.New(), Name: "offline"}, Tools: set, Clock: clock, Timeout: limit,
		Request: model.Request{Purpose: model.ForTurn, Messages: []model.Message{{Role: model.User, Text: script}}},
	}, brain.SinkFunc(func(brain.Event) {}))
}
