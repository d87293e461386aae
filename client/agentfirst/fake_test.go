package agentfirst_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer runs one handler per connection, in memory.
type fakeServer struct {
	handle func(*fakeConn)
	down   func() bool // refuses connections while true

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []*fakeConn
}

// fakeConn is the server's end of a connection.
type fakeConn struct {
	net.Conn
	n      int // which connection this is, from 1
	frames *wire.FrameReader
}

func (s *fakeServer) dial(context.Context, string, string) (net.Conn, error) {
	if s.down != nil && s.down() {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	s.mu.Lock()
	conn := &fakeConn{Conn: ours, n: len(s.conns) + 1, frames: wire.NewFrameReader(ours)}
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	s.wg.Go(func() {
		defer conn.Close()
		s.handle(conn)
	})
	return theirs, nil
}

func (s *fakeServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *fakeServer) stop() {
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// recv returns the next request; nil when the client has gone.
func (c *fakeConn) recv() *wire.ClientMessage {
	payload, err := c.frames.Next()
	if err != nil {
		return nil
	}
	m, err := wire.UnmarshalClient(payload)
	if err != nil {
		return nil
	}
	return m
}

// send answers a request. A client that has gone is not the server's business.
func (c *fakeConn) send(to *wire.ClientMessage, answer *wire.ServerMessage) {
	_ = wire.WriteFrame(c, &wire.ServerMessage{RequestId: to.GetRequestId(), Message: answer.GetMessage()})
}

func (c *fakeConn) event(to *wire.ClientMessage, e *wire.StreamEvent) {
	c.send(to, &wire.ServerMessage{Message: &wire.ServerMessage_Stream{Stream: e}})
}

// hello answers the first message as an extended server does.
func (c *fakeConn) hello() bool {
	m := c.recv()
	if m.GetHello() == nil {
		return false
	}
	c.send(m, helloReply())
	return true
}

// refuseHello answers as the original server does.
func (c *fakeConn) refuseHello() { c.send(c.recv(), wire.NewError(400, "unknown message")) }

func helloReply() *wire.ServerMessage {
	return &wire.ServerMessage{Message: &wire.ServerMessage_Hello{Hello: &wire.HelloReply{Version: 1, Hub: "test", Sender: "user"}}}
}

func pong() *wire.ServerMessage {
	return &wire.ServerMessage{Message: &wire.ServerMessage_Pong{Pong: &wire.Pong{}}}
}

func start(agent, run string) *wire.StreamEvent {
	return &wire.StreamEvent{Event: &wire.StreamEvent_Start{Start: &wire.StreamStart{Agent: agent, RunId: run}}}
}

func chunk(text string) *wire.StreamEvent {
	return &wire.StreamEvent{Event: &wire.StreamEvent_Chunk{Chunk: &wire.StreamChunk{Content: text}}}
}

func end(agent, err string) *wire.StreamEvent {
	return &wire.StreamEvent{Event: &wire.StreamEvent_End{End: &wire.StreamEnd{Agent: agent, Error: err}}}
}

// dialFake connects a client to a fake server; both end with the test.
func dialFake(t *testing.T, s *fakeServer, opts client.Options) *client.Client {
	t.Helper()
	opts.DialContext = s.dial
	c, err := client.Dial(t.Context(), "unix:///fake", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		s.stop()
	})
	return c
}
