package eventlog

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

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
	// hurried counts those who wait for their answer; the others have time until
	// departs, and hurry wakes the writer that gave it to them.
	hurried int
	departs time.Time
	hurry   chan struct{}
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
	// How the caller is told: a channel it waits at, or a function.
	done chan struct{}
	tell func(first int64, err error)
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
		began := time.Now()
		tell := g.write([]*entry{e})
		g.pause(began)
		tell()
		g.handOver()
		return e.err
	}
	e.done = make(chan struct{})
	g.waiting = append(g.waiting, e)
	g.hurried++
	g.mu.Unlock()
	select {
	case g.hurry <- struct{}{}:
	default:
	}
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
	g.hurried--
	return true
}

// addSoon gives an entry to the group whose caller does not wait.
func (g *group) addSoon(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if !g.flowing {
		g.flowing = true
		go g.flow()
	}
}

// handOver ends the caller's turn: a goroutine goes on if something waits.
func (g *group) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flowing = len(g.waiting) > 0; g.flowing {
		go g.flow()
	}
}

// tellAside is how many entries take long enough to tell that the next transaction
// should not wait for it.
const tellAside = 32

// flow writes until nothing waits; an idle log has no goroutine. While readers are
// told of many events, the next transaction is on its way already.
func (g *group) flow() {
	told := make(chan struct{})
	close(told)
	for {
		g.rest()
		batch, over := g.nextBatch(told)
		if over {
			return
		}
		if len(batch) == 0 {
			select {
			case <-told: // whoever was told may have more to say
			case <-g.hurry:
			}
			continue
		}
		began := time.Now()
		tell := g.write(batch)
		g.pause(began)
		<-told // one after the other: readers hear things in their order
		if len(batch) < tellAside {
			tell()
			// Those who were just answered often have more to say: let them, and the
			// next flush of the disk is for all of them.
			runtime.Gosched()
			continue
		}
		told = make(chan struct{})
		go func() {
			defer close(told)
			tell()
		}()
	}
}

// How long events wait for others that come soon after them, if nobody waits for
// an answer: in proportion to what a transaction takes, so that one stream is hardly
// held up, but not for long. With few streams this saves most of the flushes; a
// thousand fill the time of the transaction before anyway, and waiting longer would
// only make the next one longer too.
const (
	restShare = 2
	maxRest   = 3 * time.Millisecond
)

// pause sets when the next transaction may begin that nobody is waiting for.
func (g *group) pause(began time.Time) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.departs = now.Add(min(restShare*now.Sub(began), maxRest))
}

// rest waits for the departure, or for somebody in a hurry.
func (g *group) rest() {
	for {
		g.mu.Lock()
		wait := time.Until(g.departs)
		hurried := g.hurried > 0 || len(g.waiting) == 0
		g.mu.Unlock()
		if hurried || wait <= 0 {
			return
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-g.hurry: // perhaps of one that was served already: look again
			t.Stop()
		}
	}
}

// nextBatch gives what is written next; over tells that nothing waits and nobody is being
// told, so that the next caller may write by itself.
func (g *group) nextBatch(told <-chan struct{}) (batch []*entry, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		select {
		case <-told:
			g.flowing = false
			return nil, true
		default:
			return nil, false
		}
	}
	n, events := 0, 0
	for _, e := range g.waiting {
		if n > 0 && (e.alone != nil || events+len(e.events) > maxGroup) {
			break
		}
		n, events = n+1, events+len(e.events)
		if e.done != nil {
			g.hurried--
		}
		if e.alone != nil {
			break
		}
	}
	batch = slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return batch, false
}

// write appends a batch together and, only if that fails, each entry by itself,
// so that one bad entry harms nobody else. Readers and callers have to be told yet.
func (g *group) write(batch []*entry) (tell func()) {
	written, err := g.log.commit(batch)
	if err != nil && len(batch) > 1 && !errors.Is(err, store.ErrClosed) {
		tells := make([]func(), len(batch))
		for i, e := range batch {
			tells[i] = g.write([]*entry{e})
		}
		return func() {
			for _, tell := range tells {
				tell()
			}
		}
	}
	return func() {
		g.log.publish(written)
		answer(batch, err)
	}
}

func answer(entries []*entry, err error) {
	for _, e := range entries {
		if e.err == nil {
			e.err = err
		}
		switch {
		case e.done != nil:
			close(e.done)
		case e.tell != nil:
			e.tell(e.first, e.err)
		}
	}
}
