package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"parley.internal/internal/bench/system"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

// runRow: what the run loop itself costs beside the model.
func runRow() Row {
	return Row{Name: "run", What: "run loop around a model that answers at once: cost of one run", Run: runLoop}
}

// scripted is a model that answers at once: with a call of the tool, if there is
// one, and after its result with text.
type scripted struct{ calls bool }

func (scripted) Name() string { return "scripted" }

// InProcess makes it run where the built-in offline model runs.
func (scripted) InProcess() {}

// Stream plays the answer.
func (p scripted) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	events := saysHello
	if last := len(req.Messages) - 1; p.calls && req.Messages[last].Role != model.Tool {
		events = callsEcho
	}
	return func(yield func(model.Event, error) bool) {
		for i := range events {
			if !yield(events[i], nil) {
				return
			}
		}
	}
}

var (
	saysHello = []model.Event{
		{Kind: model.Text, Text: "Good "},
		{Kind: model.Text, Text: "morning."},
		{Kind: model.Done, Finish: model.FinishStop, Usage: model.Usage{Prompt: 10, Completion: 2}},
	}
	callsEcho = []model.Event{
		{Kind: model.CallDelta, ID: "call_1", Name: "echo"},
		{Kind: model.CallDelta, Arguments: `{"text":"hello"}`},
		{Kind: model.Done, Finish: model.FinishCalls, Usage: model.Usage{Prompt: 10, Completion: 2}},
	}
)

func runLoop(ctx context.Context, env *Env) ([]Result, error) {
	echo := &tool.Tool{
		Name: "echo", Class: tool.ReadOnly,
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: string(c.Arguments)}, nil
		},
	}
	set, err := tool.NewSet(nil, echo)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range []struct {
		name  string
		tools *tool.Set
		most  time.Duration
	}{{"one round, no tools", nil, 5 * time.Microsecond}, {"two rounds with a tool between", set, 30 * time.Microsecond}} {
		env.say("%s", c.name)
		for _, history := range pick(env, []int{1, 10, 100}, []int{1, 10}) {
			r, err := runCase(ctx, env, c.tools, history)
			if err != nil {
				return results, err
			}
			r.Case = c.name + ", history of " + count(history, "message")
			if history == 1 {
				r.Target.Most = float64(c.most)
			}
			results = append(results, r)
		}
		last := results[len(results)-len(pick(env, []int{1, 10, 100}, []int{1, 10})):]
		grow(last, perOp(last))
	}
	return results, nil
}

func runCase(ctx context.Context, env *Env, tools *tool.Set, history int) (Result, error) {
	messages := make([]model.Message, history)
	for i := range messages {
		messages[i] = model.Message{Role: model.User, Text: "hi"}
	}
	spec := brain.RunSpec{
		Model:   brain.Model{Provider: scripted{calls: tools != nil}, Name: "scripted"},
		Request: model.Request{Purpose: model.ForTurn, Messages: messages},
		Tools:   tools,
	}
	sink := brain.SinkFunc(func(brain.Event) {})
	n := pick(env, 50_000, 500)
	started, cpu := time.Now(), system.CPUTime()
	for range n {
		if out := brain.Run(ctx, spec, sink); out.Stop != brain.StopDone {
			return Result{}, fmt.Errorf("the run stopped: %v: %w", out.Stop, out.Err)
		}
	}
	wall, used := time.Since(started)/time.Duration(n), (system.CPUTime()-cpu)/time.Duration(n)
	if used == 0 {
		return atMost("", took(wall), 0), nil
	}
	r := atMost("", took(used), 0)
	r.Note = "CPU time, collector included; on the clock " + took(wall).String()
	return r, nil
}
