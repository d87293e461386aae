package brain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
)

// listen plays a call to its end.
func listen(ctx context.Context, p model.Provider, policy brain.CallPolicy) (a brain.Answer, err error) {
	for ev, e := range brain.Call(ctx, p, model.Request{}, policy) {
		if e != nil {
			return a, e
		}
		a.Add(&ev)
	}
	return a, nil
}

func TestRetriesHappenOnlyWhereTheyCanHelp(t *testing.T) {
	status := func(n int) act { return fails(&model.Error{Cause: model.CauseStatus, Status: n}) }
	half := func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		if yield(model.Event{Kind: model.Thinking, Text: "hm"}, nil) {
			yield(model.Event{}, &model.Error{Cause: model.CauseStatus, Status: 503})
		}
	}
	for _, c := range []struct {
		name  string
		acts  []act
		calls int
		ok    bool
	}{
		{"429 then success", []act{status(429), says("ok")}, 2, true},
		{"500 twice then success", []act{status(500), status(502), says("ok")}, 3, true},
		{"408", []act{status(408), says("ok")}, 2, true},
		{"no connection", []act{fails(&model.Error{Cause: model.CauseConnect}), says("ok")}, 2, true},
		{"cut before a token", []act{plays(), says("ok")}, 2, true},
		{"three times is enough", []act{status(500), status(500), status(500), says("never")}, 3, false},
		{"400", []act{status(400), says("never")}, 1, false},
		{"401", []act{status(401), says("never")}, 1, false},
		{"403", []act{status(403), says("never")}, 1, false},
		{"too long", []act{fails(&model.Error{Cause: model.CauseContext}), says("never")}, 1, false},
		{"final", []act{fails(&model.Error{Cause: model.CauseConnect, Final: true}), says("never")}, 1, false},
		{"after a token", []act{half, says("never")}, 1, false},
		{"a provider that panics", []act{func(context.Context, model.Request, func(model.Event, error) bool) { panic("x") }, says("never")}, 1, false},
	} {
		for kind, wrap := range kinds {
			t.Run(kind+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &fake{acts: c.acts}
					a, err := listen(t.Context(), wrap(p), brain.TurnPolicy())
					if p.calls() != c.calls || (err == nil) != c.ok || c.ok && a.Text() != "ok" {
						t.Errorf("%d calls, %q, %v", p.calls(), a.Text(), err)
					}
					var e *model.Error
					if err != nil && !errors.As(err, &e) {
						t.Errorf("%T", err)
					}
					for i := range p.calls() {
						if p.request(i).Attempt != i+1 {
							t.Errorf("attempt %d is called %d", i+1, p.request(i).Attempt)
						}
					}
				})
			})
		}
	}
}

// kinds are the two ways a provider is run.
var kinds = map[string]func(*fake) model.Provider{
	"":             func(f *fake) model.Provider { return f },
	"in process, ": func(f *fake) model.Provider { return inProcess{f} },
}

type inProcess struct{ *fake }

func (inProcess) InProcess() {}

func TestAnInProcessProviderIsCancelledAndLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p := inProcess{&fake{acts: []act{func(ctx context.Context, _ model.Request, yield func(model.Event, error) bool) {
		yield(model.Event{Kind: model.Text, Text: "a"}, nil)
		cancel(brain.ErrKilled)
		if yield(model.Event{Kind: model.Text, Text: "b"}, nil) {
			t.Error("it is asked to go on")
		}
	}}}}
	a, err := listen(ctx, p, brain.TurnPolicy())
	if !errors.Is(err, brain.ErrKilled) || a.Text() != "a" {
		t.Errorf("%q %v; want brain.ErrKilled, a.Text() to be \"a\"", a.Text(), err)
	}
	for range brain.Call(t.Context(), inProcess{&fake{acts: []act{says("a", "b")}}}, model.Request{}, brain.TurnPolicy()) {
		break // whoever leaves hears nothing more, and nothing breaks
	}
}

func TestRetriesWaitLongerEachTimeButNotForEver(t *testing.T) {
	for _, c := range []struct {
		name        string
		policy      brain.CallPolicy
		after       time.Duration
		least, most []time.Duration
	}{
		{"turn", brain.TurnPolicy(), 0, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, []time.Duration{500 * time.Millisecond, time.Second}},
		{"task", brain.TaskPolicy(), 0, []time.Duration{500 * time.Millisecond, time.Second}, []time.Duration{time.Second, 2 * time.Second}},
		{"asked for", brain.TurnPolicy(), 7 * time.Second, []time.Duration{7 * time.Second, 7 * time.Second}, []time.Duration{7 * time.Second, 7 * time.Second}},
		{"asked for too much", brain.TurnPolicy(), time.Hour, []time.Duration{30 * time.Second, 30 * time.Second}, []time.Duration{30 * time.Second, 30 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waits []time.Duration
				c.policy.OnRetry = func(_ int, w time.Duration, _ error) { waits = append(waits, w) }
				p := &fake{acts: []act{fails(&model.Error{Cause: model.CauseStatus, Status: 429, RetryAfter: c.after})}}
				begin := time.Now()
				if _, err := listen(t.Context(), p, c.policy); err == nil || len(waits) != 2 {
					t.Fatal(err, waits)
				}
				for i, w := range waits {
					if w < c.least[i] || w > c.most[i] {
						t.Errorf("wait %d was %s", i+1, w)
					}
				}
				if time.Since(begin) != waits[0]+waits[1] {
					t.Errorf("took %s", time.Since(begin))
				}
			})
		})
	}
}

func TestASilentProviderIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name string
		acts func(release <-chan struct{}) act
		took time.Duration
	}{
		{"before the first token", func(<-chan struct{}) act { return stalls() }, 120 * time.Second},
		{"between tokens", func(<-chan struct{}) act { return stalls("a", "b") }, 60 * time.Second},
		{"deaf, before the first token", func(r <-chan struct{}) act { return hangs(r) }, 120*time.Second + 500*time.Millisecond},
		{"deaf, between tokens", func(r <-chan struct{}) act { return hangs(r, "a") }, 60*time.Second + 500*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				p := &fake{acts: []act{c.acts(release)}}
				begin := time.Now()
				_, err := listen(t.Context(), p, brain.TurnPolicy())
				var e *model.Error
				if !errors.As(err, &e) || e.Cause != model.CauseTimeout || p.calls() != 1 {
					t.Errorf("%v after %d calls", err, p.calls())
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestASlowButSteadyProviderIsHeardOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fake{acts: []act{func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
			<-time.After(119 * time.Second)
			for range 10 {
				yield(model.Event{Kind: model.Text, Text: "x"}, nil)
				<-time.After(59 * time.Second)
			}
			yield(done(model.FinishStop, 1, 10), nil)
		}}}
		if a, err := listen(t.Context(), p, brain.TurnPolicy()); err != nil || len(a.Text()) != 10 || !a.Complete {
			t.Errorf("%q %v; want no error, len(a.Text()) to be 10, a.Complete", a.Text(), err)
		}
	})
}

func TestACancelDuringAWaitForARetryEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		p := &fake{acts: []act{fails(&model.Error{Cause: model.CauseStatus, Status: 429, RetryAfter: time.Minute})}}
		begin := time.Now()
		if _, err := listen(ctx, p, brain.TurnPolicy()); !errors.Is(err, why) || time.Since(begin) != time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

func TestSplitCallsAreMergedByIndex(t *testing.T) {
	p := &fake{acts: []act{plays(
		model.Event{Kind: model.CallDelta, Index: 1, ID: "b", Name: "second"},
		model.Event{Kind: model.CallDelta, Index: 0, Name: "first"},
		model.Event{Kind: model.CallDelta, Index: 1, Arguments: `{"x"`},
		model.Event{Kind: model.CallDelta, Index: 0, Arguments: `{`},
		model.Event{Kind: model.CallDelta, Index: 1, Arguments: `:1}`},
		model.Event{Kind: model.CallDelta, Index: 0, Arguments: `}`},
		done(model.FinishCalls, 5, 6),
	)}}
	a, err := listen(t.Context(), p, brain.TurnPolicy())
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Call{{ID: "b", Name: "second", Arguments: `{"x":1}`}, {ID: "call_4_2", Name: "first", Arguments: "{}"}}
	if diff := cmp.Diff(want, a.Calls(4)); diff != "" {
		t.Error(diff)
	}
	if a.Usage.Prompt != 5 || a.Usage.Rounds != 1 || a.Finish != model.FinishCalls {
		t.Errorf("%+v; want a.Usage.Prompt to be 5, a.Usage.Rounds to be 1, a.Finish to be %v", a, model.FinishCalls)
	}
}

func TestALongStreamIsHeldBackByItsReaderAndWhole(t *testing.T) {
	const n = 5000
	p := &fake{acts: []act{func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		for i := range n {
			if !yield(model.Event{Kind: model.Text, Text: fmt.Sprintf("%d;", i)}, nil) {
				return
			}
		}
		yield(done(model.FinishStop, 1, n), nil)
	}}}
	i := 0
	for ev, err := range brain.Call(t.Context(), p, model.Request{}, brain.TurnPolicy()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == model.Text {
			if ev.Text != fmt.Sprintf("%d;", i) {
				t.Fatalf("%q is not number %d", ev.Text, i)
			}
			i++
		}
	}
	if i != n {
		t.Errorf("%d events", i)
	}
}

func TestAReaderThatLeavesEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		p := &fake{acts: []act{func(ctx context.Context, _ model.Request, yield func(model.Event, error) bool) {
			for yield(model.Event{Kind: model.Text, Text: "x"}, nil) {
			}
			<-ctx.Done()
			stopped = true
		}}}
		for range brain.Call(t.Context(), p, model.Request{}, brain.TurnPolicy()) {
			break
		}
		if !stopped {
			t.Error("the provider still runs")
		}
	})
}
