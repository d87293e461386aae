package fleet

import (
	"context"
	"sync"
	"time"

	"parley/internal/fleet/call"
	"parley/internal/fleet/fault"
)

// flight is a call under way on this hub, from the request to its outcome.
type flight struct {
	f      *Fleet
	p      *prepared
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	state call.State
}

// takeOff registers a call, unless the hub stops or the id is taken.
func (f *Fleet) takeOff(ctx context.Context, p *prepared) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, fault.Errorf(fault.Unavailable, "the hub is stopping")
	}
	if _, taken := f.flights[p.id]; taken {
		return nil, fault.Errorf(fault.Conflict, "there is a call of that id already")
	}
	fl := &flight{f: f, p: p, state: call.StateSent, done: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancel(ctx)
	f.flights[p.id] = fl
	f.work.Add(1)
	return fl, nil
}

// finish ends the flight and gives its outcome the form Call returns.
func (fl *flight) finish(res *call.Result, err error) (call.Result, error) {
	fl.mu.Lock()
	switch {
	case err != nil:
		fl.state = call.StateOf(fault.CodeOf(err))
	case res != nil:
		fl.state = res.State
	}
	fl.mu.Unlock()
	fl.f.land(fl)
	if err != nil || res == nil {
		return call.Result{}, err
	}
	return *res, nil
}

// land takes a finished call off the list.
func (f *Fleet) land(fl *flight) {
	f.mu.Lock()
	if f.flights[fl.p.id] == fl {
		delete(f.flights, fl.p.id)
	}
	f.mu.Unlock()
	fl.cancel()
	close(fl.done)
	f.work.Done()
}

func (fl *flight) set(s call.State) {
	fl.mu.Lock()
	fl.state = s
	fl.mu.Unlock()
	fl.f.tell(Change{Kind: "call", Machine: fl.p.machine, CallID: fl.p.id, State: s})
}

func (fl *flight) now() call.State {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.state
}

func (f *Fleet) flying(id string) *flight {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.flights[id]
}

// drainCalls lets calls in flight finish for a while, then ends them.
func (f *Fleet) drainCalls(ctx context.Context) {
	timer := time.NewTimer(f.d.Limits.Drain)
	defer timer.Stop()
	f.mu.RLock()
	var open []*flight
	for _, fl := range f.flights {
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
}
