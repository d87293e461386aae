package wsconn

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/trywrite"
)

// Handler is what a face does with one connection. Its methods are called one at a time on the connection's
// reading goroutine.
type Handler interface {
	// Message is one whole message; data is only valid during the call.
	Message(c *Conn, kind Kind, data []byte)
	// Closed is the last call, made exactly once, when the socket is gone.
	Closed(c *Conn, how Ended)
}

// OversizeHandler is a Handler that wants to know of skipped messages (ReadLimit.Discard).
type OversizeHandler interface {
	Handler
	// Oversize is told at once, before the rest is skipped: head is how the message begins, size what
	// is known of its length.
	Oversize(c *Conn, kind Kind, head []byte, size int64)
}

// Conn is one connection. All methods may be called from anywhere and none blocks.
type Conn struct {
	group   *Group
	handler Handler
	stream  stream
	socket  *trywrite.Socket // to write without waiting; nil where that cannot be
	limit   atomic.Pointer[ReadLimit]
	heard   atomic.Int64 // when the peer last sent something, on the group's clock
	busy    atomic.Bool  // a handler call is running
	begun   atomic.Int64 // when a message began that is not complete yet; 0 is none

	mu         sync.Mutex
	queue      queue
	writing    bool          // a writer goroutine exists
	writerGone chan struct{} // closed when it ends, if someone waits for that
	wroteAt    int64         // when the write in progress began; 0 is none
	pong       []byte        // to be answered; newest only
	pongDue    bool
	pingDue    bool
	state      state
	closeSent  bool
	ended      Ended // why, once state is not open
	giveUpAt   int64 // when a closing connection is hung up
	pingAt     int64
	deadlineAt int64
	deadline   func(*Conn)

	timer timer
}

type state uint8

const (
	open    state = iota
	closing       // a close frame is on its way, or will be when the queue is empty
	broken        // nothing can be written any more
)

// Send queues a message. It returns ErrClosed when the connection is ending, ErrOverflow when this
// message made it end. A dropped Droppable message is no error.
func (c *Conn) Send(m Message) error {
	it := item{kind: m.Kind, policy: m.Policy, key: m.Key, data: m.Data}
	if m.Frame != nil {
		it.wire, it.data = m.Frame.wire, nil
	}
	c.mu.Lock()
	now, err := c.enqueue(&m, it)
	c.mu.Unlock()
	if now {
		c.writeNow()
	}
	return err
}

// enqueue puts a message into the queue; now says that the caller is the writer.
func (c *Conn) enqueue(m *Message, it item) (now bool, err error) {
	if c.state != open {
		return false, ErrClosed
	}
	if m.Key != "" && c.coalesce(m) {
		return false, nil
	}
	limit, metrics := c.group.options.Queue, c.group.options.Metrics
	if !c.queue.fits(it.size(), limit) {
		metrics.Dropped.Add(int64(c.queue.shed(it.size(), limit)))
	}
	if !c.queue.fits(it.size(), limit) {
		if m.Policy == Droppable {
			metrics.Dropped.Add(1)
			return false, nil
		}
		metrics.Overflows.Add(1)
		c.cutLocked(c.group.options.Overflow, c.lastWords(c.group.options.Overflow))
		return false, ErrOverflow
	}
	c.queue.push(it)
	if m.Now && !c.writing && c.socket != nil {
		c.writing = true
		return true, nil
	}
	c.wakeWriter()
	return false, nil
}

// coalesce reports whether m is already taken care of.
func (c *Conn) coalesce(m *Message) bool {
	switch m.Policy {
	case Newest:
		if c.queue.replaceNewest(m.Key) {
			c.group.options.Metrics.Replaced.Add(1)
		}
	case Merge:
		if c.queue.merge(m, c.group.options.Queue) {
			c.group.options.Metrics.Merged.Add(1)
			return true
		}
	}
	return false
}

// SendText queues a text message that must be delivered.
func (c *Conn) SendText(data []byte) error { return c.Send(Message{Kind: Text, Data: data}) }

// SendFrame queues a prepared message that must be delivered.
func (c *Conn) SendFrame(f *Frame) error { return c.Send(Message{Frame: f}) }

// Queued is what waits or is being written.
func (c *Conn) Queued() (frames, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.len(), c.queue.bytes
}

// SetReadLimit changes the limits; the next message is measured with them.
func (c *Conn) SetReadLimit(l ReadLimit) {
	l = l.withDefaults()
	c.limit.Store(&l)
}

// SetDeadline has fn called after d, on a goroutine of its own, unless the connection ends before. A new deadline
// replaces the old; a nil fn removes it.
func (c *Conn) SetDeadline(d time.Duration, fn func(*Conn)) {
	c.mu.Lock()
	c.deadlineAt, c.deadline = 0, fn
	if fn != nil {
		c.deadlineAt = c.group.now() + int64(d)
	}
	due := c.deadlineAt
	c.mu.Unlock()
	if fn != nil {
		c.group.wheel.schedule(c, due)
	}
}

// Idle is how long the peer has sent nothing at all, not even a part of a message.
func (c *Conn) Idle() time.Duration { return time.Duration(c.group.now() - c.heard.Load()) }

// RemoteAddr is the peer of the socket.
func (c *Conn) RemoteAddr() net.Addr { return c.stream.raw.RemoteAddr() }
