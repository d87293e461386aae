package builtin

import (
	"sync"

	"parley.internal/internal/mask"
)

// What is kept of one output stream: its beginning and its end. Two streams
// together are the 10 MiB a call may capture.
const (
	keepHead = 15 << 18
	keepTail = 5 << 18
)

// capture is a writer of bounded memory that keeps no secret.
type capture struct {
	mu   sync.Mutex
	mask *mask.Stream
	head []byte
	tail []byte
	lost bool
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(c.mask.Push(p))
	return len(p), nil
}

func (c *capture) keep(p []byte) {
	if free := keepHead - len(c.head); free > 0 {
		k := min(free, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*keepTail { // moved rarely, so that writing stays cheap
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keepTail:]...)
		c.lost = true
	}
}

// String is what was kept; lost tells whether something is missing in between.
func (c *capture) String() (text string, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(c.mask.End())
	tail := c.tail
	if len(tail) > keepTail {
		tail, c.lost = tail[len(tail)-keepTail:], true
	}
	if c.lost {
		return string(c.head) + "\n[…]\n" + string(tail), true
	}
	return string(c.head) + string(tail), false
}
