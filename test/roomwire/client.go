// Package roomwire is a raw client of rooms for tests of whole hubs: frames in,
// frames out, and nothing of an SDK between.
//
//	c := roomwire.Dial(t, hub.URL, "standup", token)
//	c.Join(map[string]any{"name": "Ann"})
//	seq := c.Say("hello")
package roomwire

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley.internal/protocol/kibitz"
)

// patience bounds every wait; only something broken reaches it.
const patience = 60 * time.Second

// Client is one connection.
type Client struct {
	Hello *kibitz.Hello
	Self  *kibitz.Self

	t      testing.TB
	ws     *websocket.Conn
	done   chan struct{}
	n      int64
	mu     sync.Mutex
	news   chan struct{}
	frames []kibitz.Frame
	pos    int
	err    error
}

// Dial connects to a room; an empty token is nobody.
func Dial(t testing.TB, hub, room, token string) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	ws, _, err := websocket.Dial(ctx, hub+"/rooms/"+room+"/ws", &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // the library has closed it
	if err != nil {
		t.Fatalf("no socket: %v", err)
	}
	ws.SetReadLimit(16 << 20)
	c := &Client{t: t, ws: ws, done: make(chan struct{}), news: make(chan struct{}, 1)}
	go c.loop()
	t.Cleanup(func() { _ = ws.CloseNow(); <-c.done })
	c.Hello = Want[*kibitz.Hello](c)
	return c
}

func (c *Client) loop() {
	defer close(c.done)
	for {
		_, data, err := c.ws.Read(context.Background())
		c.mu.Lock()
		if err == nil {
			var f kibitz.Frame
			if f, err = kibitz.DecodeHub(data); err == nil {
				c.frames = append(c.frames, f)
			}
		}
		c.err = err
		c.mu.Unlock()
		select {
		case c.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Want gives the next frame of a type that matches.
func Want[T kibitz.Frame](c *Client, match ...func(T) bool) T {
	c.t.Helper()
	f, err := Await(c, match...)
	if err != nil {
		c.t.Fatalf("no %T: %v", f, err)
	}
	return f
}

// Await is Want for a connection that may break.
func Await[T kibitz.Frame](c *Client, match ...func(T) bool) (T, error) {
	late := time.After(patience)
	for {
		f, ok, err := nextMatching(c, match)
		if ok || err != nil {
			return f, err
		}
		select {
		case <-c.news:
		case <-c.done:
			if f, ok, err := nextMatching(c, match); ok || err != nil {
				return f, err
			}
		case <-late:
			return f, context.DeadlineExceeded
		}
	}
}

func nextMatching[T kibitz.Frame](c *Client, match []func(T) bool) (zero T, _ bool, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.pos < len(c.frames); c.pos++ {
		f, ok := c.frames[c.pos].(T)
		for _, m := range match {
			ok = ok && m(f)
		}
		if ok {
			c.pos++
			return f, true, nil
		}
	}
	return zero, false, c.err
}

// Send writes a frame; a broken connection is no error here.
func (c *Client) Send(v map[string]any) {
	c.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = c.ws.Write(ctx, websocket.MessageText, data)
}

// Join announces and waits until it is in.
func (c *Client) Join(v map[string]any) *Client {
	c.t.Helper()
	v["t"], v["on"] = "voice", true
	c.Send(v)
	return c.enter()
}

// Resume takes up an earlier presence.
func (c *Client) Resume(secret string, since uint64) *Client {
	c.t.Helper()
	c.Send(map[string]any{"t": "resume", "resume": secret, "since": since})
	return c.enter()
}

func (c *Client) enter() *Client {
	c.t.Helper()
	if l := Want[*kibitz.Lobby](c); l.Status != kibitz.LobbyAdmitted {
		c.t.Fatalf("%+v", l)
	}
	c.Self = Want[*kibitz.Self](c)
	return c
}

// Ask sends a frame and gives its answer; nil and nil when the connection broke.
func (c *Client) Ask(v map[string]any) (*kibitz.Ack, *kibitz.Nak) {
	c.t.Helper()
	c.n++
	n := c.n
	v["n"] = n
	c.Send(v)
	f, err := Await(c, func(f kibitz.Frame) bool {
		switch f := f.(type) {
		case *kibitz.Ack:
			return f.N == n
		case *kibitz.Nak:
			return f.N == n
		}
		return false
	})
	if err != nil {
		return nil, nil
	}
	ack, _ := f.(*kibitz.Ack)
	nak, _ := f.(*kibitz.Nak)
	return ack, nak
}

// Say sends a line that must be accepted and gives its number.
func (c *Client) Say(text string) uint64 {
	c.t.Helper()
	ack, nak := c.Ask(Chat(text))
	if ack == nil {
		c.t.Fatalf("%q was not accepted: %+v", text, nak)
	}
	return ack.Seq
}

// Chat is a line.
func Chat(text string) map[string]any {
	return map[string]any{"t": "send", "c": map[string]any{"k": "chat", "text": text}}
}

// Gone waits until the connection has ended.
func (c *Client) Gone() {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		c.t.Fatal("still connected")
	}
}
