package brain_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a scripted provider: each call plays the next act, the last one again
// and again. It keeps what it was sent.
type fake struct {
	acts []act

	mu       sync.Mutex
	requests []model.Request
}

type act func(ctx context.Context, req model.Request, yield func(model.Event, error) bool)

func (*fake) Name() string { return "fake" }

func (f *fake) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		f.mu.Lock()
		n := len(f.requests)
		f.requests = append(f.requests, req)
		f.mu.Unlock()
		f.acts[min(n, len(f.acts)-1)](ctx, req, yield)
	}
}

func (f *fake) request(i int) model.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[i]
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// plays yields fixed events.
func plays(events ...model.Event) act {
	return func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// says answers with these chunks and ends.
func says(chunks ...string) act {
	var evs []model.Event
	for _, c := range chunks {
		evs = append(evs, model.Event{Kind: model.Text, Text: c})
	}
	return plays(append(evs, done(model.FinishStop, 10, int64(len(chunks))))...)
}

// wants calls tools, named "name" or "name {args}".
func wants(text string, tools ...string) act {
	var evs []model.Event
	if text != "" {
		evs = append(evs, model.Event{Kind: model.Text, Text: text})
	}
	for i, t := range tools {
		name, args, _ := strings.Cut(t, " ")
		evs = append(evs, model.Event{Kind: model.CallDelta, Index: i, ID: fmt.Sprintf("id%d", i), Name: name},
			model.Event{Kind: model.CallDelta, Index: i, Arguments: args})
	}
	return plays(append(evs, done(model.FinishCalls, 100, 10))...)
}

func done(f model.Finish, prompt, completion int64) model.Event {
	return model.Event{Kind: model.Done, Finish: f, Usage: model.Usage{Prompt: prompt, Completion: completion}}
}

func fails(e *model.Error) act {
	return func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		e.Provider = "fake"
		yield(model.Event{}, e)
	}
}

// hangs says something, then ignores everything until released.
func hangs(release <-chan struct{}, chunks ...string) act {
	return func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		for _, c := range chunks {
			yield(model.Event{Kind: model.Text, Text: c}, nil)
		}
		<-release
	}
}

// stalls says something, then waits for its context like a real provider.
func stalls(chunks ...string) act {
	return func(ctx context.Context, _ model.Request, yield func(model.Event, error) bool) {
		for _, c := range chunks {
			yield(model.Event{Kind: model.Text, Text: c}, nil)
		}
		<-ctx.Done()
		yield(model.Event{}, ctx.Err())
	}
}

// log is a sink that writes what it hears as short lines.
type log struct{ lines []string }

func (l *log) Emit(e brain.Event) { l.lines = append(l.lines, line(e)) }

func line(e brain.Event) string {
	names := func() string {
		var s []string
		for _, c := range e.Calls {
			s = append(s, c.Name+c.Arguments)
		}
		return strings.Join(s, ",")
	}
	switch e.Kind {
	case brain.SegmentOpen:
		return fmt.Sprintf("open %d", e.Segment)
	case brain.SegmentClose:
		return fmt.Sprintf("close %d", e.Segment)
	case brain.Chunk:
		return "chunk " + e.Text
	case brain.Thinking:
		return "thinking " + e.Text
	case brain.ToolNamed:
		return "named " + names()
	case brain.ToolCalls:
		return "calls " + names()
	case brain.ToolResult:
		return "result " + e.Result.Call.Name + " " + e.Result.Output
	case brain.ToolsComplete:
		return "complete"
	case brain.RoundUsage:
		return fmt.Sprintf("usage %d: %d+%d", e.Round, e.Usage.Prompt, e.Usage.Completion)
	case brain.Notice:
		return "notice " + e.Code
	}
	return "?"
}

// text is all chunks joined.
func (l *log) text() string {
	var b strings.Builder
	for _, s := range l.lines {
		if t, ok := strings.CutPrefix(s, "chunk "); ok {
			b.WriteString(t)
		}
	}
	return b.String()
}

// kept is a Store that remembers, and fails where told to.
type kept struct {
	calls      []model.Message
	results    [][]tool.Done
	failCalls  error
	failResult error
}

func (k *kept) Calls(_ context.Context, msg model.Message, _ model.Usage) error {
	k.calls = append(k.calls, msg)
	return k.failCalls
}

func (k *kept) Results(ctx context.Context, r []tool.Done) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.results = append(k.results, r)
	return k.failResult
}

func spec(p model.Provider, tools ...*tool.Tool) brain.RunSpec {
	set, err := tool.NewSet(nil, tools...)
	if err != nil {
		panic(err)
	}
	return brain.RunSpec{
		Model:   brain.Model{Provider: p, Name: "m1"},
		Request: model.Request{Purpose: model.ForTurn, Messages: []model.Message{{Role: model.User, Text: "hi"}}},
		Tools:   set,
	}
}

func echo(name string, class tool.Class, wait time.Duration) *tool.Tool {
	return &tool.Tool{Name: name, Class: class, Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		}
		return tool.Result{Text: "did " + c.Name}, nil
	}}
}
