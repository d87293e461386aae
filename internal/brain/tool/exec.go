package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/judge"
)

// The usual limits of a round.
const (
	// DefaultTimeout is how long one call may take.
	DefaultTimeout = 120 * time.Second
	// DefaultParallel is how many read-only calls run at once.
	DefaultParallel = 8
	// Grace is how long a cancelled tool may take to come back by itself before
	// it is left behind: a run must end within a second whatever its tools do.
	Grace = 500 * time.Millisecond
)

// Decision is a person's answer.
type Decision struct {
	Approved bool
	Reason   string
}

// Round runs the calls of one model answer.
type Round struct {
	Set *Set
	// Template carries what every call of this run shares: agent, principal, run,
	// workspace and directory.
	Template Call
	// Judge says what to do with a call; nil allows everything.
	Judge func(t *Tool, call Call, class Class) judge.Verdict
	// Approve waits for a person; needed when Judge may say Ask. An [*Error]
	// becomes the result as it is. The time limit of a call starts afterwards.
	Approve func(ctx context.Context, call Call, class Class) (Decision, error)
	// OnDone hears of each result when it is there, in completion order, on the
	// goroutine that called Run.
	OnDone func(*Done)
	// Timeout and Parallel replace the defaults.
	Timeout  time.Duration
	Parallel int
}

// Done is the result of one call.
type Done struct {
	Index int
	Call  model.Call
	Class Class // 0 when the tool is unknown
	// Output is what the tool said, cut to size; Text is the same as the model is
	// given it, wrapped when the words are strangers'.
	Output    string
	Text      string
	IsError   bool
	Untrusted bool
	Source    string // whose words they are, if untrusted
	// Reached is the host outside that the call spoke to, if it is known.
	Reached  string
	LeftOut  int
	Duration time.Duration
	// Err is why it failed, for logs and for those who report types of errors; nil
	// also when the tool itself reported an error as its result.
	Err error
}

// Outcome is how the trail says it ended: "ok", or the type of what went wrong.
func (d *Done) Outcome() string {
	if d.IsError {
		return string(TypeOf(d.Err))
	}
	return "ok"
}

// Run runs all calls and returns their results in call order. Read-only calls run
// in parallel; the others one after another, in call order, beside them. It never
// fails: whatever goes wrong with a call is that call's result. When ctx ends it
// returns within [Grace], with a cancelled result for each open call.
func (r *Round) Run(ctx context.Context, calls []model.Call) []Done {
	out := make([]Done, len(calls))
	if len(calls) == 0 {
		return out
	}
	if len(calls) == 1 {
		r.one(ctx, calls, 0, out)
		r.tell(&out[0])
		return out
	}
	free, ordered := r.sort(calls)
	done := make(chan int, len(calls))
	workers := min(len(free.items), r.parallel()) // counted before they take from it
	for range workers {
		go r.work(ctx, calls, out, free, done)
	}
	if len(ordered.items) > 0 {
		go r.work(ctx, calls, out, ordered, done)
	}
	for range calls {
		r.tell(&out[<-done])
	}
	return out
}

func (r *Round) tell(d *Done) {
	if r.OnDone != nil {
		r.OnDone(d)
	}
}

func (r *Round) work(ctx context.Context, calls []model.Call, out []Done, queue *queue, done chan<- int) {
	for i, ok := queue.next(); ok; i, ok = queue.next() {
		r.one(ctx, calls, i, out)
		done <- i
	}
}

// sort tells the calls that may run side by side from those that keep their order.
// An unknown tool or bad arguments do nothing, so they count as harmless.
func (r *Round) sort(calls []model.Call) (free, ordered *queue) {
	free, ordered = &queue{}, &queue{}
	for i, c := range calls {
		t, ok := r.Set.Get(c.Name)
		if !ok || classBefore(t, c.Arguments) == ReadOnly {
			free.items = append(free.items, i)
		} else {
			ordered.items = append(ordered.items, i)
		}
	}
	return free, ordered
}

// classBefore is the class of a call whose arguments were not checked yet. One that
// breaks down over them keeps its order and fails when its turn comes.
func classBefore(t *Tool, args string) (class Class) {
	defer func() {
		if recover() != nil {
			class = Sensitive
		}
	}()
	return t.ClassFor([]byte(args))
}

// queue hands indices out, in order, to any number of takers.
type queue struct {
	mu    sync.Mutex
	items []int
}

func (q *queue) next() (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return 0, false
	}
	i := q.items[0]
	q.items = q.items[1:]
	return i, true
}

func (r *Round) parallel() int {
	if r.Parallel > 0 {
		return r.Parallel
	}
	return DefaultParallel
}

func (r *Round) one(ctx context.Context, calls []model.Call, i int, out []Done) {
	start := time.Now()
	d := &out[i]
	d.Index, d.Call = i, calls[i]
	res, err := r.attempt(ctx, d)
	d.Duration = time.Since(start)
	if err != nil {
		d.Err = masked(r.Set.masks(), err)
		res = Failed(d.Err)
	}
	d.render(res)
}

func (d *Done) render(res Result) {
	d.IsError, d.Untrusted = res.IsError, res.Untrusted
	d.Output, d.LeftOut = Clip(res.Text, MaxOutput)
	d.Text = d.Output
	if res.Untrusted {
		d.Source = cmp.Or(res.Source, d.Call.Name)
		d.Text = Wrap(d.Source, d.Output)
	}
}

// attempt checks, asks and runs.
func (r *Round) attempt(ctx context.Context, d *Done) (res Result, err error) {
	defer recovered(d.Call.Name, &err)
	if ctx.Err() != nil {
		return Result{}, cancelledError()
	}
	t, args, err := r.Set.Check(d.Call)
	if t != nil {
		d.Class = t.Class
	}
	if err != nil {
		return Result{}, err
	}
	d.Class = t.ClassFor(args)
	call := r.Template
	call.ID, call.Name, call.Arguments = d.Call.ID, d.Call.Name, args
	if err := r.permit(ctx, t, call, d.Class); err != nil {
		return Result{}, err
	}
	if t.Reach != nil {
		d.Reached = t.Reach(args)
	}
	call.Permit = func(ctx context.Context, more *Tool, args json.RawMessage) error {
		inner := call
		inner.Name, inner.Arguments, inner.Permit = more.Name, args, nil
		return r.permit(ctx, more, inner, more.Class)
	}
	return r.Set.Invoke(ctx, t, call, r.Timeout)
}

func (r *Round) permit(ctx context.Context, t *Tool, call Call, class Class) error {
	if r.Judge == nil {
		return nil
	}
	v := r.Judge(t, call, class)
	switch v.Action {
	case judge.Run:
		return nil
	case judge.Ask:
		if err := t.Refusal(ctx, call); err != nil {
			return err
		}
		call.Why, call.Need = v.Reason, v.Need
		if right := t.ConsentFor(call).Policy.Right; right != nil {
			call.Need.Right = right // whoever answers could do it
		}
		err := r.ask(ctx, call, class)
		t.NoteDeclined(call, err)
		return err
	default:
		return &Error{Type: Denied, Message: fmt.Sprintf("%s may not be used here: %s", call.Name, v.Reason), Err: ErrRefused}
	}
}

func (r *Round) ask(ctx context.Context, call Call, class Class) error {
	if r.Approve == nil {
		return &Error{Type: Denied, Message: call.Name + " needs a person's approval and nobody can be asked here", Err: ErrRefused}
	}
	answer, err := guard(ctx, "the approval", func() (Decision, error) { return r.Approve(ctx, call, class) })
	if err != nil {
		if ctx.Err() != nil {
			return cancelledError()
		}
		return asError(err, "the approval of "+call.Name+" failed: ")
	}
	if answer.Approved {
		return nil
	}
	msg := "the person rejected this call of " + call.Name
	if answer.Reason != "" {
		msg += ": " + answer.Reason
	}
	return &Error{Type: Rejected, Message: msg, Err: ErrRefused}
}

// Invoke runs one checked call with its time limit (0 = the default). A panic, a
// time-out and a cancelled ctx become [*Error]s, and a tool that does not listen
// to ctx is left behind. Nobody gets to see what a tool said before it is masked.
func (s *Set) Invoke(ctx context.Context, t *Tool, call Call, timeout time.Duration) (Result, error) {
	res, err := invoke(ctx, t, call, timeout)
	res.Text, res.Source = s.masks().Text(res.Text), s.masks().Text(res.Source)
	return res, masked(s.masks(), err)
}

func invoke(ctx context.Context, t *Tool, call Call, timeout time.Duration) (Result, error) {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if t.Timeout != 0 {
		timeout = t.Timeout
	}
	runCtx := ctx
	if timeout > 0 && !t.Asks {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeoutCause(ctx, timeout, ErrTimeout)
		defer cancel()
	}
	res, err := guard(runCtx, call.Name, func() (Result, error) { return t.Run(runCtx, call) })
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		return Result{}, cancelledError()
	case errors.Is(context.Cause(runCtx), ErrTimeout):
		msg := fmt.Sprintf("%s did not finish within %s; try a smaller step", call.Name, timeout)
		return Result{}, &Error{Type: TimedOut, Message: msg, Err: ErrTimeout}
	default:
		return Result{}, asError(err, "")
	}
}

// guard runs fn on its own goroutine, so that neither a panic nor a hang inside it
// is ours. After ctx ends, fn has [Grace] to come back.
func guard[T any](ctx context.Context, name string, fn func() (T, error)) (T, error) {
	type outcome struct {
		val T
		err error
	}
	back := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() { back <- o }()
		defer recovered(name, &o.err)
		o.val, o.err = fn()
	}()
	select {
	case o := <-back:
		return o.val, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	select {
	case o := <-back:
		return o.val, o.err
	case <-timer.C:
		var zero T
		return zero, context.Cause(ctx)
	}
}

func recovered(name string, err *error) {
	if v := recover(); v != nil {
		*err = &Error{
			Type: Unknown, Message: fmt.Sprintf("%s broke down (%v); this is a fault of the tool, not of the call", name, v),
			Err: &PanicError{Value: v, Stack: debug.Stack()},
		}
	}
}

// PanicError is what a tool panicked with, for the log.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the value.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Is makes it an ErrPanic.
func (p *PanicError) Is(target error) bool { return target == ErrPanic }

func cancelledError() error {
	return &Error{Type: Cancelled, Message: "cancelled before it finished", Err: ErrCancelled}
}

// asError keeps the type of an error that has one.
func asError(err error, prefix string) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Type: Unknown, Message: prefix + err.Error(), Err: err}
}
