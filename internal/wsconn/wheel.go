package wsconn

import (
	"sync"
	"time"
)

const (
	// tick is how exact heartbeats and time-outs are.
	tick = int64(100 * time.Millisecond)
	// slots makes one turn longer than most waits, so that a slot holds little that is not due.
	slots = 512
	// visitEvery is the longest a connection goes unlooked at: a stuck write or a dribbled message is noticed
	// that much later than its time-out at most.
	visitEvery = int64(5 * time.Second)
)

// wheel calls connections when something may be due: one goroutine and one ticker for all of them. A connection is
// in one slot, linked through its timer.
type wheel struct {
	mu    sync.Mutex
	slots [slots]*Conn
	turn  int64 // the last tick that was handled
}

// timer is a connection's place in the wheel; the wheel's lock guards it.
type timer struct {
	next, prev *Conn
	due        int64 // in ticks; 0 is nowhere
	removed    bool
}

// schedule has the connection visited at due, or earlier if that was planned.
func (w *wheel) schedule(c *Conn, due int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := max(due/tick+1, w.turn+1)
	if c.timer.removed || c.timer.due != 0 && c.timer.due <= t {
		return
	}
	w.unlink(c)
	w.link(c, t)
}

func (w *wheel) remove(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(c)
	c.timer.removed = true
}

func (w *wheel) link(c *Conn, t int64) {
	first := &w.slots[t%slots]
	c.timer.due, c.timer.next, c.timer.prev = t, *first, nil
	if *first != nil {
		(*first).timer.prev = c
	}
	*first = c
}

func (w *wheel) unlink(c *Conn) {
	t := &c.timer
	if t.due == 0 {
		return
	}
	if t.prev != nil {
		t.prev.timer.next = t.next
	} else {
		w.slots[t.due%slots] = t.next
	}
	if t.next != nil {
		t.next.timer.prev = t.prev
	}
	t.due, t.next, t.prev = 0, nil, nil
}

// advance takes everything due by now out of the wheel.
func (w *wheel) advance(now int64, due []*Conn) []*Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := now / tick
	// After a long pause one whole turn meets every slot.
	for t := max(w.turn+1, target-slots+1); t <= target; t++ {
		for c := w.slots[t%slots]; c != nil; {
			next := c.timer.next
			if c.timer.due <= target {
				w.unlink(c)
				due = append(due, c)
			}
			c = next
		}
	}
	w.turn = max(w.turn, target)
	return due
}

// run turns the wheel until stop is closed.
func (w *wheel) run(now func() int64, stop <-chan struct{}) {
	ticker := time.NewTicker(time.Duration(tick))
	defer ticker.Stop()
	var due []*Conn
	for {
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
		due = w.advance(now(), due[:0])
		for i, c := range due {
			w.schedule(c, c.visit(now()))
			due[i] = nil
		}
	}
}
