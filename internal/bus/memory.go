package bus

import (
	"errors"
	"time"
)

const (
	// window is how far apart the clocks of two hubs, and the sending and the
	// arrival of a message, may be. Larger would let recorded messages live longer,
	// smaller would cut off hubs that have no time server for a while.
	window = time.Minute
	// startSlack is what a hub nobody has heard of yet may be behind when it speaks
	// to a new subscription: its clock cannot be told from a recording.
	startSlack = time.Second
	// remembered is how many messages of a session are known one by one. A sender's
	// goroutines overtake each other between sealing and sending, never by so many.
	remembered = 1 << 16
)

var (
	// errClock says that a message is too old or too new to be taken.
	errClock = errors.New("bus: sent too long ago, or in the future")
	// errReplayed says that a message was there before, or is older than the
	// subscription it came to.
	errReplayed = errors.New("bus: played again")
)

// memory knows which messages have arrived, so that a recorded one has no effect.
// One goroutine uses it.
//
// NATS keeps nothing and gives each message once to each subscription. So a message
// is a recording if its count was there before, if it is older than the window, or if
// it was sent before the subscription existed: that is how one recorded for a hub
// that has died, or for one that had a machine before us, is known.
type memory map[session]*heard

// heard is what one session has sent us.
type heard struct {
	newest uint64
	seen   [remembered / 64]uint64
	// current is the message that arrived last; NATS sends its copies for our other
	// subscriptions next, and these have had theirs.
	current uint64
	copies  map[*natsSub]struct{}
	// behind is the least time a message took to arrive, by the two clocks: how far
	// the other one is behind ours, and a little more.
	behind time.Duration
	sent   time.Time // the newest message's time
}

// known reports a message that cannot be new, before work is spent on it.
func (m memory) known(n stampNonce, to *natsSub) bool {
	h := m[n.session()]
	return h != nil && h.known(n.count(), to)
}

func (h *heard) known(count uint64, to *natsSub) bool {
	if count > h.newest {
		return false
	}
	if h.newest-count >= remembered {
		return true
	}
	if h.seen[count%remembered/64]&(1<<(count%64)) == 0 {
		return false
	}
	_, had := h.copies[to]
	return count != h.current || had
}

// admit takes note of an authentic message, or says why it is not taken. missed
// says that a message is lost by that which was meant for us.
func (m memory) admit(e *envelope, to *natsSub, now time.Time) (missed bool, err error) {
	h := m[e.nonce.session()]
	if age := now.Sub(e.sent); age > window || age < -window {
		return h != nil, errClock
	}
	behind := time.Duration(0)
	if h != nil {
		behind = h.behind
	}
	if e.sent.Add(behind + startSlack).Before(to.since) {
		return false, errReplayed
	}
	if h == nil {
		h = m.meet(e, now)
	}
	h.note(e, to, now)
	return false, nil
}

// meet begins to remember a session, and forgets those that have been silent for so
// long that anything recorded of them is too old.
func (m memory) meet(e *envelope, now time.Time) *heard {
	for s, h := range m {
		if now.Sub(h.sent) > window {
			delete(m, s)
		}
	}
	h := &heard{behind: now.Sub(e.sent), sent: e.sent, copies: map[*natsSub]struct{}{}}
	m[e.nonce.session()] = h
	return h
}

func (h *heard) note(e *envelope, to *natsSub, now time.Time) {
	count := e.nonce.count()
	if count > h.newest {
		h.advance(count)
	}
	if count != h.current {
		h.current = count
		h.forgetCopies()
	}
	h.copies[to] = struct{}{}
	h.seen[count%remembered/64] |= 1 << (count % 64)
	h.behind = min(h.behind, now.Sub(e.sent))
	if e.sent.After(h.sent) {
		h.sent = e.sent
	}
}

// forgetCopies empties a small map and replaces a large one, which would cost every
// message what one with many readers did.
func (h *heard) forgetCopies() {
	if len(h.copies) > 16 {
		h.copies = make(map[*natsSub]struct{}, 1)
		return
	}
	clear(h.copies)
}

// advance makes room for the counts up to this one.
func (h *heard) advance(count uint64) {
	if count-h.newest >= remembered {
		clear(h.seen[:])
	} else {
		for c := h.newest + 1; c <= count; c++ {
			h.seen[c%remembered/64] &^= 1 << (c % 64)
		}
	}
	h.newest = count
}
