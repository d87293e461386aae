package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
)

// underway is a call under way on this hub, from the request to its outcome.
type underway struct {
	f      *Fleet
	p      *prepared
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	state call.State
}

// beginCall registers a call, unless the hub stops or the id is taken.
func (f *Fleet) beginCall(ctx context.Context, p *prepared) (*underway, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, fault.Errorf(fault.Unavailable, "the hub is stopping")
	}
	if _, taken := f.running[p.id]; taken {
		return nil, fault.Errorf(fault.Conflict, "there is a call of that id already")
	}
	fl := &underway{f: f, p: p, state: call.StateSent, done: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancel(ctx)
	f.running[p.id] = fl
	f.work.Add(1)
	return fl, nil
}

// finish ends the call and gives its outcome the form Call returns.
func (fl *underway) finish(res *call.Result, err error) (call.Result, error) {
	fl.mu.Lock()
	switch {
	case err != nil:
		fl.state = call.StateOf(fault.CodeOf(err))
	case res != nil:
		fl.state = res.State
	}
	fl.mu.Unlock()
	fl.f.endCall(fl)
	if err != nil || res == nil {
		return call.Result{}, err
	}
	return *res, nil
}

// endCall takes a finished call off the list.
func (f *Fleet) endCall(fl *underway) {
	f.mu.Lock()
	if f.running[fl.p.id] == fl {
		delete(f.running, fl.p.id)
	}
	f.mu.Unlock()
	fl.cancel()
	close(fl.done)
	f.work.Done()
}

func (fl *underway) set(s call.State) {
	fl.mu.Lock()
	fl.state = s
	fl.mu.Unlock()
	fl.f.tell(Change{Kind: "call", Machine: fl.p.machine, CallID: fl.p.id, State: s})
}

func (fl *underway) now() call.State {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.state
}

func (f *Fleet) underWay(id string) *underway {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.running[id]
}

// drainCalls lets calls in flight finish for a while, then ends them.
func (f *Fleet) drainCalls(ctx context.Context) {
	timer := time.NewTimer(f.d.Limits.Drain)
	defer timer.Stop()
	f.mu.RLock()
	var open []*underway
	for _, fl := range f.running {
		if fl.now() == call.StateSent {
			open = append(open, fl)
		}
	}
	f.mu.RUnlock()
	for _, fl := range open {
		select {
		case <-fl.done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
	f.drainSessions(ctx, timer.C)
}

// drainSessions waits for the answers of machines to calls of other hubs, which are not
// among this hub's own.
func (f *Fleet) drainSessions(ctx context.Context, late <-chan time.Time) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for slices.ContainsFunc(f.sessions.All(), (*Session).waits) {
		select {
		case <-look.C:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}
