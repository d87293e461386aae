package wsconn

import "os"

// visit does what is due on the connection and returns when to look again. Only the wheel calls it.
func (c *Conn) visit(now int64) (again int64) {
	c.mu.Lock()
	st, giveUp, wrote := c.state, c.giveUpAt, c.wroteAt
	c.mu.Unlock()
	if st != open {
		if now >= giveUp {
			c.hangUp()
		}
		return max(giveUp, now+tick)
	}
	o := &c.group.options
	again = now + visitEvery
	due := func(at int64) bool {
		if at > now {
			again = min(again, at)
		}
		return at <= now
	}
	if wrote != 0 && due(wrote+int64(o.WriteTimeout)) {
		c.stuck()
		return now + tick
	}
	if begun := c.begun.Load(); begun != 0 && !c.busy.Load() && due(begun+int64(o.MessageTimeout)) {
		c.closeOwn(Close{CodePolicy, "message took too long"})
		return now + tick
	}
	if o.Silence.After > 0 && !c.busy.Load() && due(c.heard.Load()+int64(o.Silence.After)) {
		o.Metrics.Silences.Add(1)
		c.closeOwn(o.Silence.Close)
		return now + tick
	}
	c.visitDeadline(due)
	c.visitPing(now, due)
	return again
}

// stuck ends a connection whose peer takes nothing: no close frame can reach it.
func (c *Conn) stuck() {
	o := &c.group.options
	o.Metrics.Overflows.Add(1)
	c.mu.Lock()
	c.endLocked(Ended{Close: o.Overflow, Err: os.ErrDeadlineExceeded})
	c.breakLocked()
	c.mu.Unlock()
	c.hangUp()
}

func (c *Conn) visitDeadline(due func(int64) bool) {
	c.mu.Lock()
	fn := c.deadline
	if fn != nil && due(c.deadlineAt) {
		c.deadline = nil
	} else {
		fn = nil
	}
	c.mu.Unlock()
	if fn != nil {
		c.group.running.Go(func() { c.guard(func() { fn(c) }) })
	}
}

func (c *Conn) visitPing(now int64, due func(int64) bool) {
	o := &c.group.options.Ping
	if o.Every <= 0 {
		return
	}
	c.mu.Lock()
	if heard := c.heard.Load(); o.WhenSilent && c.pingAt < heard+int64(o.Every) {
		c.pingAt = heard + int64(o.Every)
	}
	fire := due(c.pingAt)
	if fire {
		c.pingAt = now + int64(o.Every)
		due(c.pingAt)
	}
	c.mu.Unlock()
	switch {
	case !fire:
	case o.Send != nil:
		o.Send(c)
	default:
		c.sendPing()
	}
}
