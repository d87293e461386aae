package board

import (
	"parley.internal/internal/limit"
	"parley.internal/protocol/viber"
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
	wait := limit.Spend(c.messages, 1)
	if wait > 0 {
		c.send(viber.NewRateLimited("", "messages come too fast", wait), id)
	}
	return wait == 0
}
