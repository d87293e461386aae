package kenny

import (
	"context"
	"errors"
	"sync"
	"testing"

	wire "parley.internal/protocol/kenny"
)

// fakeConn is a transport in memory, so that tests can use fake time. The test
// plays the hub on the other side.
type fakeConn struct {
	toMachine chan Message
	toHub     chan []byte
	over      chan struct{}
	once      sync.Once
	err       error // what Read gives once it is over
	goodbye   wire.CloseCode
}

func newFakeConn() *fakeConn {
	return &fakeConn{toMachine: make(chan Message), toHub: make(chan []byte), over: make(chan struct{})}
}

func (f *fakeConn) end(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.over)
	})
}

func (f *fakeConn) Read(ctx context.Context, limit int) (Message, error) {
	select {
	case m := <-f.toMachine:
		if len(m.Data) > limit {
			return Message{TooLarge: true}, nil
		}
		return m, nil
	case <-f.over:
		return Message{}, f.err
	case <-ctx.Done():
		f.end(ctx.Err())
		return Message{}, ctx.Err()
	}
}

func (f *fakeConn) Write(ctx context.Context, data []byte) error {
	select {
	case f.toHub <- data:
		return nil
	case <-f.over:
		return errors.New("connection is over")
	case <-ctx.Done():
		f.end(ctx.Err())
		return ctx.Err()
	}
}

func (f *fakeConn) Close(code wire.CloseCode, _ string) {
	f.goodbye = code
	f.end(errors.New("closed here"))
}

func (f *fakeConn) Abort() { f.end(errors.New("aborted here")) }

// The hub's side.

func (f *fakeConn) hear(t *testing.T) wire.Frame {
	t.Helper()
	select {
	case data := <-f.toHub:
		return decode(t, data)
	case <-f.over:
		t.Fatalf("the machine left: %v", f.err)
		return nil
	}
}

func (f *fakeConn) say(t *testing.T, frame wire.Frame) {
	t.Helper()
	select {
	case f.toMachine <- Message{Data: encode(t, frame)}:
	case <-f.over:
		t.Fatalf("the machine left: %v", f.err)
	}
}

func (f *fakeConn) hangUp(code wire.CloseCode) { f.end(&Closed{Code: code}) }

// welcome plays the handshake up to auth, and verifies the machine.
func (f *fakeConn) welcome(t *testing.T) {
	t.Helper()
	challenge, transcript := challengeFor(t, <-f.toHub, hubKey)
	f.say(t, challenge)
	auth, ok := f.hear(t).(*wire.Auth)
	if !ok || wire.Verify(transcript, auth.AgentSig, public(machineKey)) != nil {
		t.Fatal("the machine did not prove itself")
	}
}

// fakeHub hands a connection to the test for every dial.
type fakeHub struct{ dials chan *fakeConn }

func newFakeHub() *fakeHub { return &fakeHub{dials: make(chan *fakeConn)} }

func (h *fakeHub) dial(ctx context.Context, _ string) (Conn, error) {
	c := newFakeConn()
	select {
	case h.dials <- c:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open accepts the next dial and finishes its handshake with a policy.
func (h *fakeHub) open(t *testing.T) *fakeConn {
	t.Helper()
	c := <-h.dials
	c.welcome(t)
	c.say(t, &wire.Policy{})
	return c
}
