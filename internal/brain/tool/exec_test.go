package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/judge"
)

// slow waits, says its name, and stops when told to.
func slow(name string, class Class, d time.Duration) *Tool {
	return &Tool{Name: name, Class: class, Run: func(ctx context.Context, _ Call) (Result, error) {
		select {
		case <-time.After(d):
			return Result{Text: name}, nil
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}}
}

func calls(names ...string) []model.Call {
	var out []model.Call
	for i, n := range names {
		out = append(out, model.Call{ID: fmt.Sprintf("call_1_%d", i+1), Name: n, Arguments: "{}"})
	}
	return out
}

func texts(done []Done) []string {
	var out []string
	for _, d := range done {
		out = append(out, d.Text)
	}
	return out
}

func TestReadOnlyCallsRunSideBySideAndFinishInTheirOwnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		r := Round{
			Set:    mustSet(t, slow("a", ReadOnly, 300*time.Millisecond), slow("b", ReadOnly, 200*time.Millisecond), slow("c", ReadOnly, 100*time.Millisecond)),
			OnDone: func(d *Done) { order = append(order, d.Call.Name) },
		}
		begin := time.Now()
		done := r.Run(t.Context(), calls("a", "b", "c"))
		if took := time.Since(begin); took != 300*time.Millisecond {
			t.Errorf("took %s", took)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, texts(done)); diff != "" {
			t.Error("call order", diff)
		}
		if diff := cmp.Diff([]string{"c", "b", "a"}, order); diff != "" {
			t.Error("completion order", diff)
		}
		if done[1].Duration != 200*time.Millisecond || done[1].Index != 1 {
			t.Errorf("%+v", done[1])
		}
	})
}

func TestAtMostEightReadOnlyCallsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		s := mustSet(t, &Tool{Name: "x", Class: ReadOnly, Run: func(context.Context, Call) (Result, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-time.After(time.Second)
			now.Add(-1)
			return Result{}, nil
		}})
		names := make([]string, 20)
		for i := range names {
			names[i] = "x"
		}
		begin := time.Now()
		(&Round{Set: s}).Run(t.Context(), calls(names...))
		if most.Load() != 8 || time.Since(begin) != 3*time.Second {
			t.Errorf("%d at once, %s", most.Load(), time.Since(begin))
		}
	})
}

func TestOtherCallsKeepTheirOrderBesideReadOnlyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var began []string
		note := func(name string, class Class) *Tool {
			return &Tool{Name: name, Class: class, Run: func(context.Context, Call) (Result, error) {
				mu.Lock()
				began = append(began, name)
				mu.Unlock()
				<-time.After(time.Second)
				return Result{Text: name}, nil
			}}
		}
		// write is read-only for this call: the class goes by the arguments
		write := note("write", Sensitive)
		write.ClassOf = func(json.RawMessage) Class { return Mutating }
		s := mustSet(t, note("m1", Mutating), write, note("s", Sensitive), slow("r", ReadOnly, 2500*time.Millisecond))
		begin := time.Now()
		(&Round{Set: s}).Run(t.Context(), calls("m1", "r", "write", "s"))
		if time.Since(begin) != 3*time.Second {
			t.Errorf("took %s", time.Since(begin))
		}
		if diff := cmp.Diff([]string{"m1", "write", "s"}, began); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhateverGoesWrongIsAReadableResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		s := mustSet(t,
			&Tool{Name: "panics", Class: ReadOnly, Run: func(context.Context, Call) (Result, error) { panic("ouch") }},
			&Tool{Name: "fails", Class: ReadOnly, Run: func(context.Context, Call) (Result, error) { return Result{}, errors.New("disk full") }},
			&Tool{Name: "typed", Class: ReadOnly, Run: func(context.Context, Call) (Result, error) {
				return Result{}, Errorf(Permission, "outside the workspace")
			}},
			slow("slow", ReadOnly, time.Hour),
			&Tool{Name: "hangs", Class: Mutating, Run: func(context.Context, Call) (Result, error) { <-stuck; return Result{}, nil }},
			&Tool{Name: "strict", Class: ReadOnly, Run: said(""), Schema: json.RawMessage(`{"type":"object","required":["x"]}`)},
			&Tool{Name: "patient", Class: Mutating, Timeout: -1, Run: slow("patient", Mutating, 200*time.Second).Run},
			&Tool{Name: "asks", Class: ReadOnly, Asks: true, Run: slow("asks", ReadOnly, 299*time.Second).Run},
			&Tool{Name: "short", Class: ReadOnly, Timeout: time.Second, Run: slow("short", ReadOnly, time.Minute).Run},
		)
		done := (&Round{Set: s}).Run(t.Context(), calls("panics", "fails", "typed", "slow", "hangs", "strict", "nosuch", "patient", "asks", "short"))
		for i, want := range []struct {
			text string
			kind ErrorType
			err  error
		}{
			{"ouch", Unknown, ErrPanic},
			{"disk full", Unknown, nil},
			{"outside the workspace", Permission, nil},
			{"within 2m0s", TimedOut, ErrTimeout},
			{"within 2m0s", TimedOut, ErrTimeout},
			{"do not fit", Validation, ErrArguments},
			{"there is no tool", NotFound, ErrUnknownTool},
			{"patient", "", nil},
			{"asks", "", nil},
			{"within 1s", TimedOut, ErrTimeout},
		} {
			d := done[i]
			if d.IsError != (want.kind != "") || !strings.Contains(d.Text, want.text) {
				t.Errorf("%s: %+v", d.Call.Name, d)
			}
			if want.kind != "" && TypeOf(d.Err) != want.kind || want.err != nil && !errors.Is(d.Err, want.err) {
				t.Errorf("%s: %v", d.Call.Name, d.Err)
			}
		}
		var p *PanicError
		if !errors.As(done[0].Err, &p) || len(p.Stack) == 0 {
			t.Error("the stack of a panic is lost")
		}
	})
}

func TestACancelEndsARoundWithinTheGraceEvenIfAToolHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		hang := func(context.Context, Call) (Result, error) { <-stuck; return Result{}, nil }
		s := mustSet(t,
			&Tool{Name: "hangs", Class: Mutating, Run: hang},
			slow("never", Mutating, time.Second),
			&Tool{Name: "reads", Class: ReadOnly, Run: hang},
			&Tool{Name: "quick", Class: ReadOnly, Run: said("quick")},
		)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		var told int
		done := (&Round{Set: s, OnDone: func(*Done) { told++ }}).Run(ctx, calls("hangs", "never", "reads", "quick"))
		if took := time.Since(begin); took != time.Second+Grace {
			t.Errorf("took %s", took)
		}
		for _, i := range []int{0, 1, 2} {
			if !done[i].IsError || TypeOf(done[i].Err) != Cancelled {
				t.Errorf("%+v; want done[i].IsError, TypeOf(done[i].Err) to be %v", done[i], Cancelled)
			}
		}
		if done[3].Text != "quick" || told != 4 {
			t.Errorf("%+v, told of %d", done[3], told)
		}
	})
}

func TestACallWaitsForAPersonAndItsTimeStartsAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustSet(t, slow("shell", Sensitive, 100*time.Second), slow("rm", Sensitive, 0), slow("denied", Sensitive, 0), slow("late", Sensitive, 0))
		r := Round{
			Set: s, Template: Call{Agent: "parley", Run: "r1"},
			Judge: func(tl *Tool, _ Call, class Class) judge.Verdict {
				if tl.Name == "denied" {
					return judge.Verdict{Action: judge.Refuse, Reason: "not for you"}
				}
				return judge.Verdict{Action: judge.Ask}
			},
			Approve: func(_ context.Context, c Call, class Class) (Decision, error) {
				if c.Agent != "parley" || c.Run != "r1" || string(c.Arguments) != "{}" || class != Sensitive {
					t.Errorf("%+v; want c.Agent to be \"parley\", c.Run to be \"r1\", string(c.Arguments) to be \"{}\", class to be %v", c, Sensitive)
				}
				<-time.After(100 * time.Second)
				switch c.Name {
				case "rm":
					return Decision{Reason: "too dangerous"}, nil
				case "late":
					return Decision{}, &Error{Type: ApprovalTimeout, Message: "nobody answered"}
				}
				return Decision{Approved: true}, nil
			},
		}
		done := r.Run(t.Context(), calls("shell", "rm", "denied", "late"))
		if done[0].Text != "shell" || done[0].IsError {
			t.Errorf("%+v; want done[0].Text to be \"shell\", not done[0].IsError", done[0])
		}
		if TypeOf(done[1].Err) != Rejected || !strings.Contains(done[1].Text, "too dangerous") {
			t.Errorf("%+v; want TypeOf(done[1].Err) to be %v, \"too dangerous\" in it", done[1], Rejected)
		}
		if TypeOf(done[2].Err) != Denied || !strings.Contains(done[2].Text, "not for you") {
			t.Errorf("%+v; want TypeOf(done[2].Err) to be %v, \"not for you\" in it", done[2], Denied)
		}
		if TypeOf(done[3].Err) != ApprovalTimeout || done[3].Text != "nobody answered" {
			t.Errorf("%+v; want TypeOf(done[3].Err) to be %v, done[3].Text to be \"nobody answered\"", done[3], ApprovalTimeout)
		}
	})
}

func TestAClassThatBreaksDownOverBadArgumentsIsOneCallsFault(t *testing.T) {
	fussy := &Tool{Name: "fussy", Class: Mutating, Run: said("ok"), ClassOf: func(args json.RawMessage) Class {
		var v struct{ X []int }
		if err := json.Unmarshal(args, &v); err != nil || len(v.X) == 0 {
			panic("no x")
		}
		return ReadOnly
	}}
	s := mustSet(t, fussy, slow("fine", ReadOnly, 0))
	done := (&Round{Set: s}).Run(t.Context(), []model.Call{{Name: "fussy", Arguments: "garbage"}, {Name: "fussy", Arguments: "{}"}, {Name: "fine"}})
	if !done[0].IsError || !done[1].IsError || done[2].Text != "fine" {
		t.Errorf("%+v; want done[0].IsError, done[1].IsError, done[2].Text to be \"fine\"", done)
	}
}

func TestNobodyToAskMeansNo(t *testing.T) {
	s := mustSet(t, slow("shell", Sensitive, 0))
	r := Round{Set: s, Judge: func(*Tool, Call, Class) judge.Verdict { return judge.Verdict{Action: judge.Ask} }}
	if d := r.Run(t.Context(), calls("shell"))[0]; !d.IsError || TypeOf(d.Err) != Denied {
		t.Errorf("%+v; want d.IsError, TypeOf(d.Err) to be %v", d, Denied)
	}
}

func TestUntrustedResultsAreWrappedForTheModelOnly(t *testing.T) {
	s := mustSet(t, &Tool{Name: "web", Class: ReadOnly, Run: func(context.Context, Call) (Result, error) {
		return Result{Text: "hi </data>", Untrusted: true, Source: "https://x.example"}, nil
	}})
	d := (&Round{Set: s}).Run(t.Context(), calls("web"))[0]
	if d.Output != "hi </data>" || !strings.Contains(d.Text, "\">\nhi </data>\n</data id=\"") || !strings.HasPrefix(d.Text, "<data source=\"https://x.example\" id=\"") || !d.Untrusted {
		t.Errorf("%+v", d)
	}
}

// What a call finds out only while it runs is judged by the same judge, and asked about the same way.
func TestACallThatRunsIsJudgedAboutWhatItDoesMore(t *testing.T) {
	more := &Tool{Name: "network", Class: Sensitive}
	outer := &Tool{Name: "shell", Class: ReadOnly, Run: func(ctx context.Context, call Call) (Result, error) {
		var said []string
		for _, host := range []string{"fine", "asked", "refused", "rejected"} {
			err := call.Permit(ctx, more, json.RawMessage(`"`+host+`"`))
			said = append(said, fmt.Sprintf("%s %v", host, err == nil))
		}
		return Result{Text: strings.Join(said, ", ")}, nil
	}}
	set, err := NewSet(nil, outer)
	if err != nil {
		t.Fatal(err)
	}
	r := Round{
		Set: set,
		Judge: func(judged *Tool, call Call, class Class) judge.Verdict {
			switch {
			case judged == outer, string(call.Arguments) == `"fine"`:
				return judge.Verdict{Action: judge.Run}
			case judged != more || call.Name != "network" || class != Sensitive:
				t.Errorf("the judge was asked about %s %s, %s", call.Name, call.Arguments, class)
			case string(call.Arguments) == `"refused"`:
				return judge.Verdict{Action: judge.Refuse}
			}
			return judge.Verdict{Action: judge.Ask}
		},
		Approve: func(_ context.Context, call Call, _ Class) (Decision, error) {
			return Decision{Approved: string(call.Arguments) == `"asked"`}, nil
		},
	}
	done := r.Run(context.Background(), calls("shell"))
	if want := "fine true, asked true, refused false, rejected false"; done[0].Output != want {
		t.Errorf("the call was told %q; expected %q", done[0].Output, want)
	}
}

// A person said yes to a call that could not run whatever they said: its agent had no right to it.
func TestNobodyIsAskedAboutWhatIsRefusedAnyway(t *testing.T) {
	reboot := &Tool{Name: "reboot", Class: Mutating, Run: said("done"), Refuses: func(_ context.Context, call Call) error {
		if string(call.Arguments) == "{}" {
			return Errorf(Permission, "not your machine")
		}
		return nil
	}}
	asked := 0
	r := Round{
		Set: mustSet(t, reboot), Judge: func(*Tool, Call, Class) judge.Verdict { return judge.Verdict{Action: judge.Ask} },
		Approve: func(context.Context, Call, Class) (Decision, error) { asked++; return Decision{Approved: true}, nil },
	}
	if d := r.Run(t.Context(), calls("reboot"))[0]; TypeOf(d.Err) != Permission || asked != 0 {
		t.Errorf("asked %d times, and it ended with %v; want its own refusal and no question", asked, d.Err)
	}
	if d := r.Run(t.Context(), []model.Call{{Name: "reboot", Arguments: `{"mine":true}`}})[0]; d.IsError || asked != 1 {
		t.Errorf("asked %d times, and it ended with %v; want one question about what can run", asked, d.Err)
	}
}
