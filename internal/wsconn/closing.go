package wsconn

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Close sends what waits, then a close frame, and ends the connection when the peer has answered or after
// CloseTimeout. Only the first close counts.
func (c *Conn) Close(code Code, reason string) error {
	return c.close(Close{code, reason}, nil)
}

// Cut is Close without what waits: only lastWords, if any, are sent before the close frame.
func (c *Conn) Cut(code Code, reason string, lastWords []byte) error {
	why, err := checked(Close{code, reason})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutLocked(why, lastWords)
	return err
}

// Abort ends the connection at once, without a close frame.
func (c *Conn) Abort() {
	c.mu.Lock()
	c.endLocked(Ended{Close: Close{Code: CodeAbnormal, Reason: "aborted"}})
	c.breakLocked()
	c.mu.Unlock()
	c.hangUp()
}

func checked(why Close) (Close, error) {
	if why.Code.Sendable() {
		return why, nil
	}
	return Close{CodeInternal, ""}, fmt.Errorf("%w: %d", ErrBadClose, why.Code)
}

func (c *Conn) close(why Close, lastWords []byte) error {
	why, err := checked(why)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endLocked(Ended{Close: why}) {
		c.sayLocked(lastWords)
		c.wakeWriter()
	}
	return err
}

// closeOwn is a close this package decided on.
func (c *Conn) closeOwn(why Close) { _ = c.close(why, c.lastWords(why)) }

func (c *Conn) lastWords(why Close) []byte {
	if f := c.group.options.LastWords; f != nil {
		return f(why)
	}
	return nil
}

func (c *Conn) cutLocked(why Close, lastWords []byte) {
	if c.endLocked(Ended{Close: why}) {
		c.queue.clear()
		c.sayLocked(lastWords)
		c.wakeWriter()
	}
}

func (c *Conn) sayLocked(words []byte) {
	if words != nil {
		c.queue.push(item{kind: Text, data: words})
	}
}

// endLocked begins the end; it reports whether this call did.
func (c *Conn) endLocked(how Ended) bool {
	if c.state != open {
		return false
	}
	c.state = closing
	c.ended = how
	c.giveUpAt = c.group.now() + int64(c.group.options.CloseTimeout)
	c.deadline = nil
	c.group.wheel.schedule(c, c.giveUpAt)
	return true
}

// breakLocked gives up on writing.
func (c *Conn) breakLocked() {
	c.state = broken
	c.queue.clear()
}

// finish runs when reading has ended, on the reading goroutine: it completes the close handshake, frees the socket
// and tells the handler.
func (c *Conn) finish(how Ended, readable bool) {
	c.mu.Lock()
	mine := c.endLocked(how)
	switch {
	case how.ByPeer && how.Code == CodeAbnormal:
		c.breakLocked()
	case how.ByPeer: // its own close frame, or the answer to ours: it reads no more messages
		c.queue.clear()
	case mine:
		c.sayLocked(c.lastWords(how.Close))
	}
	gone := c.wakeWriterAndWait()
	c.mu.Unlock()
	<-gone
	if readable {
		c.linger()
	}
	c.shut()
	c.group.remove(c)
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	c.guard(func() { c.handler.Closed(c, ended) })
}

// linger reads on after a close frame the peer may not have seen yet: closing a socket with unread data
// would reset the connection and take the close frame with it.
func (c *Conn) linger() {
	if half, ok := c.stream.raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	buf := scratch.Get().(*[scratchSize]byte)
	defer scratch.Put(buf)
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c.stream.raw}, buf[:])
}

const scratchSize = 16 << 10

var scratch = sync.Pool{New: func() any { return new([scratchSize]byte) }}

// shut closes the socket after everything was said.
func (c *Conn) shut() {
	if t, ok := c.stream.raw.(*tls.Conn); ok {
		_ = t.SetWriteDeadline(time.Now().Add(c.group.options.CloseTimeout))
	}
	_ = c.stream.raw.Close()
}

// hangUp ends the socket now, from any goroutine, and has the system forget what it has not sent: a
// stuck peer must not keep kernel memory.
func (c *Conn) hangUp() {
	raw := c.stream.raw
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if t, ok := raw.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = raw.Close()
}
