package place

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"parley.internal/internal/bus"
	"parley.internal/internal/wake"
)

// Subjects on the bus end in a hash: ids may hold what subjects may not.
const (
	subjectWake    = "place.wake."
	subjectRevoked = "place.revoked."
)

// waiters are the long polls of this hub, by the agent they wait for.
type waiters struct {
	mu     sync.Mutex
	of     map[string]map[*waiter]struct{}
	count  int
	closed bool
}

// waiter is one long poll; its channel holds at most one wake-up.
type waiter struct {
	wake wake.Bell
	// call is what is called instead by those who have no goroutine to wake.
	call func()
	// gone is closed when the place closes.
	gone chan struct{}
}

// join adds a poll unless the agent has too many already.
func (w *waiters) join(agent string, limit int) (*waiter, bool) {
	one := &waiter{wake: wake.New(), gone: make(chan struct{})}
	return one, w.add(agent, limit, one)
}

func (w *waiters) add(agent string, limit int, one *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.of[agent]) >= limit {
		return false
	}
	if w.closed {
		close(one.gone)
		return true
	}
	if w.of[agent] == nil {
		w.of[agent] = map[*waiter]struct{}{}
	}
	w.of[agent][one] = struct{}{}
	w.count++
	return true
}

func (w *waiters) leave(agent string, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.of[agent][one]; !ok {
		return
	}
	delete(w.of[agent], one)
	w.count--
	if len(w.of[agent]) == 0 {
		delete(w.of, agent)
	}
}

func (w *waiters) notify(agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.of[agent] {
		one.nudge()
	}
}

func (w *waiters) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, polls := range w.of {
		for one := range polls {
			close(one.gone)
			one.nudge()
		}
	}
	clear(w.of)
	w.count = 0
}

func (w *waiters) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

func (o *waiter) nudge() {
	if o.call != nil {
		o.call()
		return
	}
	o.wake.Ring()
}

func subjectOf(prefix, agent string) string {
	sum := sha256.Sum256([]byte(agent))
	return prefix + hex.EncodeToString(sum[:8])
}

// tell wakes or warns the agent's polls, here and on the other hubs.
func (p *Place) tell(prefix, agent string) {
	p.heard(prefix, agent)
	if !p.d.Clustered {
		return
	}
	if err := p.d.Bus.Publish(subjectOf(prefix, agent), []byte(agent)); err != nil {
		// Polls on other hubs look again by themselves.
		p.d.Log.Warn("place: the bus did not take a wake-up", "error", err)
	}
}

func (p *Place) heard(prefix, agent string) {
	if prefix == subjectRevoked {
		p.forgetSessions(agent)
	}
	p.waiters.notify(agent)
}

// listen hears what other hubs tell.
func (p *Place) listen() error {
	if !p.d.Clustered {
		return nil
	}
	for _, prefix := range []string{subjectWake, subjectRevoked} {
		sub, err := p.d.Bus.Subscribe(prefix+"*", func(m bus.Msg) { p.heard(prefix, string(m.Data)) })
		if err != nil {
			return err
		}
		p.subs = append(p.subs, sub)
	}
	return nil
}

// hints name queues into which this hub has just put something: a receive need not
// look before it takes.
type hints struct {
	mu sync.Mutex
	of map[string]struct{}
}

func (h *hints) add(agent string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil || len(h.of) > maxCounted {
		h.of = map[string]struct{}{}
	}
	h.of[agent] = struct{}{}
}

// use tells whether there was a hint, once.
func (h *hints) use(agent string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.of[agent]
	delete(h.of, agent)
	return ok
}
