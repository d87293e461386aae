package hubapi

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Principal is whoever acts.
type Principal struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Token is a token without its secret.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Role      string    `json:"role"`
	Scopes    []string  `json:"scopes"`
	Principal Principal `json:"principal"`
	Created   time.Time `json:"created_at"`
	Expires   time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used_at,omitzero"`
	Revoked   time.Time `json:"revoked_at,omitzero"`
	// Maker is what it was made with and ends with; empty for the hub itself.
	Maker string `json:"maker,omitempty"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name      string   `json:"name,omitempty"`
	Role      string   `json:"role,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`
	TTL       string   `json:"ttl,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Pairing   bool     `json:"pairing,omitempty"`
}

// NewToken is a token with its secret, shown once.
type NewToken struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"`
	Code    string    `json:"code,omitempty"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires_at,omitzero"`
}

// Rotated is a token's new secret.
type Rotated struct {
	ID            string    `json:"id"`
	Token         string    `json:"token"`
	Expires       time.Time `json:"expires_at,omitzero"`
	OldValidUntil time.Time `json:"old_valid_until"`
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, req TokenRequest) (out NewToken, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/tokens", nil, req, &out)
}

// Tokens lists tokens.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	var out struct {
		Tokens []Token `json:"tokens"`
	}
	err := c.Do(ctx, http.MethodGet, "/api/tokens", nil, nil, &out)
	return out.Tokens, err
}

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.Do(ctx, http.MethodDelete, "/api/tokens/"+url.PathEscape(id), nil, nil, nil)
}

// RotateToken gives a token a new secret.
func (c *Client) RotateToken(ctx context.Context, id string) (out Rotated, err error) {
	return out, c.Do(ctx, http.MethodPost, "/api/tokens/"+url.PathEscape(id)+"/rotate", nil, struct{}{}, &out)
}

// LoginLink is a one-time login link.
type LoginLink struct {
	Path    string    `json:"path"`
	Expires time.Time `json:"expires_at"`
}

// CreateLoginLink makes a login link for the caller, or for another person. Without
// scopes one's own page may do what the caller may, and another's everyday work.
func (c *Client) CreateLoginLink(ctx context.Context, principal string, scopes ...string) (out LoginLink, err error) {
	body := map[string]any{"principal": principal}
	if len(scopes) > 0 {
		body["scopes"] = scopes
	}
	return out, c.Do(ctx, http.MethodPost, "/api/login-links", nil, body, &out)
}
