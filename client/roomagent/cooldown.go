package roomagent

import "time"

// Cooldown keeps an agent from flooding. A reply may ignore it and stamp it.
type Cooldown struct {
	every   time.Duration
	last    time.Time
	stamped bool
}

// NewCooldown is ready once, then again after d.
func NewCooldown(d time.Duration) *Cooldown { return &Cooldown{every: d} }

// Ready reports whether enough time has passed; it changes nothing.
func (c *Cooldown) Ready(now time.Time) bool { return !c.stamped || now.Sub(c.last) >= c.every }

// Stamp starts the wait.
func (c *Cooldown) Stamp(now time.Time) { c.last, c.stamped = now, true }
