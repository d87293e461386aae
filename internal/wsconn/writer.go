package wsconn

import (
	"net"
	"sync"
)

const (
	// batchSize is how much is gathered for one system call.
	batchSize = 64 << 10
	// copyLimit is from where a message is written from where it is instead of being gathered.
	copyLimit = 16 << 10
)

// batches are reused; they grow to what a connection's bursts need.
var batches = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// wakeWriter starts the writer unless it runs. Call with the lock held.
func (c *Conn) wakeWriter() {
	if !c.writing && c.state != broken {
		c.writing = true
		go c.write(batches.Get().(*[]byte))
	}
}

// wakeWriterAndWait returns a channel that is closed when the writer has nothing left to do.
func (c *Conn) wakeWriterAndWait() <-chan struct{} {
	c.wakeWriter()
	gone := make(chan struct{})
	if c.writing {
		c.writerGone = gone
	} else {
		close(gone)
	}
	return gone
}

// write is the writer goroutine: it lives while something waits.
func (c *Conn) write(buf *[]byte) {
	for {
		c.mu.Lock()
		c.queue.done()
		c.wroteAt = 0
		out, tail, frames := c.gather(buf)
		if frames == 0 {
			c.writing = false
			gone := c.writerGone
			c.mu.Unlock()
			if gone != nil {
				close(gone)
			}
			batches.Put(buf)
			return
		}
		c.wroteAt = c.group.now()
		c.mu.Unlock()
		if err := c.push(out, tail, frames); err != nil {
			c.writeFailed(err)
		}
	}
}

// push makes one system call where the connection can.
func (c *Conn) push(out, tail []byte, frames int) (err error) {
	if tail == nil {
		_, err = c.stream.raw.Write(out)
	} else {
		_, err = (&net.Buffers{out, tail}).WriteTo(c.stream.raw)
	}
	c.counted(len(out)+len(tail), frames)
	return err
}

// counted is one system call.
func (c *Conn) counted(size, frames int) {
	m := c.group.options.Metrics
	m.Writes.Add(1)
	m.FramesOut.Add(int64(frames))
	m.BytesOut.Add(int64(size))
}

func (c *Conn) writeFailed(err error) {
	c.mu.Lock()
	c.endLocked(Ended{Close: Close{Code: CodeAbnormal}, ByPeer: true, Err: err})
	c.breakLocked()
	c.mu.Unlock()
	c.hangUp()
}

// gather takes what goes into one write: frames encoded one behind the other in batch, and perhaps the rest of a
// large one. A prepared frame alone is not copied at all. Call with the lock held.
func (c *Conn) gather(batch *[]byte) (out, tail []byte, frames int) {
	if c.state == broken {
		return nil, nil, 0
	}
	buf, frames := c.gatherControl((*batch)[:0])
	for c.queue.len() > 0 && len(buf) < batchSize && tail == nil {
		it := *c.queue.front()
		alone := len(buf) == 0 && c.queue.len() == 1
		c.queue.dropFront()
		frames++
		switch {
		case it.wire != nil && (alone || len(buf) == 0 && len(it.wire) > copyLimit):
			return it.wire, nil, frames
		case len(it.wire) > copyLimit:
			tail = it.wire
		case it.wire != nil:
			buf = append(buf, it.wire...)
		case len(it.data) > copyLimit:
			buf, tail = appendHeader(buf, byte(it.kind), len(it.data)), it.data
		default:
			buf = appendFrame(buf, byte(it.kind), it.data)
		}
	}
	if c.state == closing && !c.closeSent && c.queue.len() == 0 && tail == nil {
		buf = appendFrame(buf, opClose, c.ended.payload())
		c.closeSent = true
		frames++
	}
	*batch = buf
	return buf, tail, frames
}

// gatherControl lets heartbeats pass what waits.
func (c *Conn) gatherControl(buf []byte) ([]byte, int) {
	frames := 0
	if c.closeSent {
		c.pongDue, c.pingDue = false, false
	}
	if c.pongDue {
		buf = appendFrame(buf, opPong, c.pong)
		c.pong, c.pongDue = nil, false
		frames++
	}
	if c.pingDue {
		buf = appendFrame(buf, opPing, nil)
		c.pingDue = false
		frames++
	}
	return buf, frames
}

func (c *Conn) sendPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pingDue = true
	c.wakeWriter()
}

func (c *Conn) sendPong(payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pong, c.pongDue = payload, true
	c.wakeWriter()
}
