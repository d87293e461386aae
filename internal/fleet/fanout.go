package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// FanRequest is one call on many machines.
type FanRequest struct {
	// Machines, Tag or All choose the targets; exactly one of them.
	Machines []string
	Tag      string
	All      bool
	Tool     string
	Args     jsontext.Value
	Timeout  time.Duration
	QueueFor time.Duration
	Approver call.Approver
	// ApprovalWait is as in [CallRequest].
	ApprovalWait time.Duration
	// Canary is how many machines go first; the rest only if all of them succeed. A
	// script that ends with another exit code than 0 has failed here.
	Canary int
	// Parallel is how many at a time; 0 is 8.
	Parallel int
	// StopOnError starts nothing more after the first failure.
	StopOnError bool
}

// FanItem is what became of one machine's share.
type FanItem = rest.FanItem

// FanResult has every target, in the order they were chosen, whatever happened.
type FanResult = rest.FanResult

const (
	usualParallel = 8
	mostParallel  = 64
	mostTargets   = 10_000
	// mostKept is how large a result may be that waits to be looked at.
	mostKept = kenny.MaxResponse
)

// choice finds the machines a caller means: by id, by tag, or all.
func (f *Fleet) choice(who identity.Actor, ids []string, tag string, all bool) ([]*machine, *fault.Error) {
	ways := 0
	for _, given := range []bool{len(ids) > 0, tag != "", all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, fault.Errorf(fault.BadArgs, "name machines, or a tag, or all; exactly one of them")
	}
	var targets []*machine
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		m, refusal := f.reachable(who, id)
		if refusal != nil {
			return nil, refusal
		}
		targets = append(targets, m)
	}
	if len(ids) == 0 {
		for _, m := range f.all() {
			if tags := m.tags(); who.Scopes.AllowsMachine(m.id, tags) && (all || slices.Contains(tags, tag)) {
				targets = append(targets, m)
			}
		}
		slices.SortFunc(targets, func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
	}
	switch {
	case len(targets) == 0:
		return nil, fault.Errorf(fault.NotFound, "no machine is meant by that")
	case len(targets) > mostTargets:
		return nil, fault.Errorf(fault.BadArgs, "at most %d machines at a time", mostTargets)
	}
	return targets, nil
}

// FanOut makes one call on many machines. A person is asked once, for all of them;
// what happens on each is in the result, whatever happened on the others. One that
// nobody has answered yet goes on by itself, as a call does: CallStatus has it.
func (f *Fleet) FanOut(ctx context.Context, who identity.Actor, req FanRequest) (FanResult, error) {
	targets, refusal := f.choice(who, req.Machines, req.Tag, req.All)
	if refusal != nil {
		return FanResult{}, refusal
	}
	fan := &fan{f: f, who: who, req: req, items: make([]FanItem, len(targets))}
	for i, m := range targets {
		fan.items[i] = FanItem{Machine: m.id, State: call.StateCancelled, Canary: i < req.Canary}
	}
	p, refusal := fan.prepare(targets)
	if refusal != nil {
		return FanResult{}, refusal
	}
	fl, err := f.beginCall(ctx, p)
	if err != nil {
		return FanResult{}, err
	}
	if _, err := f.run(fl, call.Request{Approver: req.Approver, ApprovalWait: req.ApprovalWait}); err != nil {
		return FanResult{}, named(err, p.id)
	}
	return fan.result(), nil
}

// fan is one call on many machines under way.
type fan struct {
	f   *Fleet
	who identity.Actor
	req FanRequest
	// targets are the machines whose system has the tool; shares the call as it was
	// frozen for each of them.
	targets []*machine
	shares  []*prepared
	given   call.Approver

	mu    sync.Mutex
	items []FanItem
	stop  bool
}

// prepare makes the one call that stands for all of them: it is asked about, can be
// cancelled and is looked at later like any other, and has no machine of its own.
func (fa *fan) prepare(targets []*machine) (*prepared, *fault.Error) {
	for _, m := range targets {
		share, refusal := fa.f.prepare(fa.who, fa.request(m.id))
		switch {
		case refusal == nil:
			fa.targets, fa.shares = append(fa.targets, m), append(fa.shares, share)
		case refusal.Code != fault.Unsupported: // one of them runs another system; its share says so
			return nil, refusal
		}
	}
	p := &prepared{id: uuid.NewString(), m: &machine{}, who: fa.who, fan: fa, created: time.Now()}
	if len(fa.shares) > 0 {
		first := fa.shares[0]
		p.tool, p.wire, p.digest = first.tool, first.wire, first.digest
	}
	return p, nil
}

// perform makes the calls, with the one yes that was given for all.
func (fa *fan) perform(ctx context.Context, p *prepared) (*call.Result, error) {
	if p.approval != nil {
		fa.given = oneYes{digest: p.digest, decision: call.Decision{Approved: true, By: p.approval.By, How: p.approval.How}}
	}
	fa.run(ctx)
	return &call.Result{CallID: p.id, Tool: p.tool.Name, State: call.StateDone, Result: fa.kept()}, nil
}

// kept is the result for whoever looks at it later.
func (fa *fan) kept() jsontext.Value {
	r := fa.result()
	kept := jsontext.Value(text(r))
	if len(kept) <= mostKept {
		return kept
	}
	r.Items, r.Shortened = slices.Clone(r.Items), true
	for i := range r.Items {
		r.Items[i].Result = nil
	}
	return jsontext.Value(text(r))
}

// oneYes is a yes that was given for many calls at once; it holds only for what
// was shown.
type oneYes struct {
	digest   string
	decision call.Decision
}

// Approve implements Approver.
func (y oneYes) Approve(_ context.Context, q call.Question) (call.Decision, error) {
	if q.Digest != y.digest {
		return call.Decision{}, errors.New("that is not what was approved")
	}
	return y.decision, nil
}

func (fa *fan) request(id string) call.Request {
	return call.Request{Machine: id, Tool: fa.req.Tool, Args: fa.req.Args, Timeout: fa.req.Timeout, QueueFor: fa.req.QueueFor, Approver: fa.given}
}

// run calls the canaries, then the rest.
func (fa *fan) run(ctx context.Context) {
	canary := min(max(fa.req.Canary, 0), len(fa.items))
	fa.wave(ctx, 0, canary)
	if canary > 0 && fa.failures() > 0 {
		fa.stop = true
	}
	fa.wave(ctx, canary, len(fa.items))
}

// wave calls some of the machines side by side.
func (fa *fan) wave(ctx context.Context, from, to int) {
	parallel := fa.req.Parallel
	if parallel <= 0 {
		parallel = usualParallel
	}
	slots := make(chan struct{}, min(parallel, mostParallel))
	var calls sync.WaitGroup
	for i := from; i < to; i++ {
		slots <- struct{}{}
		if fa.stopped() || ctx.Err() != nil {
			<-slots
			break
		}
		calls.Go(func() {
			defer func() { <-slots }()
			fa.one(ctx, i)
		})
	}
	calls.Wait()
}

func (fa *fan) stopped() bool {
	fa.mu.Lock()
	defer fa.mu.Unlock()
	return fa.stop
}

func (fa *fan) one(ctx context.Context, i int) {
	done, err := fa.f.Call(ctx, fa.who, fa.request(fa.items[i].Machine))
	fa.mu.Lock()
	defer fa.mu.Unlock()
	item := &fa.items[i]
	if err != nil {
		e, _ := errors.AsType[*fault.Error](err)
		if e == nil {
			e = fault.Errorf(fault.Internal, "%w", err)
		}
		item.State, item.CallID, item.Error = call.StateFailed, e.CallID, &call.Failure{Code: e.Code, Message: e.Message}
		fa.stop = fa.stop || fa.req.StopOnError
		return
	}
	item.State, item.CallID, item.Result = done.State, done.CallID, done.Result
	if code := fa.exitCode(done.Result); code != 0 && done.State == call.StateDone {
		item.State, item.Error = call.StateFailed, &call.Failure{Code: fault.ExecFailed, Message: fmt.Sprintf("the script ended with exit code %d", code)}
		fa.stop = fa.stop || fa.req.StopOnError
	}
}

// exitCode is what a script ended with; 0 for tools that have none. A single call
// leaves it to the caller what a number means; of many at once, one that is not 0
// must keep the others from following.
func (fa *fan) exitCode(result jsontext.Value) int {
	tool, _ := kenny.Lookup(fa.req.Tool)
	if code := exitCode(tool, result); code != nil {
		return *code
	}
	return 0
}

func (fa *fan) failures() (n int) {
	fa.mu.Lock()
	defer fa.mu.Unlock()
	for _, i := range fa.items {
		if i.State == call.StateFailed {
			n++
		}
	}
	return n
}

func (fa *fan) result() FanResult {
	r := FanResult{Items: fa.items, Failed: fa.failures(), Stopped: fa.stop}
	for _, i := range fa.items {
		if i.State == call.StateDone {
			r.Done++
		}
	}
	return r
}
