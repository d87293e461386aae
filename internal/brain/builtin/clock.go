package builtin

import (
	"context"
	"sync"
	"time"

	"parley.internal/internal/brain/tool"
)

// clock is a time limit that stands still while somebody thinks about a question.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time // when it last began to run
	holds int
	end   context.CancelCauseFunc
}

// newClock is ctx with a time limit, which ends it with [tool.ErrTimeout].
func newClock(ctx context.Context, limit time.Duration) (context.Context, *clock) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &clock{timer: time.AfterFunc(limit, func() { end(tool.ErrTimeout) }), left: limit, since: time.Now(), end: end}
}

// hold stops it; several may do so at once.
func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

// goOn lets it run again, once nobody holds it.
func (c *clock) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop ends it, and what it limits.
func (c *clock) stop() {
	defer c.end(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++ // nothing starts it again
	c.timer.Stop()
}
