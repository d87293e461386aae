package kenny

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	wire "parley.internal/protocol/kenny"
)

// session is one authenticated connection. Its run goroutine owns it; a reader
// and a writer belong to it and end with it.
//
//	reader → requests → handlers → out → writer
type session struct {
	c    *Client
	conn Conn
	out  chan []byte
	done chan struct{} // closed when the session is over
	fail chan error    // failures of reader and writer

	readErr  error // the reader's last word, for after it ended
	accept   sync.Once
	accepted time.Time // written once, before run returns
}

func newSession(c *Client, conn Conn) *session {
	return &session{
		c: c, conn: conn, out: make(chan []byte, wire.QueueFrames),
		done: make(chan struct{}), fail: make(chan error, 2),
	}
}

// run serves until the connection or ctx ends.
func (s *session) run(ctx context.Context) error {
	var workers sync.WaitGroup
	workers.Go(func() {
		s.readErr = s.read(ctx)
		s.fail <- s.readErr
	})
	workers.Go(func() { s.fail <- s.write() })
	err := s.watch(ctx)
	close(s.done)
	if ctx.Err() != nil {
		s.conn.Close(wire.CloseGoingAway, "endpoint stops")
	} else {
		s.conn.Abort()
	}
	workers.Wait()
	err = s.cause(err)
	s.ended(err)
	return err
}

// cause prefers what the reader knows: a connection that ends fails a write in
// flight too, and that failure must not hide the hub's close code.
func (s *session) cause(err error) error {
	if closeCode(s.readErr) != 0 || errors.Is(s.readErr, ErrSilent) {
		return s.readErr
	}
	return err
}

// watch keeps the heartbeat until something ends. The wire has no answer to
// auth: the hub's first message shows that it accepted us, or, should a hub
// have nothing to say, that it has not closed within the handshake's time.
func (s *session) watch(ctx context.Context) error {
	beat := time.NewTicker(wire.PingEvery)
	defer beat.Stop()
	quiet := time.NewTimer(wire.HandshakeWait)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.fail:
			return err
		case <-quiet.C:
			s.established()
		case <-beat.C:
			s.offer(&wire.Ping{})
		}
	}
}

// established opens the session for pushes, once.
func (s *session) established() {
	s.accept.Do(func() {
		s.accepted = time.Now()
		s.c.current.Store(s)
		s.c.cfg.Log.Info("tunnel established", "url", s.c.urls[s.c.at])
		if s.c.cfg.OnConnect != nil {
			s.c.cfg.OnConnect()
		}
	})
}

// ended closes the session for pushes; the workers are gone by now.
func (s *session) ended(err error) {
	if !s.c.current.CompareAndSwap(s, nil) {
		return
	}
	if s.c.cfg.OnDisconnect != nil {
		s.c.cfg.OnDisconnect(err)
	}
}

// held is how long the hub had accepted the session; for after run.
func (s *session) held() time.Duration {
	if s.accepted.IsZero() {
		return 0
	}
	return time.Since(s.accepted)
}

// read takes messages until the hub closes or falls silent. Its waits do not
// end with ctx: a goodbye needs somebody to read the answer.
func (s *session) read(ctx context.Context) error {
	for {
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), wire.SilenceLimit)
		msg, err := s.conn.Read(wait, wire.MaxRequest)
		silent := wait.Err() != nil
		cancel()
		switch {
		case err != nil && silent:
			return fmt.Errorf("%w: %w", ErrSilent, err)
		case err != nil:
			return err
		}
		s.established()
		s.handle(ctx, msg)
	}
}

// handle handles one message. What cannot be understood is dropped.
func (s *session) handle(ctx context.Context, msg Message) {
	if msg.Binary || msg.TooLarge {
		s.c.cfg.Log.Warn("message dropped", "binary", msg.Binary, "too_large", msg.TooLarge)
		return
	}
	frame, err := wire.DecodeFromHub(msg.Data)
	if err != nil {
		s.c.cfg.Log.Warn("frame dropped", "error", err)
		return
	}
	switch f := frame.(type) {
	case *wire.Request:
		s.dispatch(ctx, f)
	case *wire.Policy:
		s.c.cfg.Handler.Policy(f.Rules)
	case *wire.Ping:
		s.offer(&wire.Pong{})
	}
}

// write drains the queue.
func (s *session) write() error {
	for {
		select {
		case data := <-s.out:
			if err := writeData(context.Background(), s.conn, data); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		case <-s.done:
			return nil
		}
	}
}

// offer queues a frame if there is room. A heartbeat that finds none is not
// missed: the frames before it are a sign of life too.
func (s *session) offer(f wire.Frame) {
	if err := s.push(f); err != nil && !errors.Is(err, ErrQueueFull) {
		s.c.cfg.Log.Debug("frame not sent", "type", f.Type(), "error", err)
	}
}

// push queues a frame or says why not.
func (s *session) push(f wire.Frame) error {
	data, err := wire.Encode(f)
	if err != nil {
		return err
	}
	select {
	case <-s.done:
		return ErrNotConnected
	default:
	}
	select {
	case s.out <- data:
		return nil
	default:
		return ErrQueueFull
	}
}

// send queues data as soon as there is room; it gives up with the session.
func (s *session) send(data []byte) error {
	select {
	case s.out <- data:
		return nil
	case <-s.done:
		return ErrNotConnected
	}
}
