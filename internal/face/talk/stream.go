package talk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/trywrite"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

// stream is a length-prefixed connection: the Unix socket's and TCP's.
type stream struct {
	face *Face
	conn net.Conn
	out  *outbox
	// identified says that the client has proven who it is: it may send large frames.
	identified atomic.Bool
	cutting    sync.Once
}

var _ link = (*stream)(nil)

func (s *stream) send(payload []byte, key string, merge bool) {
	if err := s.out.put(item{payload, key, merge}); err != nil {
		s.face.log.Info("a client reads too slowly and is cut", "address", s.conn.RemoteAddr())
		s.abort()
	}
}

func (s *stream) queued() int { return s.out.queued() }

// close ends behind what waits: the writer hangs up.
func (s *stream) close(wsconn.Code, string) { s.out.finish(false) }

// cut ends without what waits. These connections have no close codes.
func (s *stream) cut(wsconn.Code, string) { s.abort() }

func (s *stream) abort() {
	s.cutting.Do(func() {
		s.out.finish(true)
		_ = s.conn.Close()
	})
}

func (s *stream) known() { s.identified.Store(true) }

// serve runs one connection to its end. A nil session has to be earned.
func (f *Face) serve(nc net.Conn, session *identity.Actor) {
	s := &stream{face: f, conn: nc, out: newOutbox(f.limits.Unsent, trywrite.Of(nc))}
	if !f.register(s) {
		_ = nc.Close()
		return
	}
	defer f.unregister(s)
	c := f.newConn(s, nc.RemoteAddr().Network())
	c.open(session)
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := s.out.write(nc, f.limits.Write); err != nil && !errors.Is(err, net.ErrClosed) {
			f.log.Debug("writing to a client", "error", err)
		}
		s.abort() // ends the reading too
	})
	s.read(c)
	c.left()
	s.abort()
	writing.Wait()
}

// read takes frames until there are no more.
func (s *stream) read(c *conn) {
	in := bufio.NewReader(s.conn)
	frames := wire.NewFrameReader(in)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		// The clock runs from the first byte of a frame, not while a client is quiet.
		_ = s.conn.SetReadDeadline(time.Now().Add(s.face.limits.Frame))
		prefix, err := in.Peek(wire.PrefixSize)
		if err != nil || !s.identified.Load() && int64(binary.BigEndian.Uint32(prefix)) > int64(s.face.limits.Unknown) {
			return
		}
		payload, err := frames.Next()
		if err != nil {
			return
		}
		_ = s.conn.SetReadDeadline(time.Time{})
		if !c.receive(payload) {
			return
		}
	}
}

func (f *Face) register(s *stream) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	f.streams[s] = struct{}{}
	return true
}

func (f *Face) unregister(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, s)
}

// accept serves a listener until it is closed. session says who a connection is
// by itself; an error refuses it.
func (f *Face) accept(l net.Listener, session func(net.Conn) (*identity.Actor, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return errors.Join(errStopping, l.Close())
	}
	f.listeners = append(f.listeners, l)
	f.work.Go(func() { f.acceptAll(l, session) })
	return nil
}

func (f *Face) acceptAll(l net.Listener, session func(net.Conn) (*identity.Actor, error)) {
	slots := make(chan struct{}, f.limits.Connections)
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, most likely: let some go
			f.log.Warn("cannot take a connection", "error", err)
			<-time.After(100 * time.Millisecond)
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = nc.Close()
			continue
		}
		f.work.Go(func() {
			defer func() { <-slots }()
			s, err := session(nc)
			if err != nil {
				f.log.Warn("a local connection was refused", "error", err)
				_ = nc.Close()
				return
			}
			f.serve(nc, s)
		})
	}
}
