package wsconn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"

	"github.com/lxzan/gws"
)

// read is the reading goroutine: gws calls events, until the connection ends.
func (c *Conn) read(ws *gws.Conn) {
	defer c.group.running.Done()
	c.guard(ws.ReadLoop)
	c.finish(c.group.events.how(c))
}

// events is what gws calls; the connection is found through the stream gws reads from.
type events struct{ gws.BuiltinEventHandler }

func connOf(ws *gws.Conn) *Conn { return ws.NetConn().(*stream).conn }

// OnPing answers; gws' own answer would go around the queue.
func (events) OnPing(ws *gws.Conn, payload []byte) { connOf(ws).sendPong(payload) }

// OnMessage delivers one message.
func (events) OnMessage(ws *gws.Conn, m *gws.Message) {
	c := connOf(ws)
	defer m.Close()
	c.begun.Store(0)
	c.busy.Store(true)
	c.receive(Kind(m.Opcode), m.Bytes())
	c.busy.Store(false)
}

// OnClose keeps why reading ended.
func (events) OnClose(ws *gws.Conn, err error) { connOf(ws).stream.readErr = err }

func (c *Conn) receive(kind Kind, data []byte) {
	defer c.recovered()
	oversized := c.stream.oversized
	c.stream.oversized = false
	if c.isEnding() {
		return
	}
	o := &c.group.options
	switch {
	case kind == Text && o.RefuseText:
		c.closeOwn(Close{CodeUnsupported, "text message"})
	case kind == Binary && o.RefuseBinary:
		c.closeOwn(Close{CodeUnsupported, "binary message"})
	case oversized:
		if h, ok := c.handler.(OversizeHandler); ok {
			h.Oversize(c, kind, data, c.stream.size)
		}
	case kind == Text && !utf8.Valid(data):
		c.closeOwn(Close{CodeInvalid, "invalid UTF-8"})
	default:
		c.deliver(kind, data)
	}
}

func (c *Conn) deliver(kind Kind, data []byte) {
	o := &c.group.options
	if o.Admit != nil {
		if err := o.Admit(c, kind, len(data)); err != nil {
			o.Metrics.Refused.Add(1)
			if why, ok := errors.AsType[Close](err); ok {
				c.closeOwn(why)
			}
			return
		}
	}
	o.Metrics.MessagesIn.Add(1)
	o.Metrics.BytesIn.Add(int64(len(data)))
	c.handler.Message(c, kind, data)
}

func (c *Conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state != open
}

// recovered, deferred, keeps a panic from taking the hub down: it ends this connection only.
func (c *Conn) recovered() {
	p := recover()
	if p == nil {
		return
	}
	c.group.options.Metrics.Panics.Add(1)
	c.group.options.Log.Error("wsconn: handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	c.closeOwn(Close{CodeInternal, "internal error"})
}

// guard runs f and survives its panic.
func (c *Conn) guard(f func()) {
	defer c.recovered()
	f()
}

// how tells why reading ended, and whether the socket can still be read.
func (events) how(c *Conn) (how Ended, readable bool) {
	s := &c.stream
	if s.refused != nil {
		return Ended{Close: *s.refused}, true
	}
	if peer, ok := errors.AsType[*gws.CloseError](s.readErr); ok {
		return peerClose(peer)
	}
	if why, ok := violation(s.closeNote); ok {
		return Ended{Close: why}, true
	}
	return Ended{Close: Close{Code: CodeAbnormal}, ByPeer: true, Err: s.readErr}, false
}

func peerClose(e *gws.CloseError) (how Ended, readable bool) {
	why := Close{Code: Code(e.Code), Reason: string(e.Reason)}
	switch {
	case e.Code == 0:
		return Ended{Close: Close{Code: CodeNone}, ByPeer: true}, false
	case !why.Code.Sendable():
		return Ended{Close: Close{CodeProtocol, "bad close code"}}, true
	case !utf8.ValidString(why.Reason):
		return Ended{Close: Close{CodeInvalid, "invalid UTF-8"}}, true
	}
	return Ended{Close: why, ByPeer: true}, false
}

// violation reads the close frame gws wanted to send for a bad frame. For a broken connection it would say 1000.
func violation(note []byte) (Close, bool) {
	if len(note) < 2 {
		return Close{}, false
	}
	switch code := Code(binary.BigEndian.Uint16(note)); code {
	case CodeProtocol:
		return Close{code, "bad frame"}, true
	case CodeInvalid, CodeTooLarge, CodeInternal:
		return Close{code, ""}, true
	}
	return Close{}, false
}
