package talk

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"parley.internal/internal/wake"
)

const (
	// maxMerged keeps merging cheap: each join copies, so a long run becomes a few
	// messages of this size.
	maxMerged = 32 << 10
	// lookBack is how many waiting messages are looked at for one to join.
	lookBack = 64
	// batch is how much goes out in one write.
	batch = 256 << 10
	// atOnce is what may be written where it is put: a copy of it is kept.
	atOnce = 4 << 10
)

var errTooSlow = errors.New("too slow")

// outbox is what waits for the reader of a length-prefixed connection. Putting
// never blocks. What nothing waits before is written where it is put, in one system
// call that takes what the socket takes at once; a goroutine writes the rest.
type outbox struct {
	limit  int
	direct writer // nil where there is no such call

	mu      sync.Mutex
	items   []item
	bytes   int    // waiting and being written
	frame   []byte // room for what is written at once
	rest    []byte // of it, what the socket did not take
	owed    int    // the payload that rest is of
	writing bool   // the goroutine is about to write
	ending  bool   // nothing more is taken
	wake    wake.Bell
}

// writer writes as much as goes without waiting.
type writer interface {
	Write(b []byte) (n int, err error)
}

type item struct {
	payload []byte
	key     string
	merge   bool
}

func newOutbox(limit int, direct writer) *outbox {
	return &outbox{limit: limit, direct: direct, wake: wake.New()}
}

// put adds a message. It returns errTooSlow when too much waits already.
func (o *outbox) put(it item) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ending:
		return nil
	case o.direct != nil && !o.writing && len(o.items) == 0 && len(it.payload) <= atOnce:
		if o.writeNow(it.payload) {
			return nil
		}
	case it.merge && o.join(it):
	case o.bytes > o.limit:
		o.items, o.ending = nil, true
		return errTooSlow
	default:
		o.items = append(o.items, it)
		o.bytes += len(it.payload)
	}
	o.wake.Ring()
	return nil
}

// writeNow writes a message with the lock held. What the socket did not take, or
// why, is for the goroutine to find out.
func (o *outbox) writeNow(payload []byte) (all bool) {
	o.frame = append(binary.BigEndian.AppendUint32(o.frame[:0], uint32(len(payload))), payload...)
	n, err := o.direct.Write(o.frame)
	if err == nil && n == len(o.frame) {
		return true
	}
	o.rest, o.owed, o.writing = o.frame[n:], len(payload), true
	o.bytes += len(payload)
	return false
}

// join adds a piece of text to the last waiting message of its stream.
func (o *outbox) join(it item) bool {
	for i := len(o.items) - 1; i >= max(0, len(o.items)-lookBack); i-- {
		last := &o.items[i]
		if last.key != it.key {
			continue
		}
		if !last.merge || len(last.payload)+len(it.payload) > maxMerged {
			return false
		}
		joined, ok := join(last.payload, it.payload)
		if ok {
			o.bytes += len(joined) - len(last.payload)
			last.payload = joined
		}
		return ok
	}
	return false
}

func (o *outbox) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// finish takes nothing more; what waits is still written, unless dropped.
func (o *outbox) finish(drop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	if drop {
		o.items, o.rest = nil, nil
	}
	o.wake.Ring()
}

// fill fills buf with frames; more is false when nothing will come any more.
func (o *outbox) fill(buf []byte) (frames []byte, payload int, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) > 0 {
		buf, o.rest = append(buf, o.rest...), nil
		return buf, o.owed, true
	}
	n := 0
	for n < len(o.items) && (n == 0 || len(buf)+len(o.items[n].payload) <= batch) {
		p := o.items[n].payload
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(p)))
		buf = append(buf, p...)
		payload += len(p)
		n++
	}
	clear(o.items[:n])
	if o.items = o.items[n:]; len(o.items) == 0 {
		o.items = nil
	}
	o.writing = n > 0
	return buf, payload, n > 0 || !o.ending
}

func (o *outbox) written(payload int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= payload
}

// write writes until the outbox is finished and empty, or the peer takes nothing
// for the given time.
func (o *outbox) write(c net.Conn, patience time.Duration) error {
	var buf []byte
	for {
		frames, payload, more := o.fill(buf[:0])
		if len(frames) == 0 {
			if !more {
				return nil
			}
			<-o.wake
			continue
		}
		if err := writeAll(c, frames, patience); err != nil {
			o.finish(true)
			return err
		}
		o.written(payload)
		if cap(frames) <= batch {
			buf = frames
		} else {
			buf = nil // a rare large answer must not keep its memory
		}
	}
}

// writeAll gives the peer patience anew for every part it takes.
func writeAll(c net.Conn, b []byte, patience time.Duration) error {
	for len(b) > 0 {
		part := b[:min(len(b), 64<<10)]
		if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := c.Write(part)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	// Or what is written at once later would be too late.
	return c.SetWriteDeadline(time.Time{})
}
