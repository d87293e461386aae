package viber

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	wire "parley.internal/protocol/viber"
)

// connect makes a connection and introduces us. Its reader does not run yet.
func (c *Client) connect(ctx context.Context) (*link, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxRead)
	l := &link{conn: conn, opts: &c.opts, route: c.route, dead: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(c.ctx)
	if err := c.handshake(ctx, l); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (c *Client) dial(ctx context.Context) (*websocket.Conn, error) {
	client := c.opts.HTTPClient
	if client == nil {
		client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
		// After an upgrade the connection is ours; after a refusal it would idle.
		defer client.CloseIdleConnections()
	}
	// A hub that counts strangers sees at once that we are none.
	header := http.Header{}
	if token := c.token(); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	conn, resp, err := websocket.Dial(ctx, c.target, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		return nil, dialError(resp, err)
	}
	return conn, nil
}

// dialError tells a server that refused from one that could not be reached.
func dialError(resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("%w: %w", ErrConnectionLost, err)
	}
	e := &Error{Message: "websocket refused: " + resp.Status}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Code = wire.CodeRateLimited
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		e.RetryAfter = time.Duration(seconds) * time.Second
	case resp.StatusCode >= 500:
		e.Code = wire.CodeInternalError
	default:
		e.Code = wire.CodeAuthFailed
	}
	return refusedError{e}
}

// handshake waits for the welcome, authenticates and waits for the grant.
func (c *Client) handshake(ctx context.Context, l *link) error {
	m, err := nextFrame(ctx, l.conn)
	if err != nil {
		return err
	}
	welcome, ok := m.Body.(*wire.Welcome)
	if !ok {
		return orRefused(m, "a welcome")
	}
	if welcome.ProtocolVersion != wire.Version {
		return fmt.Errorf("%w: %.20q", ErrVersion, welcome.ProtocolVersion)
	}
	l.welcome = welcome
	auth, err := c.auth(welcome, welcome.Challenge, c.opts.Scopes)
	if err != nil {
		return err
	}
	frame, err := wire.Encode(wire.Header{ID: newID(), At: time.Now()}, auth)
	if err != nil {
		return err
	}
	if err := l.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return closeReason(err)
	}
	if m, err = nextFrame(ctx, l.conn); err != nil {
		return err
	}
	session, ok := m.Body.(*wire.Authenticated)
	if !ok {
		return orRefused(m, "a grant")
	}
	l.session, l.correlates = session, m.ReplyTo != ""
	c.learnToken(session.DeviceToken)
	return nil
}

// nextFrame reads the next frame of the handshake, passing over heartbeats and
// what it does not understand.
func nextFrame(ctx context.Context, conn *websocket.Conn) (wire.Message, error) {
	for {
		m, _, err := readFrame(ctx, conn)
		if err != nil {
			return m, fmt.Errorf("%w: %w", ErrConnectionLost, err)
		}
		switch m.Body.(type) {
		case nil, *wire.Unknown, *wire.Ping, *wire.Pong, *wire.HealthPing, *wire.HealthPong, *wire.StatusAgent:
		default:
			return m, nil
		}
	}
}

func orRefused(m wire.Message, want string) error {
	if e, ok := refusal(m.Body).(*Error); ok { //nolint:errorlint // refusal makes it, nothing wraps it
		return refusedError{e}
	}
	return fmt.Errorf("%w: %s instead of %s", ErrHandshake, m.Type, want)
}

// auth says who we are. What the base does not have is sent only to a server
// that shows, by its welcome, that it is more than that.
func (c *Client) auth(welcome *wire.Welcome, nonce string, scopes []string) (*wire.Auth, error) {
	a := &wire.Auth{DeviceID: c.opts.DeviceID, Token: c.token(), Role: c.opts.Role, Scopes: scopes}
	if welcome.Limits != nil || welcome.Auth != nil {
		a.ProtocolVersion, a.Client = wire.Version, &c.opts.Client
	}
	if c.opts.Key == nil {
		return a, nil
	}
	a.PublicKey = wire.FormatPublicKey(c.opts.publicKey())
	var err error
	a.ChallengeResponse, err = a.Challenge(nonce).Sign(c.opts.Key)
	return a, err
}
