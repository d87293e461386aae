package viber

import (
	"errors"
	"math/rand/v2"
	"time"
)

// stableAfter is how long a connection must hold for the next loss to count as the first.
const stableAfter = time.Minute

// backoff decides the pause before the next attempt.
type backoff struct {
	min, max time.Duration
	base     time.Duration // of the next pause, before chance
}

// next gives the pause after a connection that held for held and ended with err.
// Half of it is chance, so that the clients of a hub that restarts do not come
// back all at once.
func (b *backoff) next(held time.Duration, err error) time.Duration {
	if b.base == 0 || held >= stableAfter {
		b.base = b.min
	}
	pause := b.base/2 + rand.N(b.base/2+1)
	b.base = min(b.base*2, b.max)
	if e, ok := errors.AsType[*Error](err); ok {
		pause = max(pause, e.RetryAfter)
	}
	return pause
}
