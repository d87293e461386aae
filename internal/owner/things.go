package owner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
)

// Deps is what ownership is made from. Bus and Leases are required.
type Deps struct {
	Bus    bus.Bus
	Leases *lease.Leases
	// Clustered says that other hubs share the store and the bus.
	Clustered bool
	Log       *slog.Logger
}

// Kind is what a domain says of its things. Q is what they can be asked and A what they
// answer: plain types that JSON can carry. Name and Do are required.
type Kind[T comparable, Q, A any] struct {
	// Name is the first word of the leases: that of a thing is NAME.ID.
	Name string
	// Do answers a question about a thing that lives here, on the thing's goroutine.
	// ErrGone sends it to the next owner.
	Do func(ctx context.Context, t T, q Q) (A, error)
	// Load brings a thing to life that nobody owns. nil: things are not brought to
	// life by being asked for.
	Load func(ctx context.Context, id string, l *lease.Lease) (T, error)
	// Unowned is asked about a thing that no hub owns. An error is the answer to who
	// looks for it (it does not exist, it has ended); nil says that it can be loaded, or
	// that a hub will take it up soon.
	Unowned func(ctx context.Context, id string) error
	// Holds is the lease a thing was loaded with; a nil lease is always good.
	Holds func(t T) *lease.Lease
	// DoHub answers what is asked of a hub and not of a thing.
	DoHub func(ctx context.Context, q Q) (A, error)
	// Follow opens what Things.Follow shows on another hub.
	Follow func(ctx context.Context, t T, q Q) (Stream[A], error)
	// Errors are those that must keep their identity.
	Errors []Named
	// Bound says that a thing never moves, as a process does not: it has no lease, and
	// lives as long as its hub. It is found by asking the hubs.
	Bound bool
	// Repeatable says that a question may be put again to the next owner although the
	// last one, now silent, may have done what it asks.
	Repeatable bool
}

// Things are the things of one kind: those that live here, and the way to the others.
type Things[T comparable, Q, A any] struct {
	kind Kind[T, Q, A]
	d    Deps
	post *post

	mu       sync.Mutex
	here     map[string]*entry[T]
	owners   map[string]string // which other hub answered last
	streams  map[string]*lent[A]
	refusing bool
}

// entry is a thing that lives here, or is about to.
type entry[T any] struct {
	t       T
	err     error
	ready   chan struct{} // closed when t or err is there
	leaving bool
	gone    chan struct{} // closed when it does not live here any more
}

// New makes the things of a kind. Listen lets other hubs ask, Close ends it.
func New[T comparable, Q, A any](d Deps, k Kind[T, Q, A]) *Things[T, Q, A] {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	ts := &Things[T, Q, A]{
		kind: k, d: d, post: newPost(d, k.Name, k.Errors), here: map[string]*entry[T]{}, owners: map[string]string{}, streams: map[string]*lent[A]{},
	}
	ts.post.answer = ts.answer
	return ts
}

// Listen lets other hubs ask, until Close.
func (ts *Things[T, Q, A]) Listen() error { return ts.post.listen() }

// Refuse takes no new thing. Those that are being loaded are there when it returns.
func (ts *Things[T, Q, A]) Refuse() {
	ts.mu.Lock()
	ts.refusing = true
	var loading []*entry[T]
	for _, e := range ts.here {
		loading = append(loading, e)
	}
	ts.mu.Unlock()
	for _, e := range loading {
		<-e.ready
	}
}

// Refusing tells that Refuse was called.
func (ts *Things[T, Q, A]) Refusing() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.refusing
}

// Close ends what goes on between hubs, and waits for it. The things are the domain's.
func (ts *Things[T, Q, A]) Close() {
	ts.Refuse()
	ts.post.close()
	ts.closeStreams()
}

// Get is a thing that lives here.
func (ts *Things[T, Q, A]) Get(id string) (t T, ok bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	e := ts.here[id]
	if e == nil || !e.loaded() {
		return t, false
	}
	return e.t, true
}

func (e *entry[T]) loaded() bool {
	select {
	case <-e.ready:
		return e.err == nil
	default:
		return false
	}
}

// All are the things that live here.
func (ts *Things[T, Q, A]) All() []T {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	list := make([]T, 0, len(ts.here))
	for _, e := range ts.here {
		if e.loaded() {
			list = append(list, e.t)
		}
	}
	return list
}

// Has tells whether a thing lives here, is about to, or is not gone yet.
func (ts *Things[T, Q, A]) Has(id string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.here[id] != nil
}

// Count is how many things live here, or are about to.
func (ts *Things[T, Q, A]) Count() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.here)
}

// Add makes a thing known that lives here and was not loaded, ErrHere if there is one of
// that name. allow, if any, may object when it hears how many there are already.
func (ts *Things[T, Q, A]) Add(id string, t T, allow func(here int) error) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.refusing {
		return ErrClosed
	}
	if ts.here[id] != nil {
		return ErrHere
	}
	if allow != nil {
		if err := allow(len(ts.here)); err != nil {
			return err
		}
	}
	ts.here[id] = living(t)
	return nil
}

func living[T any](t T) *entry[T] {
	e := &entry[T]{t: t, ready: make(chan struct{}), gone: make(chan struct{})}
	close(e.ready)
	return e
}

// Put is Add for a thing that takes the place of another of its name.
func (ts *Things[T, Q, A]) Put(id string, t T) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if former := ts.here[id]; former != nil {
		close(former.gone)
	}
	ts.here[id] = living(t)
}

// Leaving says that a thing is about to end here: who wants it waits until it has.
func (ts *Things[T, Q, A]) Leaving(id string, t T) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if e := ts.here[id]; e != nil && e.loaded() && e.t == t {
		e.leaving = true
	}
}

// Remove forgets a thing that does not live here any more. A thing that has taken its
// place stays.
func (ts *Things[T, Q, A]) Remove(id string, t T) {
	ts.mu.Lock()
	e := ts.here[id]
	ts.mu.Unlock()
	if e == nil {
		return
	}
	<-e.ready // a thing may end before its loading has
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.here[id] == e && e.t == t {
		delete(ts.here, id)
		close(e.gone)
	}
}

// LetGo releases a thing that has ended here and forgets it: anybody may take it.
func (ts *Things[T, Q, A]) LetGo(ctx context.Context, id string, t T) error {
	ts.Leaving(id, t)
	defer ts.Remove(id, t)
	if l := ts.kind.Holds(t); l != nil {
		return l.Release(ctx)
	}
	return nil
}

// loadTime bounds a loading. It goes on when whoever wanted the thing has gone: others
// may wait for it.
const loadTime = 30 * time.Second

// Take gives a thing of this hub, loading it if need be. The error is a
// *lease.HeldError when another hub has it.
func (ts *Things[T, Q, A]) Take(ctx context.Context, id string) (t T, err error) {
	for {
		e, mine, err := ts.enter(id)
		if err != nil {
			return t, err
		}
		if mine {
			ts.load(context.WithoutCancel(ctx), id, e)
		}
		if err := await(ctx, e.ready); err != nil {
			return t, err
		}
		if e.err != nil {
			return t, e.err
		}
		if !ts.leaves(e) {
			return e.t, nil
		}
		if err := await(ctx, e.gone); err != nil {
			return t, err
		}
	}
}

// enter finds the entry of a thing; mine: the caller has to load it.
func (ts *Things[T, Q, A]) enter(id string) (e *entry[T], mine bool, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.refusing {
		return nil, false, ErrClosed
	}
	if e := ts.here[id]; e != nil {
		return e, false, nil
	}
	e = &entry[T]{ready: make(chan struct{}), gone: make(chan struct{})}
	ts.here[id] = e
	return e, true, nil
}

func (ts *Things[T, Q, A]) leaves(e *entry[T]) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return e.leaving
}

func (ts *Things[T, Q, A]) load(ctx context.Context, id string, e *entry[T]) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	e.t, e.err = ts.acquire(ctx, id)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.owners, id)
	if e.err != nil {
		delete(ts.here, id)
		close(e.gone)
	}
	close(e.ready)
}

// acquire gets the lease and brings the thing to life. What does not exist is leased
// by nobody.
func (ts *Things[T, Q, A]) acquire(ctx context.Context, id string) (t T, err error) {
	if ts.kind.Unowned != nil {
		if err := ts.kind.Unowned(ctx, id); err != nil {
			return t, err
		}
	}
	l, err := ts.d.Leases.Acquire(ctx, ts.lease(id))
	if err != nil {
		return t, err
	}
	if t, err = ts.kind.Load(ctx, id, l); err != nil {
		return t, errors.Join(err, l.Release(ctx))
	}
	return t, nil
}

func (ts *Things[T, Q, A]) lease(id string) string { return ts.kind.Name + "." + id }

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
