package approval

import (
	"context"
	"iter"
	"slices"
	"sync"

	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

// EventKind says what a watcher is told.
type EventKind string

// The kinds of events.
const (
	// Added is a question that waits now.
	Added EventKind = "added"
	// Resolved is one that does not wait any more.
	Resolved EventKind = "resolved"
	// Ready comes once, after everything that waited at the start.
	Ready EventKind = "ready"
)

// Event is one change of an inbox.
type Event struct {
	Kind EventKind
	Item Item
}

// Watch yields what waits for a person (oldest first), then Ready, then every
// change as it happens, until ctx ends or the inbox closes. No change falls
// between, whichever hub it was made on. An empty principal watches everybody's.
func (in *Inbox) Watch(ctx context.Context, principal string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &feed{principal: principal, wake: wake.New(), known: map[string]struct{}{}}
		// The feed listens before the snapshot is read; what it hears twice it
		// can tell by the clock.
		in.mu.Lock()
		in.feeds[f] = struct{}{}
		in.mu.Unlock()
		defer func() {
			in.mu.Lock()
			delete(in.feeds, f)
			in.mu.Unlock()
		}()
		emit := func(kind EventKind, item Item) bool { return yield(Event{kind, item}, nil) }
		if err := in.snapshot(ctx, f, emit); err != nil {
			if !f.stopped {
				yield(Event{}, err)
			}
			return
		}
		if f.stopped || !emit(Ready, Item{}) {
			return
		}
		if err := in.live(ctx, f, emit); err != nil && !f.stopped {
			yield(Event{}, err)
		}
	}
}

// maxQueued is how far a watcher may fall behind before it starts over from a
// snapshot.
const maxQueued = 256

// feed is one watcher.
type feed struct {
	principal string
	wake      wake.Bell

	mu      sync.Mutex
	queue   []Item
	behind  bool
	known   map[string]struct{} // the questions shown and not resolved; the watcher's own
	since   int64               // the clock of the snapshot; the watcher's own
	stopped bool                // the reader does not want more; the watcher's own
}

func (f *feed) push(item Item) {
	if f.principal != "" && item.Principal != f.principal && !slices.Contains(item.Policy.People, f.principal) {
		return
	}
	f.mu.Lock()
	if len(f.queue) >= maxQueued {
		f.queue, f.behind = nil, true
	}
	if !f.behind {
		f.queue = append(f.queue, item)
	}
	f.mu.Unlock()
	f.wake.Ring()
}

func (f *feed) drain() (queue []Item, behind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue, behind = f.queue, f.behind
	f.queue, f.behind = nil, false
	return queue, behind
}

// snapshot shows what waits now, and ends what the watcher still believes to wait.
func (in *Inbox) snapshot(ctx context.Context, f *feed, emit func(EventKind, Item) bool) error {
	var waiting []Item
	gone := map[string]Item{}
	err := in.db.Read(ctx, func(tx *store.Tx) (err error) {
		if err := tx.QueryRow(`SELECT seq FROM approval_clock WHERE one = 1`).Scan(&f.since); err != nil {
			return err
		}
		where, args := Filter{Principal: f.principal, States: []State{StatePending}}.where()
		if waiting, err = items(tx, where+` ORDER BY created_at, id`, args...); err != nil {
			return err
		}
		for id := range f.known {
			item, err := load(tx, id, "")
			if err != nil {
				return err
			}
			if item.Outcome.State != StatePending {
				gone[id] = item
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, item := range gone {
		f.offer(item, emit)
	}
	for _, item := range waiting {
		f.offer(item, emit)
	}
	return nil
}

// offer shows a change unless the watcher knows it already.
func (f *feed) offer(item Item, emit func(EventKind, Item) bool) {
	_, known := f.known[item.ID]
	pending := item.Outcome.State == StatePending
	switch {
	case f.stopped || known == pending:
		return
	case pending:
		f.known[item.ID] = struct{}{}
		f.stopped = !emit(Added, item)
	default:
		delete(f.known, item.ID)
		f.stopped = !emit(Resolved, item)
	}
}

// live shows changes until the reader, ctx or the inbox ends.
func (in *Inbox) live(ctx context.Context, f *feed, emit func(EventKind, Item) bool) error {
	for !f.stopped {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-in.gone:
			return ErrClosed
		}
		queue, behind := f.drain()
		if behind {
			if err := in.snapshot(ctx, f, emit); err != nil {
				return err
			}
			continue
		}
		for _, item := range queue {
			if item.changed > f.since {
				f.offer(item, emit)
			}
		}
	}
	return nil
}
