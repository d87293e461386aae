package wsconn

// A message that nobody waits before (Message.Now, Conn.Answer) is written on the
// goroutine that sends it: one system call that never waits, in place of a
// goroutine that is made, found a processor and thrown away. What the socket does
// not take at once goes the usual way.

// writeNow sends what waits, as far as it goes at once. The caller has made itself
// the writer.
func (c *Conn) writeNow() {
	buf := batches.Get().(*[]byte)
	c.mu.Lock()
	out, tail, frames := c.gather(buf)
	c.wroteAt = c.group.now()
	c.mu.Unlock()
	n, err := 0, error(nil)
	if frames > 0 { // else it ended meanwhile
		n, err = c.socket.Write(out)
	}
	if err != nil {
		c.writeFailed(err)
	}
	if err == nil && (n < len(out) || tail != nil) {
		c.counted(n, 0)
		go c.writeOn(buf, out[n:], tail, frames)
		return
	}
	c.counted(n, frames)
	if !c.rest() {
		batches.Put(buf)
		return
	}
	go c.write(buf)
}

// writeOn goes on where an attempt ended.
func (c *Conn) writeOn(buf *[]byte, out, tail []byte, frames int) {
	if err := c.push(out, tail, frames); err != nil {
		c.writeFailed(err)
	}
	c.write(buf)
}

// rest says that everything taken was written. Without more to do the writer is
// gone.
func (c *Conn) rest() (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.done()
	c.wroteAt = 0
	if c.state != broken && (c.queue.len() > 0 || c.pongDue || c.pingDue || c.state == closing && !c.closeSent) {
		return true
	}
	c.writing = false
	if c.writerGone != nil {
		close(c.writerGone)
		c.writerGone = nil
	}
	return false
}

// Answer is Send for a handler, during its call: what answers a message that
// nothing follows is written at once.
func (c *Conn) Answer(m Message) error {
	m.Now = c.stream.r == c.stream.w
	return c.Send(m)
}
