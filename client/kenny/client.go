package kenny

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	wire "parley.internal/protocol/kenny"
)

// maxCalls bounds the requests under way on this machine, those of lost
// connections included; it is twice what a hub sends at once.
const maxCalls = 2 * wire.MaxInFlight

// Client is a machine's tunnel. Make it with [New]; Run it once.
type Client struct {
	cfg  Config
	urls []string
	// at is the address in use, tried how many were in vain; they belong to Run.
	at, tried int
	random    func() float64
	current   atomic.Pointer[session]
	slots     chan struct{} // one per request under way
	calls     sync.WaitGroup
}

// Run keeps a session open until ctx ends, and returns ctx's error then.
func (c *Client) Run(ctx context.Context) error {
	b := &backoff{random: c.random}
	defer c.calls.Wait()
	for {
		held, err := c.attempt(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.tryNext(held, err) {
			continue
		}
		wait := b.next(held, err)
		c.report(err, wait)
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// tryNext goes on to the next address, and tells whether it should be tried at once: not if
// the hub itself had a word about when to come, nor when all addresses were tried.
func (c *Client) tryNext(held time.Duration, err error) bool {
	if code := closeCode(err); code == wire.CloseUnauthorized || code == wire.CloseReplaced {
		return false
	}
	if held > 0 {
		c.tried = 0
	}
	c.at = (c.at + 1) % len(c.urls)
	if c.tried++; c.tried < len(c.urls) {
		c.cfg.Log.Warn("tunnel ended, trying the next address", "error", err)
		return true
	}
	c.tried = 0
	return false
}

// attempt is one connection from dial to end; held is how long the hub had
// accepted it.
func (c *Client) attempt(ctx context.Context) (held time.Duration, err error) {
	conn, err := c.cfg.Dial(ctx, c.urls[c.at])
	if err != nil {
		return 0, err
	}
	if err := c.handshake(ctx, conn); err != nil {
		conn.Abort()
		return 0, err
	}
	s := newSession(c, conn)
	err = s.run(ctx)
	return s.held(), err
}

// report logs why there is a pause; two causes need a person.
func (c *Client) report(err error, wait time.Duration) {
	log := c.cfg.Log.With("error", err, "wait", wait)
	switch {
	case closeCode(err) == wire.CloseReplaced:
		log.Error("another endpoint connected under this machine's id")
	case closeCode(err) == wire.CloseUnauthorized:
		log.Error("the hub refused this machine")
	case errors.Is(err, ErrServerUnverified):
		log.Error("the hub is not the one this machine trusts")
	default:
		log.Warn("tunnel ended, trying again")
	}
}

// sleep reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
