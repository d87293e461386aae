package eventlog

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"parley/internal/store"
)

// maxGroup bounds the events of one transaction, so that its first caller does
// not wait for thousands of strangers.
const maxGroup = 2048

// group collects what callers want to append while the transaction before is on
// its way to the disk, and writes it all in the next one: however many streams
// wait, numbering and inserting them takes a few statements.
type group struct {
	log     *Log
	mu      sync.Mutex
	waiting []*entry
	flowing bool // somebody writes; the others wait for it
}

// entry is one call of Append, or of anything else that must not run beside one.
type entry struct {
	ctx    context.Context
	guard  Guard
	stream string
	events []Event
	first  int64
	// alone, if set, is run in a transaction of its own instead of appending, and
	// then after it.
	alone func(tx *store.Tx) error
	then  func()
	err   error
	done  chan struct{}
}

// add gives an entry to the group and waits until it is on disk or refused. A
// caller whose context ends leaves only if its entry was not taken yet.
func (g *group) add(e *entry) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if !g.flowing {
		// Nobody writes: the caller does it itself, and saves a change of goroutine.
		g.flowing = true
		g.mu.Unlock()
		g.write([]*entry{e})
		g.handOver()
		return e.err
	}
	e.done = make(chan struct{})
	g.waiting = append(g.waiting, e)
	g.mu.Unlock()
	select {
	case <-e.done:
	case <-e.ctx.Done():
		if g.withdraw(e) {
			return e.ctx.Err()
		}
		<-e.done
	}
	return e.err
}

func (g *group) withdraw(gone *entry) bool {
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
func (g *group) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flowing = len(g.waiting) > 0; g.flowing {
		go g.flow()
	}
}

// flow writes until nothing waits; an idle log has no goroutine.
func (g *group) flow() {
	for batch := g.take(); len(batch) > 0; batch = g.take() {
		g.write(batch)
		// Those who were just answered often have more to say: let them, and the
		// next flush of the disk is for all of them.
		runtime.Gosched()
	}
}

func (g *group) take() []*entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, events := 0, 0
	for _, e := range g.waiting {
		if n > 0 && (e.alone != nil || events+len(e.events) > maxGroup) {
			break
		}
		n, events = n+1, events+len(e.events)
		if e.alone != nil {
			break
		}
	}
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.flowing = n > 0
	return batch
}

// write appends a batch together and, only if that fails, each entry by itself,
// so that one bad entry harms nobody else.
func (g *group) write(batch []*entry) {
	err := g.log.commit(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrClosed) {
		for _, e := range batch {
			g.write([]*entry{e})
		}
		return
	}
	for _, e := range batch {
		if e.err == nil {
			e.err = err
		}
		if e.done != nil {
			close(e.done)
		}
	}
}
