package agentfirst_test

import (
	"errors"
	"io"
	"testing"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func TestDialSaysHello(t *testing.T) {
	got := make(chan *wire.ClientMessage, 1)
	s := &fakeServer{handle: func(c *fakeConn) {
		m := c.recv()
		got <- m
		c.send(m, helloReply())
		c.recv()
	}}
	c := dialFake(t, s, client.Options{Token: "prl_x", Client: "tester"})
	m := <-got
	h := m.GetHello()
	if h.GetVersion() != 1 || h.GetToken() != "prl_x" || h.GetClient() != "tester" || m.GetRequestId() != 0 {
		t.Errorf("hello: %v", m)
	}
	if !c.Extended() || c.Hub().GetHub() != "test" {
		t.Errorf("extended %v, hub %v", c.Extended(), c.Hub())
	}
}

func TestAServerThatRefusesHelloIsSpokenToPlainly(t *testing.T) {
	seen := make(chan *wire.ClientMessage, 16)
	s := &fakeServer{handle: func(c *fakeConn) {
		c.refuseHello()
		for m := c.recv(); m != nil; m = c.recv() {
			seen <- m
			c.send(m, pong())
		}
	}}
	c := dialFake(t, s, client.Options{})
	if c.Extended() || c.Hub() != nil {
		t.Fatal("the client thinks the server is extended")
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"cancel":  c.Cancel(t.Context(), &wire.Cancel{Agent: "a"}),
		"title":   c.SetTitle(t.Context(), "conversation:x", "t"),
		"thread":  c.Kill(t.Context(), &wire.Kill{Agent: "a", Thread: "side"}),
		"export":  c.Export(t.Context(), "conversation:x", io.Discard),
		"attach":  firstError(c.Attach(t.Context(), &wire.Attach{Agent: "a"})),
		"stream":  firstError(c.Stream(t.Context(), &wire.Turn{Agent: "a", Thread: "side"})),
		"archive": second(c.GetArchive(t.Context(), &wire.GetArchive{Id: "x"})),
	} {
		if !errors.Is(err, client.ErrPlain) {
			t.Errorf("%s: %v; want client.ErrPlain", name, err)
		}
	}
	if err := c.Kill(t.Context(), &wire.Kill{Agent: "a"}); err != nil {
		t.Error(err)
	}
	if s.count() != 1 || len(seen) != 2 {
		t.Errorf("%d connections, %d requests", s.count(), len(seen))
	}
	for range 2 {
		m := <-seen
		if number, known := wire.ClientVariant(m); !known || number >= 200 || m.GetRequestId() != 0 {
			t.Errorf("a plain server was sent %v", m)
		}
	}
}

func firstError[T any](seq func(yield func(T, error) bool)) (err error) {
	for _, e := range seq {
		if e != nil {
			return e
		}
	}
	return nil
}

func second[T any](_ T, err error) error { return err }

func TestARefusedTokenIsATypedError(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) { c.send(c.recv(), wire.NewError(401, "bad token")) }}
	defer s.stop()
	_, err := client.Dial(t.Context(), "unix:///fake", client.Options{DialContext: s.dial})
	var answer *client.ServerError
	if !errors.Is(err, client.ErrUnauthenticated) || !errors.As(err, &answer) || answer.Message != "bad token" {
		t.Error(err)
	}
	if errors.Is(err, client.ErrNotFound) {
		t.Error("401 is not 404")
	}
}

func TestBadTargets(t *testing.T) {
	for _, target := range []string{"", "parley.sock", "http://x", "unix://", "tcp://", "ws://\x00", "unix:///nowhere/at/all.sock"} {
		if c, err := client.Dial(t.Context(), target, client.Options{}); err == nil {
			c.Close()
			t.Errorf("%q: no error", target)
		}
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	streaming := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		m := c.recv()
		c.event(m, start("a", "r"))
		close(streaming)
		for c.recv() != nil {
		}
	}}
	c := dialFake(t, s, client.Options{})
	got := make(chan error)
	go func() { got <- firstError(c.Stream(t.Context(), &wire.Turn{Agent: "a"})) }()
	<-streaming
	c.Close()
	if err := <-got; !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
}

func TestAVanishedServerFailsRequestsAndTheNextOneDialsAgain(t *testing.T) {
	for name, vanish := range map[string]func(*fakeConn){
		"closes":            func(*fakeConn) {},
		"half a prefix":     func(c *fakeConn) { c.Write([]byte{0, 0}) },
		"half a frame":      func(c *fakeConn) { c.Write([]byte{0, 0, 0, 9, 'x'}) },
		"too large a frame": func(c *fakeConn) { c.Write([]byte{1, 0, 0, 1}) },
		"garbage":           func(c *fakeConn) { c.Write([]byte{0, 0, 0, 1, 0xff}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeServer{handle: func(c *fakeConn) {
				c.hello()
				m := c.recv()
				if c.n == 1 {
					c.event(m, start("a", "r"))
					vanish(c)
					return
				}
				c.send(m, pong())
				c.recv()
			}}
			c := dialFake(t, s, client.Options{})
			if err := firstError(c.Stream(t.Context(), &wire.Turn{Agent: "a"})); !errors.Is(err, client.ErrConnectionLost) {
				t.Errorf("stream: %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
			if s.count() != 2 {
				t.Errorf("%d connections", s.count())
			}
		})
	}
}

func TestTheLastWordsOfAServerAreTheReason(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		c.recv()
		c.send(nil, wire.NewError(401, "token revoked"))
	}}
	c := dialFake(t, s, client.Options{})
	err := c.Ping(t.Context())
	if !errors.Is(err, client.ErrConnectionLost) || !errors.Is(err, client.ErrUnauthenticated) {
		t.Error(err)
	}
}

func TestAMessageThatCannotBeEncodedHarmsNothing(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
			c.send(m, pong())
		}
	}}
	c := dialFake(t, s, client.Options{})
	if _, err := c.Send(t.Context(), &wire.Turn{Agent: "a", Content: "\xff"}); err == nil || errors.Is(err, client.ErrConnectionLost) {
		t.Error(err)
	}
	if _, err := c.Send(t.Context(), &wire.Turn{Agent: "a", Content: string(make([]byte, wire.MaxPayload))}); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); err != nil || s.count() != 1 {
		t.Error(err, s.count())
	}
}
