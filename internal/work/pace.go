package work

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/limit"
)

// paces bounds how fast each person submits.
type paces struct {
	mu  sync.Mutex
	by  map[string]*rate.Limiter
	per rate.Limit
	max int
}

func newPaces(perMinute, burst int) *paces {
	return &paces{by: map[string]*rate.Limiter{}, per: rate.Limit(float64(perMinute) / 60), max: burst}
}

// spend lets one submit through, or tells how long to wait. What did not make a
// task is given back by undo.
func (p *paces) spend(principal string, now time.Time) (undo func(), wait time.Duration) {
	p.mu.Lock()
	l := p.by[principal]
	if l == nil {
		l = rate.NewLimiter(p.per, p.max)
		p.by[principal] = l
	}
	p.mu.Unlock()
	if wait := limit.Spend(l, 1); wait > 0 {
		return nil, wait
	}
	// Cancelling a reservation that was due gives nothing back; a negative one does.
	return func() { l.ReserveN(now, -1) }, 0
}

// forget drops those who are quiet: their buckets are full.
func (p *paces) forget(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for principal, l := range p.by {
		if l.TokensAt(now) >= float64(p.max) {
			delete(p.by, principal)
		}
	}
}

// pace lets a submit through or refuses it with the true time to wait.
func (w *Work) pace(principal string) (undo func(), err error) {
	undo, wait := w.paces.spend(principal, time.Now())
	if undo == nil {
		return nil, &LimitError{Message: "you submit tasks too fast", RetryAfter: wait}
	}
	return undo, nil
}
