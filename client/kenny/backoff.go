package kenny

import (
	"errors"
	"time"

	wire "parley.internal/protocol/kenny"
)

// How long to stay away.
const (
	firstWait = time.Second
	// waitCap bounds the wait in ordinary trouble.
	waitCap = 60 * time.Second
	// authCap bounds it when the hub refused us: asking more often helps
	// nobody, and the hub counts failures.
	authCap = 5 * time.Minute
	// stableAfter is how long a session must hold to count as good.
	stableAfter = 60 * time.Second
	// replacedWait: somebody else runs under our name. Two that chase each
	// other away would never stop.
	replacedWait = 60 * time.Second
	// restartSpread spreads the machines of a hub that restarts.
	restartSpread = 15 * time.Second
)

// backoff decides the wait before the next attempt.
type backoff struct {
	base   time.Duration  // of the next wait, before chance
	random func() float64 // 0 ≤ x < 1
}

// next gives the wait after an attempt that held for held, as a session the
// hub accepted, and ended with err.
func (b *backoff) next(held time.Duration, err error) time.Duration {
	if b.base == 0 || held >= stableAfter {
		b.base = firstWait
	}
	code := closeCode(err)
	if code == wire.CloseRestart {
		return time.Duration(b.random() * float64(restartSpread))
	}
	most := waitCap
	if code == wire.CloseUnauthorized {
		most = authCap
	}
	base := min(b.base, most)
	b.base = min(base*2, most)
	wait := base/2 + time.Duration(b.random()*float64(base/2))
	if code == wire.CloseReplaced {
		wait = max(wait, replacedWait)
	}
	if dial, ok := errors.AsType[*DialError](err); ok {
		wait = max(wait, dial.RetryAfter)
	}
	return wait
}

// closeCode is the hub's close code in err, or 0.
func closeCode(err error) wire.CloseCode {
	if c, ok := errors.AsType[*Closed](err); ok {
		return c.Code
	}
	return 0
}
