//go:build unix

package board_test

import (
	"context"
	"strings"
	"testing"

	"parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// dial connects to a hub as its owner.
func dial(t testing.TB, h *hubtest.Hub) *viber.Client {
	t.Helper()
	c, err := viber.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+"/ws", viber.Options{Token: h.Owner})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func submit(t testing.TB, c *viber.Client, goal string, change func(*wire.TaskSubmit)) *viber.Task {
	t.Helper()
	s := &wire.TaskSubmit{Goal: goal, Options: &wire.TaskOptions{StreamDeltas: true}}
	if change != nil {
		change(s)
	}
	task, err := c.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// reader follows a task and keeps what it saw.
type reader struct {
	t    testing.TB
	task *viber.Task
	text map[int]string // of each turn
	last int64
	end  wire.Payload
}

func read(t testing.TB, task *viber.Task) *reader {
	return &reader{t: t, task: task, text: map[int]string{}}
}

// until reads events until one fits, or all of them; the numbers must have no hole.
func (r *reader) until(fits func(wire.Payload) bool) wire.Payload {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hubtest.Patience)
	defer cancel()
	for m, err := range r.task.Events(ctx) {
		if err != nil {
			r.t.Fatalf("after event %d: %v", r.last, err)
		}
		event, ok := m.Body.(wire.TaskEvent)
		if !ok {
			continue
		}
		first := event.Ref().Seq
		if d, ok := event.(*wire.TaskDelta); ok {
			first = d.FirstSeq()
			r.text[d.Turn] += d.Text
		}
		if r.last != 0 && first != r.last+1 {
			r.t.Fatalf("event %d after %d", first, r.last)
		}
		r.last = event.Ref().Seq
		if wire.Ends(event) {
			r.end = event
		}
		if fits != nil && fits(event) {
			return event
		}
	}
	return r.end
}

// completed reads to the end, which must be a good one whose text is what was streamed.
func (r *reader) completed() *wire.TaskCompleted {
	r.t.Helper()
	r.until(nil)
	done, ok := r.end.(*wire.TaskCompleted)
	if !ok {
		r.t.Fatalf("ended with %+v", r.end)
	}
	if got := r.text[done.Turn]; got != done.Result.Text {
		r.t.Errorf("%d bytes were streamed, the result has %d", len(got), len(done.Result.Text))
	}
	return done
}

func kind[P wire.Payload](p wire.Payload) bool {
	_, ok := p.(P)
	return ok
}
