package agentfirst

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	wire "parley.internal/protocol/agentfirst"
)

// transport carries whole messages. Read and Write are each called by one
// goroutine at a time; Close ends both.
type transport interface {
	Read() ([]byte, error)
	Write(m *wire.ClientMessage) error
	Close()
}

// dialTransport reaches target: unix:///path, tcp://host:port, ws:// or wss://.
func dialTransport(ctx context.Context, target string, o Options) (transport, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	switch u.Scheme {
	case "unix":
		return dialStream(ctx, "unix", u.Path, o)
	case "tcp":
		return dialStream(ctx, "tcp", u.Host, o)
	case "ws", "wss":
		return dialWebSocket(ctx, target, o)
	}
	return nil, fmt.Errorf("target %q: use unix:///path, tcp://host:port, ws:// or wss://", u.Redacted())
}

type streamTransport struct {
	conn    net.Conn
	frames  *wire.FrameReader
	timeout time.Duration
	buf     []byte
}

func dialStream(ctx context.Context, network, address string, o Options) (transport, error) {
	if address == "" {
		return nil, fmt.Errorf("target: no address for %s", network)
	}
	conn, err := o.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &streamTransport{conn: conn, frames: wire.NewFrameReader(bufio.NewReader(conn)), timeout: o.WriteTimeout}, nil
}

func (t *streamTransport) Read() ([]byte, error) { return t.frames.Next() }

func (t *streamTransport) Write(m *wire.ClientMessage) error {
	frame, err := wire.AppendFrame(t.buf[:0], m)
	if err != nil {
		return err
	}
	// Keep the buffer for the small requests that most are.
	if cap(frame) <= 64<<10 {
		t.buf = frame
	}
	if err := t.conn.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
		return brokenPipe(err)
	}
	_, err = t.conn.Write(frame)
	return brokenPipe(err)
}

func (t *streamTransport) Close() { _ = t.conn.Close() }

type webSocketTransport struct {
	conn    *websocket.Conn
	timeout time.Duration
}

func dialWebSocket(ctx context.Context, target string, o Options) (transport, error) {
	client := o.HTTPClient
	if client == nil {
		client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
		// After an upgrade the connection is ours; after a refusal it would idle.
		defer client.CloseIdleConnections()
	}
	header := http.Header{}
	if o.Token != "" {
		header.Set("Authorization", "Bearer "+o.Token)
	}
	conn, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 {
			return nil, &ServerError{Code: wire.Code(resp.StatusCode), Message: "websocket refused: " + resp.Status}
		}
		return nil, err
	}
	conn.SetReadLimit(wire.MaxPayload)
	return &webSocketTransport{conn: conn, timeout: o.WriteTimeout}, nil
}

func (t *webSocketTransport) Read() ([]byte, error) {
	typ, payload, err := t.conn.Read(context.Background())
	switch {
	case websocket.CloseStatus(err) == wire.CloseUnauthenticated:
		return nil, &ServerError{Code: wire.CodeUnauthenticated, Message: "the server closed the connection: not authenticated"}
	case err != nil:
		return nil, err
	case typ != websocket.MessageBinary:
		return nil, errors.New("the server sent a text frame")
	}
	return payload, nil
}

func (t *webSocketTransport) Write(m *wire.ClientMessage) error {
	payload, err := wire.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	return brokenPipe(t.conn.Write(ctx, websocket.MessageBinary, payload))
}

func (t *webSocketTransport) Close() { _ = t.conn.CloseNow() }

// writeError is a failure of the connection, unlike one of encoding, after
// which the connection is as good as before.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

func brokenPipe(err error) error {
	if err == nil {
		return nil
	}
	return writeError{err}
}
