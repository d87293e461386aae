package agentfirst_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

// echo answers a stream with its own words, and everything else with pong.
func echo(m *wire.ClientMessage, send func(*wire.ServerMessage)) {
	answer := func(s *wire.ServerMessage) {
		send(&wire.ServerMessage{RequestId: m.GetRequestId(), Message: s.GetMessage()})
	}
	event := func(e *wire.StreamEvent) { answer(&wire.ServerMessage{Message: &wire.ServerMessage_Stream{Stream: e}}) }
	switch {
	case m.GetHello() != nil:
		answer(helloReply())
	case m.GetStream() != nil:
		event(start("a", "r"))
		for word := range strings.SplitAfterSeq(m.GetStream().GetContent(), " ") {
			event(chunk(word))
		}
		event(end("a", ""))
	default:
		answer(pong())
	}
}

// listen serves echo on a listener until the test ends.
func listen(t *testing.T, network, address string) net.Addr {
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				c := &fakeConn{Conn: conn, frames: wire.NewFrameReader(conn)}
				for m := c.recv(); m != nil; m = c.recv() {
					echo(m, func(s *wire.ServerMessage) { _ = wire.WriteFrame(conn, s) })
				}
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return ln.Addr()
}

func webSocketServer(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(wire.MaxPayload)
		for {
			_, payload, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			m, _ := wire.UnmarshalClient(payload)
			switch {
			case m.GetReload() != nil:
				conn.Close(wire.CloseUnauthenticated, "revoked")
			case m.GetGetStats() != nil:
				conn.Write(r.Context(), websocket.MessageText, []byte("{}"))
			default:
				echo(m, func(s *wire.ServerMessage) {
					b, _ := wire.Marshal(s)
					conn.Write(r.Context(), websocket.MessageBinary, b)
				})
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestOneTurnGivesTheSameOnEveryTransport(t *testing.T) {
	ws := "ws" + strings.TrimPrefix(webSocketServer(t).URL, "http") + "/talk/ws"
	sock := filepath.Join(t.TempDir(), "parley.sock")
	for name, target := range map[string]string{
		"unix": "unix://" + listen(t, "unix", sock).String(),
		"tcp":  "tcp://" + listen(t, "tcp", "127.0.0.1:0").String(),
		"ws":   ws,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := client.Dial(t.Context(), target, client.Options{Token: "good"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			content := strings.Repeat("over and out ", 5_000)
			if got := text(t, c, &wire.Turn{Agent: "a", Content: content}); got != content {
				t.Errorf("%d of %d bytes", len(got), len(content))
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWebSocketRefusalIsATypedError(t *testing.T) {
	target := "ws" + strings.TrimPrefix(webSocketServer(t).URL, "http")
	if _, err := client.Dial(t.Context(), target, client.Options{Token: "bad"}); !errors.Is(err, client.ErrUnauthenticated) {
		t.Errorf("handshake: %v", err)
	}
	c, err := client.Dial(t.Context(), target, client.Options{Token: "good"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Reload(t.Context()); !errors.Is(err, client.ErrUnauthenticated) || !errors.Is(err, client.ErrConnectionLost) {
		t.Errorf("close code: %v", err)
	}
	if _, err := c.GetStats(t.Context()); !errors.Is(err, client.ErrConnectionLost) {
		t.Errorf("text frame: %v", err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}
