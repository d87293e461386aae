package fleet

import (
	"context"
	"errors"
	"iter"
	"time"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/identity"
)

// Change is news for whoever watches the fleet.
type Change struct {
	// Kind is machine (its row changed), call, event, removed.
	Kind    string     `json:"kind"`
	Machine string     `json:"agent_id"`
	View    *Machine   `json:"agent,omitempty"`
	CallID  string     `json:"call_id,omitempty"`
	State   call.State `json:"state,omitempty"`
}

// ErrLagged ends the watch of somebody who reads too slowly; look again and watch
// anew.
var ErrLagged = errors.New("watching too slowly")

// errClosed ends watches when the hub stops.
var errClosed = errors.New("the hub is stopping")

// watcher is somebody who watches the fleet.
type watcher struct {
	who   identity.Actor
	news  chan Change
	ended chan error
}

// watchQueue is how far a watcher may fall behind.
const watchQueue = 1024

// Watch yields changes until ctx ends; one that is too slow is cut with
// [ErrLagged].
func (f *Fleet) Watch(ctx context.Context, who identity.Actor) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := may(who, identity.FleetRead); err != nil {
			yield(Change{}, err)
			return
		}
		w := &watcher{who: who, news: make(chan Change, watchQueue), ended: make(chan error, 1)}
		f.mu.Lock()
		f.watchers[w] = struct{}{}
		f.mu.Unlock()
		defer f.unwatch(w)
		for {
			select {
			case c := <-w.news:
				if !yield(c, nil) {
					return
				}
			case err := <-w.ended:
				yield(Change{}, err)
				return
			case <-ctx.Done():
				yield(Change{}, ctx.Err())
				return
			}
		}
	}
}

func (f *Fleet) unwatch(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

func (f *Fleet) endWatchers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		delete(f.watchers, w)
		w.ended <- errClosed
	}
}

// tell gives news to everybody who may hear it. It never waits.
func (f *Fleet) tell(c Change) {
	f.mu.RLock()
	none := len(f.watchers) == 0
	m := f.machines[c.Machine]
	f.mu.RUnlock()
	if none {
		return
	}
	if c.View == nil && m != nil && c.Kind == "machine" {
		v := f.view(m, time.Now())
		c.View = &v
	}
	tags := tagsOf(m)
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if !w.who.Scopes.AllowsMachine(c.Machine, tags) {
			continue
		}
		select {
		case w.news <- c:
		default:
			delete(f.watchers, w)
			w.ended <- ErrLagged
		}
	}
}

// changed tells that a machine's row is different now, here and on other hubs.
func (f *Fleet) changed(m *machine) {
	f.tell(Change{Kind: "machine", Machine: m.id})
	f.cluster.publish(news{Machine: m.id})
}
