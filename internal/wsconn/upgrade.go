package wsconn

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/lxzan/gws"

	"parley.internal/internal/trywrite"
)

// Upgrade makes a WebSocket connection of a request. opened is called with the connection before anything is
// read from it: what it sends comes first, and the Handler it returns gets everything else. When Upgrade
// fails it has answered the request.
//
// Check Origin and Host (OriginPolicy) and whatever else guards the door before.
func (g *Group) Upgrade(w http.ResponseWriter, r *http.Request, opened func(*Conn) Handler) (*Conn, error) {
	if status, err := checkHandshake(r); err != nil {
		if status == http.StatusUpgradeRequired {
			w.Header().Set("Sec-WebSocket-Version", "13")
			w.Header().Set("Upgrade", "websocket")
		}
		http.Error(w, err.Error(), status)
		return nil, err
	}
	if err := g.admit(); err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return nil, err
	}
	c, ws, err := g.handshake(w, r)
	if err != nil {
		g.forget()
		return nil, err
	}
	c.start(ws, opened)
	return c, nil
}

func (g *Group) handshake(w http.ResponseWriter, r *http.Request) (*Conn, *gws.Conn, error) {
	raw, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "cannot take over the connection", http.StatusInternalServerError)
		return nil, nil, fmt.Errorf("%w: %w", ErrNotWebSocket, err)
	}
	c := &Conn{group: g}
	c.stream.conn, c.stream.raw = c, raw
	early := rw.Reader.Buffered() // frames sent without waiting for our answer
	c.stream.buf = make([]byte, max(readBuffer, early))
	if early > 0 {
		c.stream.w, _ = rw.Reader.Read(c.stream.buf[:early])
	}
	// The stream does the buffering; this one only ever holds a frame's header.
	ws, err := g.upgrader.UpgradeFromConn(&c.stream, bufio.NewReaderSize(&c.stream, 16), r)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotWebSocket, err)
	}
	c.stream.established = true
	c.socket = trywrite.Of(raw)
	return c, ws, nil
}

func (c *Conn) start(ws *gws.Conn, opened func(*Conn) Handler) {
	g := c.group
	read := g.options.Read
	c.limit.Store(&read)
	now := g.now()
	c.heard.Store(now)
	c.pingAt = now + int64(g.options.Ping.Every)
	defer func() {
		if c.handler == nil { // opened panicked, and goes on panicking
			g.wheel.remove(c)
			c.hangUp()
			g.forget()
		}
	}()
	c.handler = opened(c)
	g.add(c)
	g.wheel.schedule(c, c.visit(now))
	go c.read(ws)
}

// newUpgrader leaves limits, UTF-8 and closing to us; see stream.
func newUpgrader(o *Options) *gws.Upgrader {
	return gws.NewUpgrader(events{}, &gws.ServerOption{
		ReadMaxPayloadSize: math.MaxInt,
		ParallelGolimit:    1,
		HandshakeTimeout:   o.HandshakeTimeout,
		NewSession:         func() gws.SessionStorage { return nil },
	})
}

// checkHandshake finds what is wrong before the connection is taken from the HTTP server.
func checkHandshake(r *http.Request) (status int, err error) {
	bad := func(status int, what string) (int, error) { return status, fmt.Errorf("%w: %s", ErrNotWebSocket, what) }
	switch key, _ := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key")); {
	case r.ProtoMajor != 1 || r.ProtoMinor < 1:
		return bad(http.StatusHTTPVersionNotSupported, "needs HTTP/1.1")
	case r.Method != http.MethodGet:
		return bad(http.StatusMethodNotAllowed, "needs GET")
	case !hasToken(r.Header, "Connection", "upgrade") || !hasToken(r.Header, "Upgrade", "websocket"):
		return bad(http.StatusUpgradeRequired, "no upgrade asked for")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return bad(http.StatusUpgradeRequired, "needs version 13")
	case len(key) != 16:
		return bad(http.StatusBadRequest, "bad Sec-WebSocket-Key")
	}
	return 0, nil
}

func hasToken(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}
