package roomagent

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"parley.internal/protocol/kibitz"
)

// A hub that was silent for a heartbeat is asked whether it is there; when it says
// nothing for this long, the connection is broken. Already after quietAfter nothing
// goes over links any more: who has not heard of the hub for so long cannot know what
// it has withdrawn.
const (
	heartbeat  = 10 * time.Second
	lostAfter  = 25 * time.Second
	quietAfter = 12 * time.Second
)

// heard notes a sign of the hub.
func (c *Conn) heard() {
	c.mu.Lock()
	c.sign = time.Now()
	c.mu.Unlock()
}

func (c *Conn) silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.sign)
}

// hubThere reports whether what the hub said last still counts.
func (c *Conn) hubThere() bool { return c.silence() < quietAfter }

// watch asks a silent hub, and closes the socket of one that does not answer, until
// stop is called.
func (c *Conn) watch(socket *websocket.Conn) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.life))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for c.listens(ctx, socket) {
		}
	}()
	return func() { cancel(); <-ended }
}

// listens waits until the hub has been silent and asks it once; false ends it.
func (c *Conn) listens(ctx context.Context, socket *websocket.Conn) bool {
	if pause := heartbeat - c.silence(); pause > 0 {
		return pauseFor(ctx, pause)
	}
	ask, cancel := context.WithTimeout(ctx, lostAfter-heartbeat)
	defer cancel()
	if socket.Ping(ask) != nil {
		_ = socket.CloseNow() // whoever reads it learns that it is broken
		return false
	}
	c.heard()
	return true
}

// pauseFor waits and reports whether nobody ended the wait.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Media says which lanes this participant publishes; it is said again after a break.
func (c *Conn) Media(ctx context.Context, lanes kibitz.Lanes) error {
	_, err := c.ask(ctx, func(n int64) kibitz.Frame { return &kibitz.Media{N: n, Lanes: lanes} }, false)
	if err == nil {
		c.mu.Lock()
		c.lanes = lanes
		c.mu.Unlock()
	}
	return err
}

// showLanes tells a room that was away what is published.
func (c *Conn) showLanes() error {
	c.mu.Lock()
	lanes := c.lanes
	c.mu.Unlock()
	if !lanes.Any() {
		return nil
	}
	return c.write(&kibitz.Media{Lanes: lanes})
}
