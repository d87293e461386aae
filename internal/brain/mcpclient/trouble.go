package mcpclient

import "time"

// How long a server that failed to start is left alone: doubling each time.
const (
	firstRest = 30 * time.Second
	longRest  = 10 * time.Minute
)

// trouble is what is known of a server's failed and slow starts, so that each costs one
// turn something and not every turn.
type trouble struct {
	late  bool // somebody has waited for the start that is under way
	count int
	since time.Time // of the last failure
}

// state is what a turn that wants the server does.
type state int

const (
	untried  state = iota // start it, and wait
	late                  // go on without it: it is being started
	resting               // go on without it: it failed lately
	tryAgain              // start it, and go on without it
)

func (t *trouble) now() state {
	switch {
	case t.late:
		return late
	case t.count == 0:
		return untried
	case time.Since(t.since) < t.rest():
		return resting
	}
	return tryAgain
}

func (t *trouble) failed() { t.late, t.count, t.since = false, t.count+1, time.Now() }

func (t *trouble) rest() time.Duration {
	return min(firstRest<<min(t.count-1, 10), longRest)
}
