package viber

import (
	"context"
	"time"

	wire "parley.internal/protocol/viber"
)

// Ping measures the way to the server and back.
func (c *Client) Ping(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	_, err := c.ask(ctx, wire.NewHealthPing(began), &request{answers: is[*wire.HealthPong]})
	return time.Since(began), err
}

// Refresh renews the session before it expires, narrowed to scopes unless they
// are nil.
func (c *Client) Refresh(ctx context.Context, scopes []string) (*wire.Authenticated, error) {
	l, err := c.reach(ctx, &wire.Refresh{})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	nonce := l.session.SessionID
	l.mu.Unlock()
	if scopes == nil {
		scopes = c.opts.Scopes
	}
	auth, err := c.auth(l.welcome, nonce, scopes)
	if err != nil {
		return nil, err
	}
	m, err := l.do(ctx, &wire.Refresh{Auth: *auth}, &request{answers: is[*wire.Authenticated]})
	session, err := answer[*wire.Authenticated](m, err)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = session
	return session, nil
}

// RotateToken gets a new secret, of our own token if id is empty. The client
// then uses it for its next connections.
func (c *Client) RotateToken(ctx context.Context, id string) (*wire.TokenRotated, error) {
	m, err := c.ask(ctx, &wire.TokenRotate{TokenID: id}, &request{answers: is[*wire.TokenRotated]})
	rotated, err := answer[*wire.TokenRotated](m, err)
	if err != nil {
		return nil, err
	}
	if id == "" {
		c.learnToken(rotated.Token)
	}
	return rotated, nil
}
