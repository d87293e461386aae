// Package turns lets callers share transactions: what is asked for while one turn is
// on its way to the disk is done in the next one, however many ask.
//
//	g := turns.Group[*request]{Run: commit}
//	err := g.Do(ctx, req)
package turns

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"parley/internal/store"
)

// A turn is bounded, so that the first of its callers does not wait for hundreds of
// strangers, nor for a hundred large requests.
const (
	mostCalls = 512
	mostBytes = 8 << 20
)

// Call is one request of a turn.
type Call[T any] struct {
	Ctx  context.Context //nolint:containedctx // it is that of the one who waits
	What T
	// Err is the request's own refusal, if the turn went well.
	Err  error
	done chan struct{}
}

// Group takes requests. Run does a turn; an error of Run concerns all of its calls.
type Group[T any] struct {
	Run func(batch []*Call[T]) error
	// Size tells how large a request is, in bytes; nil says that none is large.
	Size func(T) int

	mu      sync.Mutex
	waiting []*Call[T]
	flowing bool // somebody has a turn; the others wait for it
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
		g.run([]*Call[T]{c})
		return c.Err
	}
	c.done = make(chan struct{})
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
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
	return true
}

// handOver ends the caller's turn: a goroutine goes on if something waits.
func (g *Group[T]) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flowing = len(g.waiting) > 0; g.flowing {
		go g.flow()
	}
}

// flow has turns until nothing waits; an idle group has no goroutine for it.
func (g *Group[T]) flow() {
	for batch := g.next(); len(batch) > 0; batch = g.next() {
		g.run(batch)
		// Those who were just answered often have more to say: let them, and the
		// next flush of the disk is for all of them.
		runtime.Gosched()
	}
}

func (g *Group[T]) next() []*Call[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, size := 0, 0
	for n < len(g.waiting) && n < mostCalls {
		if size += g.size(g.waiting[n]); n > 0 && size > mostBytes {
			break
		}
		n++
	}
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.flowing = n > 0
	return batch
}

func (g *Group[T]) size(c *Call[T]) int {
	if g.Size == nil {
		return 0
	}
	return g.Size(c.What)
}

// run has a turn and, only if that fails, one for each request by itself, so that one
// bad request harms nobody else.
func (g *Group[T]) run(batch []*Call[T]) {
	err := g.Run(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		for _, c := range batch {
			g.run([]*Call[T]{c})
		}
		return
	}
	for _, c := range batch {
		if c.Err == nil {
			c.Err = err
		}
		if c.done != nil {
			close(c.done)
		}
	}
}
