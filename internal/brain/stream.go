package brain

import (
	"context"
	"sync"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/wake"
)

const (
	// maxAhead is how many events a provider may be ahead of whoever reads them.
	maxAhead = 256
	// streamGrace is how long a provider may take to notice that its call is over
	// before it is left behind.
	streamGrace = 500 * time.Millisecond
)

// stream runs a provider on its own goroutine, so that a provider that hangs can
// be left behind. Events are handed over in batches: whoever reads takes all
// there are at once, so a fast provider costs few switches.
type stream struct {
	wake wake.Bell // something is there; capacity 1

	mu    sync.Mutex
	full  sync.Cond // the reader took what was there, or left
	ready []model.Event
	spare []model.Event
	err   error
	ended bool
	left  bool // the reader is gone
	// early gets events at once; heard is when it got the last.
	early func(*model.Event)
	event model.Event // that one: kept here, so that it need not move to the heap
	heard time.Time
}

func newStream(early func(*model.Event)) *stream {
	s := &stream{wake: wake.New(), ready: make([]model.Event, 0, 4), early: early}
	s.full.L = &s.mu
	return s
}

// reset makes a stream whose provider has returned ready for the next attempt.
func (s *stream) reset() {
	clear(s.ready[:cap(s.ready)])
	clear(s.spare[:cap(s.spare)])
	if cap(s.spare) > cap(s.ready) {
		s.ready, s.spare = s.spare, s.ready // often the first batch is the only one
	}
	s.ready, s.spare, s.err, s.ended, s.left, s.heard = s.ready[:0], s.spare[:0], nil, false, false, time.Time{}
	s.event = model.Event{}
	select {
	case <-s.wake:
	default:
	}
}

func (s *stream) pump(ctx context.Context, p model.Provider, req model.Request) {
	defer s.end(p)
	p.Stream(ctx, req)(s.put)
}

// put takes one pair from the provider and tells whether it should go on.
func (s *stream) put(ev model.Event, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = err
		s.signal()
		return false
	}
	for len(s.ready) >= maxAhead && !s.left {
		s.full.Wait()
	}
	if s.left {
		return false
	}
	if s.early != nil && ev.Kind != model.Done && len(s.ready) == 0 {
		s.tellEarly(ev)
		return true
	}
	s.ready = append(s.ready, ev)
	if len(s.ready) == 1 {
		s.signal()
	}
	return true
}

// tellEarly hands an event on from here. The first one wakes the reader, which then
// waits for less silence than before.
func (s *stream) tellEarly(ev model.Event) {
	first := s.heard.IsZero()
	s.heard, s.event = time.Now(), ev
	s.early(&s.event)
	if first {
		s.signal()
	}
}

// lastHeard is when an event was handed on early, zero if none was.
func (s *stream) lastHeard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

// end is deferred: a provider that panics has failed like any other.
func (s *stream) end(p model.Provider) {
	broken := recover()
	s.mu.Lock()
	defer s.mu.Unlock()
	if broken != nil {
		s.err = brokeDown(p, broken)
	}
	s.ended = true
	s.signal() // inside the lock: once the reader sees ended, the stream is its own again
}

func (s *stream) signal() {
	s.wake.Ring()
}

// drain gives what is there. The events are valid until the next drain. err and
// ended count only once the events before them were given, which is now.
func (s *stream) drain() (events []model.Event, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		return nil, s.ended, s.err
	}
	events = s.ready
	s.ready, s.spare = s.spare[:0], events
	if len(events) >= maxAhead {
		s.full.Signal()
	}
	return events, s.ended, s.err
}

// close leaves the stream and waits, for a while, until the provider has returned;
// it reports whether it has.
func (s *stream) close() bool {
	s.mu.Lock()
	s.left = true
	s.full.Signal()
	ended := s.ended
	s.mu.Unlock()
	return ended || s.gone()
}

// gone waits until the provider has returned, at most the grace.
func (s *stream) gone() bool {
	t := time.NewTimer(streamGrace)
	defer t.Stop()
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return true
		}
		select {
		case <-s.wake:
		case <-t.C:
			return false
		}
	}
}
