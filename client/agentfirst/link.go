package agentfirst

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	wire "parley.internal/protocol/agentfirst"
)

// link is one connection: a reader goroutine that gives each frame to the call
// it answers. On an extended link calls are told apart by request id; on a plain
// one there is a single call at a time, under id 0.
type link struct {
	t    transport
	opts Options
	// own says that the link serves one request only, so that its consumer may
	// hold the reader up.
	own   bool
	hello *wire.HelloReply // nil on a plain link

	writing sync.Mutex // held while a frame goes out

	mu      sync.Mutex // guards the rest; never held while waiting
	calls   map[uint64]*call
	lastID  uint64
	lastErr error // an error frame that answers no request
	err     error // why the link is dead

	dead chan struct{} // closed with err set
	wg   sync.WaitGroup
}

func newLink(t transport, opts Options, own bool) *link {
	l := &link{t: t, opts: opts, own: own, calls: make(map[uint64]*call), dead: make(chan struct{})}
	l.wg.Go(l.read)
	return l
}

// extended reports whether the server has answered hello.
func (l *link) extended() bool { return l.hello != nil }

// greet says hello. A 400 is the original server's answer: the link stays plain.
func (l *link) greet(ctx context.Context) error {
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Hello{Hello: &wire.Hello{
		Version: wire.HelloVersion, Token: l.opts.Token, Client: l.opts.Client,
	}}}
	m, err := l.ask(ctx, req)
	switch {
	case errors.Is(err, ErrBadRequest):
		return nil
	case err != nil:
		return fmt.Errorf("hello: %w", err)
	case m.GetHello() == nil:
		return fmt.Errorf("hello: %w", ErrUnexpectedAnswer)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hello = m.GetHello()
	return nil
}

// ask sends a request with a single answer.
func (l *link) ask(ctx context.Context, req *wire.ClientMessage) (*wire.ServerMessage, error) {
	c := &call{last: anyAnswer}
	if err := l.start(c, req); err != nil {
		return nil, err
	}
	defer c.leave()
	return c.next(ctx)
}

func anyAnswer(*wire.ServerMessage) bool { return true }

// start sends a request, whose answer goes to c.
func (l *link) start(c *call, req *wire.ClientMessage) error {
	c.link = l
	c.q = newQueue(l.opts.MaxBuffered, l.own || !l.extended())
	if err := l.register(c); err != nil {
		return err
	}
	if err := l.send(c.id, req); err != nil {
		l.forget(c)
		return err
	}
	return nil
}

func (l *link) register(c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if l.hello != nil {
		l.lastID++
		c.id = l.lastID
	}
	l.calls[c.id] = c
	return nil
}

func (l *link) forget(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.id)
}

// send writes one frame. A failed write leaves half a frame behind, so it ends
// the link; a message that cannot be encoded does not.
func (l *link) send(id uint64, req *wire.ClientMessage) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.t.Write(&wire.ClientMessage{RequestId: id, Message: req.GetMessage()})
	if _, ok := errors.AsType[writeError](err); ok {
		l.fail(err)
		return l.reason()
	}
	return err
}

// background sends a request whose answer interests nobody.
func (l *link) background(req *wire.ClientMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.lastID++
	id := l.lastID
	l.wg.Go(func() { _ = l.send(id, req) }) // a failed write has ended the link, which says it all
}

func (l *link) read() {
	for {
		payload, err := l.t.Read()
		if err != nil {
			l.fail(err)
			return
		}
		m, err := wire.UnmarshalServer(payload)
		if err != nil {
			l.fail(err)
			return
		}
		l.deliver(m, len(payload))
	}
}

func (l *link) deliver(m *wire.ServerMessage, size int) {
	l.mu.Lock()
	c := l.calls[m.GetRequestId()]
	if c == nil {
		if err := errorIn(m); err != nil && m.GetRequestId() == 0 {
			l.lastErr = err
		}
		l.mu.Unlock()
		return
	}
	done := m.GetError() != nil || c.last(m)
	if done {
		delete(l.calls, c.id)
	}
	l.mu.Unlock()
	c.receive(m, size, done)
}

// fail ends the link, once, and everything that waits on it.
func (l *link) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if errors.Is(cause, io.EOF) {
		cause = errors.New("the server closed it")
	}
	if l.lastErr != nil {
		cause = l.lastErr
	}
	l.err = cause
	if !errors.Is(cause, ErrClosed) {
		l.err = fmt.Errorf("%w: %w", ErrConnectionLost, cause)
	}
	close(l.dead)
	l.t.Close()
	for _, c := range l.calls {
		c.q.finish(l.err)
	}
	clear(l.calls)
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *link) alive() bool { return l.reason() == nil }

// close ends the link and waits for its goroutines.
func (l *link) close() {
	l.fail(ErrClosed)
	l.wg.Wait()
}
