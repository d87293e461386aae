package hubtest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Cutter stands between two parties and cuts all of their lines at once.
type Cutter struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	lines  []net.Conn
	barred bool
	work   sync.WaitGroup
}

// NewCutter leads to an address (host:port).
func NewCutter(t testing.TB, target string) *Cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cutter{l: l, target: target}
	c.work.Go(c.accept)
	t.Cleanup(c.Close)
	return c
}

// Address is where the cutter listens.
func (c *Cutter) Address() string { return c.l.Addr().String() }

func (c *Cutter) accept() {
	for {
		a, err := c.l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		barred := c.barred
		c.mu.Unlock()
		if barred {
			_ = a.Close()
			continue
		}
		b, err := new(net.Dialer).DialContext(context.Background(), "tcp", c.target)
		if err != nil {
			_ = a.Close()
			continue
		}
		c.mu.Lock()
		c.lines = append(c.lines, a, b)
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
			c.work.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			})
		}
	}
}

// Cut ends every line; new ones are let through.
func (c *Cutter) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines {
		_ = line.Close()
	}
	c.lines = nil
}

// Bar cuts, and lets nobody through until Unbar.
func (c *Cutter) Bar() {
	c.mu.Lock()
	c.barred = true
	c.mu.Unlock()
	c.Cut()
}

// Unbar ends Bar.
func (c *Cutter) Unbar() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.barred = false
}

// Close cuts, for good.
func (c *Cutter) Close() {
	_ = c.l.Close()
	c.Cut()
	c.work.Wait()
}
