package board

import (
	"time"

	"golang.org/x/time/rate"

	"parley/protocol/viber"
)

// allow counts a message and refuses it when they come too fast, saying how long
// to wait. Heartbeats have an allowance of their own.
func (c *conn) allow(t viber.Type, id string) bool {
	switch t {
	case viber.TypePing, viber.TypePong, viber.TypeHealthPing, viber.TypeHealthPong:
		if c.beats.Allow() {
			return true
		}
	default:
		if !viber.RateCounted(t) {
			return true
		}
	}
	wait, ok := take(c.messages, 1)
	if !ok {
		c.send(viber.NewRateLimited("", "messages come too fast", wait), id)
	}
	return ok
}

// take spends n of a budget, or tells when there will be enough.
func take(l *rate.Limiter, n int) (wait time.Duration, ok bool) {
	now := time.Now()
	r := l.ReserveN(now, n)
	if !r.OK() {
		return time.Second, false
	}
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}
