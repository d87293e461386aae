package wsconn_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"parley.internal/internal/wsconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; only something broken reaches it.
const patience = 60 * time.Second

// script is a Handler made of functions.
type script struct {
	message  func(c *wsconn.Conn, kind wsconn.Kind, data []byte)
	oversize func(c *wsconn.Conn, kind wsconn.Kind, head []byte, size int64)
	closed   chan wsconn.Ended
}

func (s *script) Message(c *wsconn.Conn, kind wsconn.Kind, data []byte) {
	if s.message != nil {
		s.message(c, kind, data)
	}
}

func (s *script) Oversize(c *wsconn.Conn, kind wsconn.Kind, head []byte, size int64) {
	if s.oversize != nil {
		s.oversize(c, kind, head, size)
	}
}

func (s *script) Closed(_ *wsconn.Conn, how wsconn.Ended) {
	if s.closed != nil {
		s.closed <- how
	}
}

// echo sends every message back.
func echo(c *wsconn.Conn, kind wsconn.Kind, data []byte) {
	_ = c.Send(wsconn.Message{Kind: kind, Data: append([]byte{}, data...)})
}

// site is a group behind a real HTTP server.
type site struct {
	*wsconn.Group
	t    testing.TB
	addr string
	// opened receives every connection; ended how each ended.
	opened chan *wsconn.Conn
	ended  chan wsconn.Ended
}

func serve(t testing.TB, options wsconn.Options, s script, first ...func(*wsconn.Conn)) *site {
	t.Helper()
	return serveOn(t, options, s, (*httptest.Server).Start, first...)
}

func serveOn(t testing.TB, options wsconn.Options, s script, start func(*httptest.Server), first ...func(*wsconn.Conn)) *site {
	t.Helper()
	st := &site{Group: wsconn.NewGroup(options), t: t, opened: make(chan *wsconn.Conn, 1<<14), ended: make(chan wsconn.Ended, 1<<14)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = st.Upgrade(w, r, func(c *wsconn.Conn) wsconn.Handler {
			for _, f := range first {
				f(c)
			}
			h := s
			h.closed = st.ended
			st.opened <- c
			return &h
		})
	}))
	srv.Config.ReadHeaderTimeout = 5 * time.Second
	start(srv)
	t.Cleanup(func() {
		st.Close()
		srv.Close()
	})
	st.addr = srv.Listener.Addr().String()
	return st
}

func (s *site) conn() *wsconn.Conn { return receive(s.t, s.opened, "connection") }

func receive[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// dial connects as the client SDK does.
func (s *site) dial() *websocket.Conn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+s.addr, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func say(t testing.TB, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t testing.TB, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, data, err := c.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hearClose reads until the connection ends and returns "code reason".
func hearClose(t testing.TB, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, _, err := c.Read(ctx)
		if err == nil {
			continue
		}
		if ce, ok := errors.AsType[websocket.CloseError](err); ok {
			return fmt.Sprintf("%d %s", ce.Code, ce.Reason)
		}
		return err.Error()
	}
}

// peer is a client that can misbehave.
type peer struct {
	net.Conn
	t  testing.TB
	br *bufio.Reader
}

const handshake = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// rawDial does the handshake, sending early along with it.
func (s *site) rawDial(early ...byte) *peer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &peer{Conn: c, t: s.t, br: bufio.NewReader(c)}
	s.t.Cleanup(func() { _ = c.Close() })
	p.send([]byte(handshake), early)
	p.skipHandshake()
	return p
}

func (p *peer) skipHandshake() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(p.br, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		p.t.Fatalf("handshake answered %s", resp.Status)
	}
}

func (p *peer) send(parts ...[]byte) {
	p.t.Helper()
	if _, err := p.Write(join(parts...)); err != nil {
		p.t.Fatal(err)
	}
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, b := range parts {
		all = append(all, b...)
	}
	return all
}

// frame is a masked client frame.
func frame(fin bool, opcode byte, payload string) []byte {
	b := []byte{opcode, 0x80}
	if fin {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n <= 125:
		b[1] |= byte(n)
	case n <= 0xffff:
		b[1] |= 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] |= 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	key := []byte{1, 2, 3, 4}
	b = append(b, key...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i%4])
	}
	return b
}

func text(payload string) []byte { return frame(true, 1, payload) }

// readFrame returns "opcode:payload" of the next frame, "end" when there is none.
func (p *peer) readFrame() string {
	p.t.Helper()
	op, data, err := readServerFrame(p.br)
	if err != nil {
		return "end"
	}
	if op == 8 && len(data) >= 2 {
		return fmt.Sprintf("8:%d %s", binary.BigEndian.Uint16(data), data[2:])
	}
	return fmt.Sprintf("%d:%s", op, data)
}

func readServerFrame(r *bufio.Reader) (op byte, data []byte, err error) {
	var h [8]byte
	if _, err := io.ReadFull(r, h[:2]); err != nil {
		return 0, nil, err
	}
	op = h[0] & 15
	n := uint64(h[1])
	if n == 126 {
		_, err = io.ReadFull(r, h[:2])
		n = uint64(binary.BigEndian.Uint16(h[:]))
	} else if n == 127 {
		_, err = io.ReadFull(r, h[:8])
		n = binary.BigEndian.Uint64(h[:])
	}
	if err != nil {
		return 0, nil, err
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	return op, data, err
}

// wantData is want that does not care where pongs come.
func (p *peer) wantData(frames ...string) {
	p.t.Helper()
	for _, want := range frames {
		got := p.readFrame()
		for got == "10:" {
			got = p.readFrame()
		}
		if got != want {
			p.t.Fatalf("got frame %.200q, want %.200q", got, want)
		}
	}
}

func (p *peer) want(frames ...string) {
	p.t.Helper()
	for _, want := range frames {
		if got := p.readFrame(); got != want {
			p.t.Fatalf("got frame %.200q, want %.200q", got, want)
		}
	}
}

// pipeConn makes a connection over an in-memory pipe, for tests with fake time.
func pipeConn(t testing.TB, g *wsconn.Group, h wsconn.Handler, opened ...func(*wsconn.Conn)) (*wsconn.Conn, *peer) {
	t.Helper()
	server, client := net.Pipe()
	p := &peer{Conn: client, t: t, br: bufio.NewReader(client)}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(handshake)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if resp, err := http.ReadResponse(p.br, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("handshake: %v", err)
		}
	})
	c, err := g.Upgrade(&pipeWriter{conn: server, header: http.Header{}}, r, func(c *wsconn.Conn) wsconn.Handler {
		for _, f := range opened {
			f(c)
		}
		return h
	})
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	return c, p
}

type pipeWriter struct {
	conn   net.Conn
	header http.Header
}

func (w *pipeWriter) Header() http.Header         { return w.header }
func (w *pipeWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *pipeWriter) WriteHeader(int)             {}
func (w *pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.conn, bufio.NewReadWriter(bufio.NewReader(w.conn), bufio.NewWriter(w.conn)), nil
}
