// Package turns lets callers share transactions: what is asked for while one turn is
// on its way to the disk is done in the next one, however many ask. The event log and
// the relay write through it.
//
//	g := turns.New(1000, weigh, commit)
//	err := g.Do(ctx, request)      // waits until it is done, or refused
//	g.Soon(ctx, request, told)     // does not, and leaves time for company
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

// Call is one request of a turn.
type Call[T any] struct {
	Ctx  context.Context //nolint:containedctx // it is that of the one who waits
	What T
	// Err is the request's own refusal, if the turn went well.
	Err error
	// How the caller is told: a channel it waits at, or a function.
	done chan struct{}
	tell func(error)
}

// Group takes requests.
type Group[T any] struct {
	most  int
	weigh func(T) int
	run   Run[T]

	mu      sync.Mutex
	waiting []*Call[T]
	flowing bool // somebody has a turn; the others wait for it
	// hurried counts those who wait for their answer; the others have time until
	// departs, and hurry wakes the goroutine that gave it to them.
	hurried int
	departs time.Time
	hurry   wake.Bell
}

// Run does a turn. Its error concerns all calls. Whoever else wants to hear of the turn is
// told by news, which may be nil, before the callers are.
type Run[T any] func(batch []*Call[T]) (news func(), err error)

// New makes a group. A turn is bounded by what its calls weigh together, so that the
// first of its callers does not wait for hundreds of strangers; one that weighs more
// than most has a turn of its own.
func New[T any](most int, weigh func(T) int, run Run[T]) *Group[T] {
	return &Group[T]{most: most, weigh: weigh, run: run, hurry: wake.New()}
}

// Do gives a request to the group and waits until it is done or refused. A caller
// whose context ends leaves only if its request did not begin yet.
func (g *Group[T]) Do(ctx context.Context, what T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &Call[T]{Ctx: ctx, What: what}
	g.mu.Lock()
	if !g.flowing {
		// Nobody has a turn: the caller does it itself, and saves a change of goroutine.
		g.flowing = true
		g.mu.Unlock()
		defer g.handOver()
		tell, _ := g.turn([]*Call[T]{c})
		tell()
		return c.Err
	}
	c.done = make(chan struct{})
	g.waiting = append(g.waiting, c)
	g.hurried++
	g.mu.Unlock()
	g.hurry.Ring()
	select {
	case <-c.done:
	case <-ctx.Done():
		if g.withdraw(c) {
			return ctx.Err()
		}
		<-c.done
	}
	return c.Err
}

func (g *Group[T]) withdraw(gone *Call[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, gone)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.hurried--
	return true
}

// Soon gives a request to the group whose caller does not wait. told runs on the
// group's goroutine and must not wait for anything.
func (g *Group[T]) Soon(ctx context.Context, what T, told func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, &Call[T]{Ctx: ctx, What: what, tell: told})
	if !g.flowing {
		g.flowing = true
		go g.flow()
	}
}

// turn does a batch together and, only if that fails, each call by itself, so that one
// bad request harms nobody else. Whoever is to hear of it has to be told yet; long says
// that this takes a while.
func (g *Group[T]) turn(batch []*Call[T]) (tell func(), long bool) {
	began := time.Now()
	defer g.pause(began)
	news, err := g.run(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		tells := make([]func(), len(batch))
		for i, c := range batch {
			tells[i], _ = g.turn([]*Call[T]{c})
		}
		return func() {
			for _, tell := range tells {
				tell()
			}
		}, false
	}
	return func() {
		if news != nil {
			news()
		}
		answer(batch, err)
	}, news != nil && len(batch) >= tellAside
}

func answer[T any](batch []*Call[T], err error) {
	for _, c := range batch {
		if c.Err == nil {
			c.Err = err
		}
		switch {
		case c.done != nil:
			close(c.done)
		case c.tell != nil:
			c.tell(c.Err)
		}
	}
}
