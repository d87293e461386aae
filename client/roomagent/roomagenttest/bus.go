// Package roomagenttest is a room in memory for tests of agents: the rules are those
// of a real hub, and no port is opened.
//
//	bus := roomagenttest.New(t, `{"humans":{"mode":"open"},"agents":{"mode":"open"}}`)
//	ann := bus.Join(t, roomagent.DialOptions{Name: "Ann", Person: true})
//	bot := roomagent.New(bus.Join(t, roomagent.DialOptions{Name: "Bot"}))
//
// Whoever joins has a connection of its own and is refused what a real room would
// refuse it. Everything ends with the test.
package roomagenttest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/client/roomagent"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
)

// Room is the id of the one room.
const Room = "table"

// Bus is a room that agents join in memory.
type Bus struct {
	// Token is an operator's: who joins with it is a host.
	Token  string
	client *http.Client
}

// origin is what connections think they have dialled.
const origin = "http://127.0.0.1"

// New opens a room with a policy, a JSON document.
func New(t testing.TB, policy string) *Bus {
	t.Helper()
	dir := t.TempDir() + "/data"
	conf, err := config.Load(config.Sources{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Open(t.Context(), conf, hub.Options{Version: "test", Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	ears := &listener{dialled: make(chan net.Conn), quit: make(chan struct{})}
	server := &http.Server{Handler: h.Handler(), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ears)
	}()
	transport := &http.Transport{DialContext: ears.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
		h.Close()
	})
	b := &Bus{client: &http.Client{Transport: transport}}
	if b.Token, err = hub.Folder(dir).OwnerToken(); err != nil {
		t.Fatal(err)
	}
	b.post(t, "/api/rooms", `{"room":"`+Room+`","policy":`+policy+`}`)
	return b
}

func (b *Bus) post(t testing.TB, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", path, resp.Status)
	}
}

// Dial joins, or tells why not.
func (b *Bus) Dial(ctx context.Context, o roomagent.DialOptions) (*roomagent.Conn, error) {
	o.HTTPClient = b.client
	return roomagent.Dial(ctx, origin+"/r/"+Room, o)
}

// Join joins for the time of a test.
func (b *Bus) Join(t testing.TB, o roomagent.DialOptions) *roomagent.Conn {
	t.Helper()
	conn, err := b.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Leave() })
	return conn
}

// listener takes connections that are pipes.
type listener struct {
	dialled chan net.Conn
	quit    chan struct{}
	once    sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.dialled <- pipe{there}:
		return here, nil
	case <-l.quit:
		return nil, errors.New("the room is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.quit:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.quit) })
	return nil
}

// Addr implements net.Listener.
func (*listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// pipe says that it comes from this computer, as it does.
type pipe struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (pipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
