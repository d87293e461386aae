package turns

import (
	"runtime"
	"slices"
	"time"
)

// tellAside is how many calls take long enough to tell that the next turn should not
// wait for it.
const tellAside = 32

// How long requests wait for others that come soon after them, if nobody waits for an
// answer: in proportion to what a turn takes, so that one caller is hardly held up, but
// not for long. With few callers this saves most of the flushes; a thousand fill the
// time of the turn before anyway, and waiting longer would only make the next one
// longer too.
const (
	restShare = 2
	maxRest   = 3 * time.Millisecond
)

// handOver ends the caller's turn: a goroutine goes on if something waits.
func (g *Group[T]) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flowing = len(g.waiting) > 0; g.flowing {
		go g.flow()
	}
}

// flow has turns until nothing waits; an idle group has no goroutine. While many are
// told, the next turn is on its way already.
func (g *Group[T]) flow() {
	told := make(chan struct{})
	close(told)
	for {
		g.rest()
		batch, over := g.next(told)
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
		tell, long := g.turn(batch)
		<-told // one after the other: everybody hears things in their order
		if !long {
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

// pause sets when the next turn may begin that nobody is waiting for.
func (g *Group[T]) pause(began time.Time) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.departs = now.Add(min(restShare*now.Sub(began), maxRest))
}

// rest waits for the departure, or for somebody in a hurry.
func (g *Group[T]) rest() {
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

// next gives the calls of the next turn; over tells that nothing waits and nobody is
// being told, so that the next caller may have a turn by itself.
func (g *Group[T]) next(told <-chan struct{}) (batch []*Call[T], over bool) {
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
	n, weight := 0, 0
	for _, c := range g.waiting {
		if weight += g.weigh(c.What); n > 0 && weight > g.most {
			break
		}
		n++
		if c.done != nil {
			g.hurried--
		}
	}
	batch = slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return batch, false
}
