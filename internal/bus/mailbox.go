package bus

import (
	"sync"

	"parley.internal/internal/wake"
)

// Limits bounds what may wait for one subscription.
type Limits struct {
	// Messages and Bytes are the most that may wait; 0 takes the default.
	Messages, Bytes int
}

const (
	// defaultMessages rides out a garbage collection or a slow disk write at ten thousand messages a second.
	defaultMessages = 4096
	// defaultBytes keeps a stuck subscriber of large messages from taking the hub's memory.
	defaultBytes = 16 << 20
	// keepRing is the most slots an empty mailbox keeps, so that idle subscriptions stay small.
	keepRing = 32
)

func (l Limits) withDefaults() Limits {
	if l.Messages <= 0 {
		l.Messages = defaultMessages
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	return l
}

// mailbox is the bounded queue of one subscription. It has a goroutine only while something waits:
// thousands of idle subscriptions cost no stacks.
type mailbox struct {
	fn      func(Msg)
	limits  Limits
	running *sync.WaitGroup // of the bus: drains in progress
	lagged  wake.Bell

	mu       sync.Mutex
	ring     []Msg
	head, n  int
	bytes    int
	draining bool
	closed   bool
}

func newMailbox(fn func(Msg), limits Limits, running *sync.WaitGroup) *mailbox {
	return &mailbox{fn: fn, limits: limits, running: running, lagged: wake.New()}
}

// push never blocks. It reports whether the mailbox took the message.
func (b *mailbox) push(m Msg) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	for b.n > 0 && (b.n >= b.limits.Messages || b.bytes+len(m.Data) > b.limits.Bytes) {
		b.pop()
		b.lag()
	}
	if b.n == len(b.ring) {
		b.grow()
	}
	b.ring[(b.head+b.n)&(len(b.ring)-1)] = m
	b.n++
	b.bytes += len(m.Data)
	start := !b.draining
	if start {
		b.draining = true
		b.running.Add(1)
	}
	b.mu.Unlock()
	if start {
		go b.drain()
	}
	return true
}

// grow doubles the ring; its length stays a power of two.
func (b *mailbox) grow() {
	ring := make([]Msg, max(4, 2*len(b.ring)))
	for i := range b.n {
		ring[i] = b.ring[(b.head+i)&(len(b.ring)-1)]
	}
	b.ring, b.head = ring, 0
}

func (b *mailbox) pop() Msg {
	m := b.ring[b.head]
	b.ring[b.head] = Msg{}
	b.head = (b.head + 1) & (len(b.ring) - 1)
	b.n--
	b.bytes -= len(m.Data)
	return m
}

func (b *mailbox) drain() {
	defer b.running.Done()
	for {
		b.mu.Lock()
		if b.closed || b.n == 0 {
			b.draining = false
			if len(b.ring) > keepRing {
				b.ring, b.head = nil, 0
			}
			b.mu.Unlock()
			return
		}
		m := b.pop()
		b.mu.Unlock()
		b.fn(m)
	}
}

// lag signals that something was missed; one unread signal is enough.
func (b *mailbox) lag() {
	b.lagged.Ring()
}

// close forgets what waits. No handler call starts afterwards.
func (b *mailbox) close() {
	b.mu.Lock()
	b.closed = true
	b.ring, b.head, b.n, b.bytes = nil, 0, 0, 0
	b.mu.Unlock()
}
