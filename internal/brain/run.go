package brain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/judge"
)

// nearlyFull is the share of a known window, in percent, from which on the next
// round would probably not fit any more.
const nearlyFull = 95

// Run takes a request through as many rounds as it needs and says how it ended.
func Run(ctx context.Context, spec RunSpec, sink Sink) Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	r, _ := runs.Get().(*run)
	r.spec = spec
	r.spec.defaults()
	r.spec.Calls.Early, r.spec.Calls.OnRetry = r.early, r.retried
	if r.spec.Timeout > 0 {
		if r.spec.Clock == nil {
			r.spec.Clock = &Stopwatch{}
		}
		defer r.spec.Clock.start(r.spec.Timeout, func() { cancel(ErrRunTimeout) })()
	}
	r.ctx, r.sink, r.msgs = ctx, sink, slices.Clip(spec.Request.Messages)
	r.calling.ctx, r.calling.cancel, r.calling.provider, r.calling.policy = ctx, cancel, spec.Model.Provider, &r.spec.Calls
	r.out.Tainted = spec.Tainted
	stop, err := r.loop()
	r.end(stop, err)
	out := r.out
	r.recycle()
	return out
}

// runs are used again: what a run needs is nearly two kilobytes, and clearing them
// is cheaper than having them collected.
var runs = sync.Pool{New: func() any { return newRun() }}

func newRun() *run {
	r := &run{}
	r.calling.yield = r.hearing.hear
	// While a provider speaks, the run itself says nothing: it can be heard where it
	// speaks, and the sink still hears one thing at a time.
	r.early = func(ev *model.Event) { r.hearing.hear(ev) }
	r.retried = r.tellRetry
	return r
}

// keptMessages is how many messages the room of a run that is kept may hold.
const keptMessages = 1024

// recycle gives the run back if nobody else can still hold it: it came to a good end,
// and no provider had a goroutine of its own. (A tool that is left behind knows its
// call and nothing of the run.)
func (r *run) recycle() {
	if r.out.Stop != StopDone || r.calling.stream != nil {
		return
	}
	yield, take, early, retried, own := r.calling.yield, r.calling.direct.take, r.early, r.retried, r.own
	// Messages that joined last stand behind it.
	if clear(own[:min(cap(own), max(len(own), len(r.msgs)))]); cap(own) > keptMessages {
		own = nil
	}
	*r = run{early: early, retried: retried, own: own[:0]}
	r.calling.yield, r.calling.direct.take, r.calling.direct.calling = yield, take, &r.calling
	runs.Put(r)
}

// run is one Run in progress.
type run struct {
	ctx   context.Context
	spec  RunSpec
	sink  Sink
	msgs  []model.Message
	own   []model.Message // where msgs is once it grew, if it is the run's own
	out   Outcome
	spoke bool     // there was text in some round
	hosts []string // that were fetched from

	compacted bool

	calling calling
	hearing hearing
	early   func(*model.Event)
	retried func(int, time.Duration, error)
}

// tellRetry says why nothing happens: the provider is asked again after a wait.
func (r *run) tellRetry(attempt int, wait time.Duration, err error) {
	r.sink.Emit(Event{Kind: Notice, Code: "retry", Text: fmt.Sprintf("%v; attempt %d of %d follows in %s", err, attempt+1, r.spec.Calls.Attempts, wait.Round(100*time.Millisecond))})
}

func (r *run) loop() (Stop, error) {
	for {
		if stop, err := r.mayGoOn(); err != nil {
			return stop, err
		}
		r.out.Rounds++
		msg, err := r.think()
		if err != nil {
			if isTooLong(err) && r.makeRoom() {
				r.out.Rounds--
				continue
			}
			return r.why(err), err
		}
		if len(msg.Calls) == 0 {
			return r.finished(), nil
		}
		if stop, err := r.act(msg); err != nil {
			return stop, err
		}
		if len(r.out.Calls) > 0 {
			return StopCalls, nil
		}
		if r.out.Rounds >= r.spec.MaxRounds {
			return StopRounds, &roundsError{r.out.Rounds}
		}
		if r.nearlyFull() {
			r.makeRoom()
		}
	}
}

type roundsError struct{ n int }

func (e *roundsError) Error() string        { return fmt.Sprintf("stopped after %d rounds", e.n) }
func (e *roundsError) Is(target error) bool { return target == ErrRounds }

// mayGoOn checks what can forbid a model call, and lets waiting messages in.
func (r *run) mayGoOn() (Stop, error) {
	if err := context.Cause(r.ctx); err != nil {
		return r.why(err), err
	}
	if r.spec.Meter != nil {
		if err := r.mayPay(); err != nil {
			if errors.Is(err, ErrBudget) || errors.Is(err, ErrNoPrice) {
				return StopBudget, err
			}
			return StopInternal, err
		}
	}
	if r.spec.Pending != nil {
		r.msgs = append(r.msgs, r.spec.Pending()...)
	}
	return 0, nil
}

// mayPay asks the budgets: whether they can be held at all, and what is left of them.
func (r *run) mayPay() error {
	if err := r.spec.Meter.Payable(&r.spec.Model); err != nil {
		return err
	}
	return r.spec.Meter.Check(r.ctx)
}

// think makes one model call and returns what the assistant said.
func (r *run) think() (model.Message, error) {
	h := &r.hearing
	*h = hearing{sink: r.sink, mute: r.spec.DropCalls}
	if r.spec.NewFilter != nil {
		h.filter = r.spec.NewFilter()
	}
	// Not Call: an iterator would move every event to the heap.
	r.calling.req, r.calling.sent = r.spec.Request, false
	r.calling.req.Messages = r.spec.Show.Prepare(r.ctx, r.msgs)
	err := r.calling.run()
	h.close()
	msg := h.message(r.out.Rounds)
	r.out.Text, r.out.Reply, r.out.Finish = msg.Text, msg, h.answer.Finish
	r.spoke = r.spoke || msg.Text != ""
	if err != nil {
		r.out.Reply.Calls, r.out.Reply.Interrupted = nil, true // half a call is none
		return msg, errors.Join(err, r.accountCut(err))
	}
	u := r.count(h.answer.Usage)
	r.sink.Emit(Event{
		Kind: RoundUsage, Round: r.out.Rounds, Usage: u,
		ContextUsed: u.Total(), ContextWindow: r.spec.Model.Window,
	})
	return msg, r.pay(u)
}

// accountCut counts what a call used that did not come to its end.
func (r *run) accountCut(failed error) error {
	u, estimated := Spent(&r.calling.req, &r.hearing.answer, failed)
	if u == (model.Usage{}) {
		return nil
	}
	r.out.Estimated = estimated
	return r.pay(r.count(u))
}

// count adds what a call used to the run.
func (r *run) count(u model.Usage) model.Usage {
	u = r.spec.Model.Cost(u)
	r.out.Last, r.out.Usage = u, r.out.Usage.Add(u)
	return u
}

// pay adds what a call used to the budget.
func (r *run) pay(u model.Usage) error {
	if r.spec.Meter == nil {
		return nil
	}
	if err := r.spec.Meter.Add(r.ctx, u); err != nil {
		return &internalError{err}
	}
	return nil
}

// internalError marks failures of ours.
type internalError struct{ error }

func (e *internalError) Unwrap() error { return e.error }

// act runs the calls of a round: stored, run, stored.
func (r *run) act(msg model.Message) (Stop, error) {
	if r.spec.Store != nil {
		if err := r.spec.Store.Calls(r.ctx, msg, r.out.Last); err != nil {
			return r.why(&internalError{err}), err
		}
	}
	r.out.Reply = model.Message{}
	r.sink.Emit(Event{Kind: ToolCalls, Calls: msg.Calls})
	here, elsewhere := r.sortCalls(msg.Calls)
	results := r.round().Run(r.ctx, here)
	// A cancelled run still stores what its tools did: the calls are in the
	// history already and must not stay without an answer.
	if r.spec.Store != nil && len(results) > 0 {
		if err := r.spec.Store.Results(context.WithoutCancel(r.ctx), results); err != nil {
			return StopInternal, err
		}
	}
	r.sink.Emit(Event{Kind: ToolsComplete})
	r.remember(msg, results)
	r.out.Calls = elsewhere
	return 0, nil
}

// sortCalls tells the calls that the hub runs from those that whoever sent the turn runs.
func (r *run) sortCalls(calls []model.Call) (here, elsewhere []model.Call) {
	for _, c := range calls {
		if t, ok := r.spec.Tools.Get(c.Name); ok && t.Elsewhere {
			elsewhere = append(elsewhere, c)
		} else {
			here = append(here, c)
		}
	}
	return here, elsewhere
}

func (r *run) round() *tool.Round {
	seen := Seen{Tainted: r.out.Tainted, Hosts: r.hosts} // as the model knew it when it wrote the calls
	template := r.spec.Call
	template.Tainted, template.Taint, template.Required = seen.Tainted, r.out.Taint, r.spec.Policy.RequireApproval
	return &tool.Round{
		Set: r.spec.Tools, Template: template, Timeout: r.spec.ToolTimeout, Approve: r.spec.Approve,
		Judge: func(t *tool.Tool, call tool.Call, class tool.Class) judge.Verdict {
			return r.spec.Policy.Judge(t, call, class, seen)
		},
		OnDone: func(d *tool.Done) { r.sink.Emit(Event{Kind: ToolResult, Result: d}) },
	}
}

// remember adds a round to what the model is sent next.
func (r *run) remember(msg model.Message, results []tool.Done) {
	if len(r.own) == 0 {
		r.msgs = append(r.own, r.msgs...)
	}
	r.msgs = append(r.msgs, msg)
	for i := range results {
		d := &results[i]
		r.out.Tainted = r.out.Tainted || d.Untrusted
		if d.Untrusted && r.out.Taint == nil {
			r.out.Taint = &approval.Taint{Since: time.Now().UTC(), By: d.Source}
		}
		if d.Reached != "" && d.Err == nil {
			r.hosts = append(r.hosts, d.Reached)
		}
		r.msgs = append(r.msgs, model.Message{
			Role: model.Tool, Text: d.Text, CallID: d.Call.ID, Name: d.Call.Name, IsError: d.IsError,
		})
	}
	r.own = r.msgs
}

func (r *run) finished() Stop {
	if !r.spoke {
		return StopSilent
	}
	return StopDone
}

// why sorts an error that ended the run.
func (r *run) why(err error) Stop {
	var own *internalError
	switch {
	case cancelled(r.ctx):
		return stopFor(context.Cause(r.ctx))
	case errors.As(err, &own):
		return StopInternal
	default:
		return StopModelError
	}
}

func stopFor(cause error) Stop {
	switch {
	case errors.Is(cause, ErrKilled):
		return StopKilled
	case errors.Is(cause, ErrInterrupted):
		return StopInterrupted
	case errors.Is(cause, ErrRunTimeout), errors.Is(cause, context.DeadlineExceeded):
		return StopTimeout
	default:
		return StopCancelled
	}
}

// end settles the outcome. People read the error, so a cancel says just that.
func (r *run) end(stop Stop, err error) {
	switch stop {
	case StopCancelled:
		err = ErrCancelled
	case StopKilled:
		err = ErrKilled
	case StopInterrupted:
		err = ErrInterrupted
	case StopTimeout:
		err = fmt.Errorf("%w: stopped after %s", ErrRunTimeout, r.spec.Timeout.Round(time.Second))
	}
	r.out.Stop, r.out.Err = stop, err
	if r.out.Reply.Text == "" {
		r.out.Reply = model.Message{}
	}
}
