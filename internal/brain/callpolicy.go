package brain

import (
	"math/rand/v2"
	"time"

	"parley.internal/internal/brain/model"
)

// CallPolicy says how patient a model call is.
type CallPolicy struct {
	// Attempts is how often a call is tried; retries wait Wait, doubling up to
	// MaxWait, with jitter. A provider's Retry-After counts, up to MaxRetryAfter.
	Attempts      int
	Wait          time.Duration
	MaxWait       time.Duration
	MaxRetryAfter time.Duration
	// FirstToken and BetweenTokens are how long a provider may be silent.
	FirstToken    time.Duration
	BetweenTokens time.Duration
	// OnRetry, if set, hears of each retry before its wait.
	OnRetry func(attempt int, wait time.Duration, err error)
	// Early, if set, gets events before they are due: all but the last of a call,
	// on the provider's goroutine, which saves two changes of goroutine for each. It
	// must not wait for anything. An event that it was not given comes as usual, after
	// those that it was.
	Early func(ev *model.Event)
}

// TurnPolicy is for conversations: somebody is looking at the screen.
func TurnPolicy() CallPolicy {
	return CallPolicy{
		Attempts: 3, Wait: 500 * time.Millisecond, MaxWait: 30 * time.Second, MaxRetryAfter: 30 * time.Second,
		FirstToken: 120 * time.Second, BetweenTokens: 60 * time.Second,
	}
}

// TaskPolicy is for tasks, which have more time.
func TaskPolicy() CallPolicy {
	p := TurnPolicy()
	p.Wait = time.Second
	return p
}

// pause is how long to wait after the failure of an attempt (from 1).
func (p *CallPolicy) pause(attempt int, failure *model.Error) time.Duration {
	if failure.RetryAfter > 0 {
		return min(failure.RetryAfter, p.MaxRetryAfter)
	}
	wait := p.Wait << (attempt - 1)
	if p.MaxWait > 0 {
		wait = min(wait, p.MaxWait)
	}
	if wait <= 0 {
		return 0
	}
	// Half to all of it: many runs that failed together do not come back together.
	return wait/2 + rand.N(wait/2+1)
}
