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
	Approver Approver
	// Canary is how many machines go first; the rest only if all of them succeed.
	Canary int
	// Parallel is how many at a time; 0 is 8.
	Parallel int
	// StopOnError starts nothing more after the first failure.
	StopOnError bool
}

// FanItem is what became of one machine's share.
type FanItem struct {
	Machine string         `json:"agent_id"`
	CallID  string         `json:"call_id,omitempty"`
	State   State          `json:"state" doc:"done, queued, failed, or cancelled when it was never sent"`
	Canary  bool           `json:"canary,omitempty"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *CallError     `json:"error,omitempty"`
}

// FanResult has every target, in the order they were chosen, whatever happened.
type FanResult struct {
	Items   []FanItem `json:"items"`
	Done    int       `json:"done"`
	Failed  int       `json:"failed"`
	Stopped bool      `json:"stopped"`
}

const (
	usualParallel = 8
	mostParallel  = 64
	mostTargets   = 10_000
)

// choice finds the machines a caller means: by id, by tag, or all.
func (f *Fleet) choice(who Caller, ids []string, tag string, all bool) ([]*machine, *Error) {
	ways := 0
	for _, given := range []bool{len(ids) > 0, tag != "", all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, errorf(BadArgs, "name machines, or a tag, or all; exactly one of them")
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
			if tags := m.tags(); who.reaches(m.id, tags) && (all || slices.Contains(tags, tag)) {
				targets = append(targets, m)
			}
		}
		slices.SortFunc(targets, func(a, b *machine) int { return cmp.Compare(a.id, b.id) })
	}
	switch {
	case len(targets) == 0:
		return nil, errorf(NotFound, "no machine is meant by that")
	case len(targets) > mostTargets:
		return nil, errorf(BadArgs, "at most %d machines at a time", mostTargets)
	}
	return targets, nil
}

// FanOut makes one call on many machines. A person is asked once, for all of them;
// what happens on each is in the result, whatever happened on the others.
func (f *Fleet) FanOut(ctx context.Context, who Caller, req FanRequest) (FanResult, error) {
	targets, refusal := f.choice(who, req.Machines, req.Tag, req.All)
	if refusal != nil {
		return FanResult{}, refusal
	}
	fan := &fan{f: f, who: who, req: req, items: make([]FanItem, len(targets))}
	for i, m := range targets {
		fan.items[i] = FanItem{Machine: m.id, State: StateCancelled, Canary: i < req.Canary}
	}
	if err := fan.approve(ctx, targets); err != nil {
		return FanResult{}, err
	}
	fan.run(ctx)
	return fan.result(), nil
}

// fan is one call on many machines under way.
type fan struct {
	f     *Fleet
	who   Caller
	req   FanRequest
	given Approver

	mu    sync.Mutex
	items []FanItem
	stop  bool
}

// approve asks once for all machines, where a person must be asked.
func (fa *fan) approve(ctx context.Context, targets []*machine) error {
	var ids []string
	var first *prepared
	for _, m := range targets {
		p, refusal := fa.f.prepare(fa.who, fa.request(m.id))
		if refusal != nil {
			if refusal.Code == Unsupported {
				continue // one of them runs another system; its share says so
			}
			return refusal
		}
		ids = append(ids, m.id)
		if first == nil {
			first = p
		}
	}
	if first == nil || !fa.f.mustAsk(first) {
		return nil
	}
	q := first.question()
	q.CallID, q.Machines = uuid.NewString(), ids
	q.Title = fmt.Sprintf("%s wants to use %s on %d machines", fa.who.actor(), first.tool.Name, len(ids))
	d, err := fa.ask(ctx, q)
	if err != nil {
		return err
	}
	fa.given = oneYes{digest: first.digest, decision: d}
	return nil
}

func (fa *fan) ask(ctx context.Context, q Question) (Decision, error) {
	if fa.req.Approver != nil {
		d, err := fa.req.Approver.Approve(ctx, q)
		if !errors.Is(err, ErrAskInbox) {
			return d, fa.f.decided(&prepared{}, "", d, err)
		}
	}
	return fa.f.askMany(ctx, fa.who, q)
}

// oneYes is a yes that was given for many calls at once; it holds only for what
// was shown.
type oneYes struct {
	digest   string
	decision Decision
}

// Approve implements Approver.
func (y oneYes) Approve(_ context.Context, q Question) (Decision, error) {
	if q.Digest != y.digest {
		return Decision{}, errors.New("that is not what was approved")
	}
	return y.decision, nil
}

func (fa *fan) request(id string) CallRequest {
	return CallRequest{Machine: id, Tool: fa.req.Tool, Args: fa.req.Args, Timeout: fa.req.Timeout, QueueFor: fa.req.QueueFor, Approver: fa.given}
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
		e, _ := errors.AsType[*Error](err)
		if e == nil {
			e = errorf(Internal, "%w", err)
		}
		item.State, item.CallID, item.Error = StateFailed, e.CallID, &CallError{Code: e.Code, Message: e.Message}
		fa.stop = fa.stop || fa.req.StopOnError
		return
	}
	item.State, item.CallID, item.Result = done.State, done.CallID, done.Result
}

func (fa *fan) failures() (n int) {
	fa.mu.Lock()
	defer fa.mu.Unlock()
	for _, i := range fa.items {
		if i.State == StateFailed {
			n++
		}
	}
	return n
}

func (fa *fan) result() FanResult {
	r := FanResult{Items: fa.items, Failed: fa.failures(), Stopped: fa.stop}
	for _, i := range fa.items {
		if i.State == StateDone {
			r.Done++
		}
	}
	return r
}
