package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/role"
)

// The clients do as little as possible and the same for every server, so that
// what differs is the server.

// request is the small JSON message of the echo.
const request = `{"type":"ping","id":"0198c0de-0000-7000-8000-000000000000","payload":{}}`

const handshake = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cGFybGV5LWJlbmNoLWtleQ==\r\n\r\n"

// clientFrame is a frame as a client sends it, masked by zero.
func clientFrame(opcode byte, data string) []byte {
	return append([]byte{0x80 | opcode, 0x80 | byte(len(data)), 0, 0, 0, 0}, data...)
}

// dialAll opens n connections, a few at a time.
func dialAll(ctx context.Context, n int, dial func(ctx context.Context) (net.Conn, error)) ([]net.Conn, error) {
	conns := make([]net.Conn, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range conns {
		g.Go(func() (err error) {
			conns[i], err = dial(ctx)
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		hangUp(conns)
	}
	return conns, err
}

// hangUp resets the connections: thousands of them waiting for their last
// packets would use up the ports of the next row.
func hangUp(conns []net.Conn) {
	for _, c := range conns {
		if c == nil {
			continue
		}
		under := c
		if t, ok := c.(interface{ NetConn() net.Conn }); ok {
			under = t.NetConn()
		}
		if t, ok := under.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = under.Close()
	}
}

func dialTCP(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
}

// dialWS connects and shakes hands; with a certificate over TLS.
func dialWS(h role.Hello) func(context.Context) (net.Conn, error) {
	var trusted *x509.CertPool
	if h.Cert != "" {
		trusted = x509.NewCertPool()
		trusted.AppendCertsFromPEM([]byte(h.Cert))
	}
	return func(ctx context.Context) (net.Conn, error) {
		c, err := dialTCP(h.Addr)(ctx)
		if err != nil {
			return nil, err
		}
		if trusted != nil {
			c = tls.Client(c, &tls.Config{RootCAs: trusted, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
		}
		if err := upgrade(c, handshake); err != nil {
			_ = c.Close()
			return nil, err
		}
		return c, nil
	}
}

// upgrade sends a request for a WebSocket and reads the answer to it.
func upgrade(c net.Conn, request string) error {
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	// Nothing follows the answer until we speak, so nothing is lost in the buffer.
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("no WebSocket: %s", res.Status)
	}
	return nil
}

// exchange sends a message on every connection and waits for the answer of
// size bytes, again and again until the time is over. It returns how many.
func exchange(conns []net.Conn, message []byte, size int, d time.Duration) (int64, error) {
	var ops atomic.Int64
	var over atomic.Bool
	time.AfterFunc(d, func() { over.Store(true) })
	var g errgroup.Group
	for _, c := range conns {
		g.Go(func() error {
			buf := make([]byte, size)
			for !over.Load() {
				if _, err := c.Write(message); err != nil {
					return err
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					return err
				}
				ops.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return ops.Load(), err
}

// crowd is idle connections that answer heartbeats.
type crowd struct {
	conns []net.Conn
	beats atomic.Int64
	wg    sync.WaitGroup
	mu    sync.Mutex
	err   error
	done  atomic.Bool
}

// add opens connections, uses each once and leaves it idle.
func (w *crowd) add(ctx context.Context, n int, dial func(context.Context) (net.Conn, error)) error {
	conns, err := dialAll(ctx, n, dial)
	if err != nil {
		return err
	}
	w.conns = append(w.conns, conns...)
	answered := make(chan struct{}, n)
	for _, c := range conns {
		w.wg.Go(func() {
			err := w.live(c, answered)
			if !w.done.Load() { // it ended though nobody hung up
				w.mu.Lock()
				w.err = errors.Join(w.err, err)
				w.mu.Unlock()
			}
		})
	}
	for range n {
		select {
		case <-answered:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// live uses the connection once, then answers pings until it ends, and returns
// why it did. answered hears once, also of a connection that ended before.
func (w *crowd) live(c net.Conn, answered chan<- struct{}) error {
	first := true
	defer func() {
		if first {
			answered <- struct{}{}
		}
	}()
	if _, err := c.Write(clientFrame(1, request)); err != nil {
		return err
	}
	head := make([]byte, 2+len(request))
	pong := clientFrame(10, "")
	for {
		if _, err := io.ReadFull(c, head[:2]); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, head[2:2+int(head[1])]); err != nil {
			return err
		}
		if head[0]&0x0f == 9 {
			w.beats.Add(1)
			if _, err := c.Write(pong); err != nil {
				return err
			}
		} else if first {
			first = false
			answered <- struct{}{}
		}
	}
}

// awaitBeats waits until every connection had n more heartbeats, on average.
func (w *crowd) awaitBeats(ctx context.Context, n int) error {
	until := w.beats.Load() + int64(n*len(w.conns))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for w.beats.Load() < until {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.mu.Lock()
		err := w.err
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *crowd) close() {
	w.done.Store(true)
	hangUp(w.conns)
	w.wg.Wait()
}
