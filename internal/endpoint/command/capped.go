package command

import (
	"fmt"
	"sync"
)

// capped keeps the head and the tail of what is written to it. One goroutine
// of os/exec writes; whoever asks for the bytes may do so while it still does.
type capped struct {
	mu    sync.Mutex
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int
}

func newCapped(limit int) *capped { return &capped{half: limit / 2} }

// Write implements io.Writer; it never refuses.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += n
	if room := c.half - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if room := c.half - len(c.tail); room > 0 {
		take := min(room, len(p))
		c.tail = append(c.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.next:], p)
		c.next = (c.next + k) % c.half
		p = p[k:]
	}
	return n, nil
}

// cut reports whether something was left out.
func (c *capped) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total > 2*c.half
}

// bytes gives what was kept, with a line in the middle that tells of the rest.
func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append([]byte(nil), c.head...)
	if left := c.total - len(c.head) - len(c.tail); left > 0 {
		out = append(out, fmt.Sprintf("\n… %d bytes left out …\n", left)...)
	}
	out = append(out, c.tail[c.next:]...)
	return append(out, c.tail[:c.next]...)
}
