package kenny

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	wire "parley.internal/protocol/kenny"
)

// Conn is the transport of one session. Read is called by one goroutine at a
// time, Write by one; Close and Abort by anyone, at any time.
type Conn interface {
	// Read gives the next message, of which at most limit bytes are kept.
	// When the hub closes, the error is a [*Closed].
	Read(ctx context.Context, limit int) (Message, error)
	// Write sends one text message.
	Write(ctx context.Context, data []byte) error
	// Close says goodbye, for no longer than [wire.CleanCloseWait].
	Close(code wire.CloseCode, reason string)
	// Abort drops the connection.
	Abort()
}

// Message is what arrived.
type Message struct {
	Data []byte
	// Binary messages mean nothing in this protocol.
	Binary bool
	// TooLarge: the message was longer than asked for and is not in Data.
	TooLarge bool
}

// Dialer opens a transport.
type Dialer func(ctx context.Context, url string) (Conn, error)

// dialWait bounds one attempt, name lookup and TLS included.
const dialWait = 30 * time.Second

// WebSocketDialer dials with the given HTTP client, or a plain one if nil.
// Redirects are not followed: a pinned hub has no reason to send us elsewhere.
func WebSocketDialer(client *http.Client) Dialer {
	base := plainClient(client)
	return func(ctx context.Context, url string) (Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialWait)
		defer cancel()
		own, stream := base, &stream{base: base.Transport}
		own.Transport = stream
		c, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &own, CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return nil, dialError(resp, err)
		}
		c.SetReadLimit(wire.MaxDiscard)
		return &wsConn{c: c, stream: stream.body}, nil
	}
}

// plainClient copies a client, without redirects and, where the choice is
// ours, without idle connections: a machine makes a few requests in a year.
func plainClient(client *http.Client) http.Client {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	if own.Transport == nil {
		own.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// stream remembers the connection below a WebSocket, because the library
// offers no way to cut a goodbye short.
type stream struct {
	base http.RoundTripper
	body io.Closer
}

// RoundTrip implements http.RoundTripper.
func (s *stream) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		s.body = resp.Body
	}
	return resp, err
}

func dialError(resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("dial: %w", err)
	}
	return &DialError{Status: resp.StatusCode, RetryAfter: retryAfter(resp), Err: err}
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, authCap)
}

type wsConn struct {
	c      *websocket.Conn
	stream io.Closer
}

func (w *wsConn) Read(ctx context.Context, limit int) (Message, error) {
	typ, r, err := w.c.Reader(ctx)
	if err != nil {
		return Message{}, closed(err)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return Message{}, closed(err)
	}
	if len(data) <= limit {
		return Message{Data: data, Binary: typ != websocket.MessageText}, nil
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return Message{}, closed(err)
	}
	return Message{TooLarge: true}, nil
}

// closed translates the library's close error.
func closed(err error) error {
	if ce, ok := errors.AsType[websocket.CloseError](err); ok {
		return &Closed{Code: wire.CloseCode(ce.Code), Reason: ce.Reason}
	}
	return err
}

func (w *wsConn) Write(ctx context.Context, data []byte) error {
	return w.c.Write(ctx, websocket.MessageText, data)
}

// Close runs the library's close, which may take ten seconds, under our own
// bound: when that is over, the connection is dropped and the close returns.
func (w *wsConn) Close(code wire.CloseCode, reason string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.c.Close(websocket.StatusCode(code), reason) // the peer may be gone already
	}()
	timer := time.NewTimer(wire.CleanCloseWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		w.Abort()
		<-done
	}
}

// Abort drops the stream first, which ends whatever waits on it.
func (w *wsConn) Abort() {
	_ = w.stream.Close() // it may be gone already
	_ = w.c.CloseNow()
}
