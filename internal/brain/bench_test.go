package brain_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

// replay is a provider that plays fixed events; after a batch of tool results it
// plays the next answer.
type replay struct{ answers [][]model.Event }

func (replay) Name() string { return "replay" }

func (replay) InProcess() {}

func (p replay) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		at := 0
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == model.Tool {
			at = 1
		}
		for i := range p.answers[at] {
			if !yield(p.answers[at][i], nil) {
				return
			}
		}
	}
}

var (
	benchText = []model.Event{
		{Kind: model.Text, Text: "Good "},
		{Kind: model.Text, Text: "morning."},
		{Kind: model.Done, Finish: model.FinishStop, Usage: model.Usage{Prompt: 10, Completion: 2}},
	}
	benchCall = []model.Event{
		{Kind: model.CallDelta, ID: "call_1_1", Name: "echo"},
		{Kind: model.CallDelta, Arguments: `{"text":"hello"}`},
		{Kind: model.Done, Finish: model.FinishCalls, Usage: model.Usage{Prompt: 10, Completion: 2}},
	}
)

func benchRun(b *testing.B, p model.Provider, set *tool.Set) {
	b.Helper()
	sink := brain.SinkFunc(func(brain.Event) {})
	spec := brain.RunSpec{
		Model:   brain.Model{Provider: p, Name: "replay"},
		Request: model.Request{Purpose: model.ForTurn, Messages: []model.Message{{Role: model.User, Text: "hi"}}},
		Tools:   set,
	}
	b.ReportAllocs()
	for b.Loop() {
		if out := brain.Run(context.Background(), spec, sink); out.Stop != brain.StopDone {
			b.Fatal(out.Stop, out.Err)
		}
	}
}

// BenchmarkRoundWithoutTools is a run of one model call.
func BenchmarkRoundWithoutTools(b *testing.B) {
	benchRun(b, replay{answers: [][]model.Event{benchText}}, nil)
}

// BenchmarkRoundWithOneTool is a run of two model calls with a tool between them.
func BenchmarkRoundWithOneTool(b *testing.B) {
	set, err := tool.NewSet(nil, &tool.Tool{
		Name: "echo", Class: tool.ReadOnly,
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: string(c.Arguments)}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	benchRun(b, replay{answers: [][]model.Event{benchCall, benchText}}, set)
}
