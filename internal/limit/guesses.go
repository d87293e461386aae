package limit

import (
	"container/list"
	"sync"
	"time"
)

// GuessLimits bound how often one network may be wrong.
type GuessLimits struct {
	// PerMinute wrong attempts are looked at, however many right ones come between;
	// more are refused unseen.
	PerMinute int
	// Failures within Window, with no success between, lock the network for Lock.
	// Zero never locks.
	Failures     int
	Window, Lock time.Duration
	// Networks bounds the table; the one longest silent is forgotten first.
	Networks int
}

// Guesses slows down guessing, per network and per hub. Only failures count: who
// is right is never kept out for being right often.
//
//	try, err := guesses.Attempt(address)
//	if err != nil { … }                 // the credential is not looked at
//	defer try.End()                     // it could not be looked at: nobody's fault
//	… try.Failed() or try.Succeeded()
type Guesses struct {
	limits GuessLimits
	mu     sync.Mutex
	known  map[string]*list.Element
	order  *list.List // of *guesser, longest silent first
}

type guesser struct {
	network string
	// running attempts count as wrong until they are known to be right, so that many
	// at once gain nothing.
	running int
	wrong   []time.Time // of the last minute
	streak  []time.Time // since the last success
	locked  time.Time
}

// NewGuesses makes an empty one.
func NewGuesses(limits GuessLimits) *Guesses {
	return &Guesses{limits: limits, known: map[string]*list.Element{}, order: list.New()}
}

// Attempt begins an attempt, or refuses it with an *Error.
func (g *Guesses) Attempt(address string) (*Attempt, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.find(address)
	if wait := v.locked.Sub(now); wait > 0 {
		return nil, &Error{RetryAfter: wait, Locked: true}
	}
	v.wrong = since(v.wrong, now.Add(-time.Minute))
	switch {
	case v.running+len(v.wrong) < g.limits.PerMinute:
	case len(v.wrong) == 0:
		return nil, &Error{RetryAfter: crowdRetry} // those that run end soon
	default:
		return nil, &Error{RetryAfter: max(v.wrong[0].Add(time.Minute).Sub(now), time.Millisecond)}
	}
	v.running++
	return &Attempt{guesses: g, by: v}, nil
}

// find gives the record of an address, a new one if there is none.
func (g *Guesses) find(address string) *guesser {
	name := Network(address)
	if e, ok := g.known[name]; ok {
		g.order.MoveToBack(e)
		return e.Value.(*guesser)
	}
	for g.order.Len() >= max(g.limits.Networks, 1) {
		oldest := g.order.Remove(g.order.Front()).(*guesser)
		delete(g.known, oldest.network)
	}
	v := &guesser{network: name}
	g.known[name] = g.order.PushBack(v)
	return v
}

// Attempt is one that runs.
type Attempt struct {
	guesses *Guesses
	by      *guesser
	ended   bool
}

// Failed says that it was wrong, and reports whether that locked the network.
func (a *Attempt) Failed() (locked bool) {
	g := a.guesses
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !a.end() {
		return false
	}
	v := a.by
	v.wrong = append(v.wrong, now)
	if g.limits.Failures <= 0 {
		return false
	}
	v.streak = append(since(v.streak, now.Add(-g.limits.Window)), now)
	if len(v.streak) < g.limits.Failures {
		return false
	}
	v.locked, v.streak = now.Add(g.limits.Lock), nil
	return true
}

// Succeeded says that it was right, which forgives the failures before it.
func (a *Attempt) Succeeded() {
	a.guesses.mu.Lock()
	defer a.guesses.mu.Unlock()
	if a.end() {
		a.by.streak = nil
	}
}

// End says that it was neither. After Failed or Succeeded it does nothing, and
// neither does it on nil.
func (a *Attempt) End() {
	if a == nil {
		return
	}
	a.guesses.mu.Lock()
	defer a.guesses.mu.Unlock()
	a.end()
}

func (a *Attempt) end() (first bool) {
	if first = !a.ended; first {
		a.ended = true
		a.by.running--
	}
	return first
}

// since drops the times before start.
func since(times []time.Time, start time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(start) {
		times = times[1:]
	}
	return times
}
