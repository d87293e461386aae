package vouch

import (
	"context"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"parley.internal/protocol/kibitz"
)

// Bounds of an issuer's token.
const (
	tokenLeeway = 60 * time.Second
	tokenLife   = 3600 * time.Second
)

// tokenAlgs are what an issuer may sign with; what a token says only decides
// whether it is refused.
var tokenAlgs = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}

// AgentClaims are what an issuer says about an agent.
type AgentClaims struct {
	jwt.Claims
	Cnf struct {
		JKT string `json:"jkt"`
	} `json:"cnf"`
}

// FindIssuer is the entry a token belongs to.
func FindIssuer(list []kibitz.IssuerPolicy, iss, sub string, aud []string, room string) (kibitz.IssuerPolicy, bool) {
	for _, e := range list {
		want := e.Aud
		if want == "" {
			want = room
		}
		if e.Iss == iss && slices.Contains(aud, want) && kibitz.Match(e.Sub, sub) {
			return e, true
		}
	}
	return kibitz.IssuerPolicy{}, false
}

func badToken(reason string) error { return refuse(kibitz.GateIssuer, reason) }

// Agent finds the entry of a room's policy that signed a token, and judges the claims.
func (k *Keys) Agent(ctx context.Context, text string, list []kibitz.IssuerPolicy, room string, now time.Time) (kibitz.IssuerPolicy, *AgentClaims, error) {
	token, err := jwt.ParseSigned(text, tokenAlgs)
	if err != nil {
		return kibitz.IssuerPolicy{}, nil, badToken("malformed token")
	}
	var unverified AgentClaims
	if token.UnsafeClaimsWithoutVerification(&unverified) != nil {
		return kibitz.IssuerPolicy{}, nil, badToken("malformed token")
	}
	entry, ok := FindIssuer(list, unverified.Issuer, unverified.Subject, unverified.Audience, room)
	if !ok {
		return entry, nil, badToken("no such issuer, audience or subject here")
	}
	set, err := k.jose(ctx, entry.JWKS, entry.JWKSURI, kidOf(token.Headers))
	if err != nil {
		return entry, nil, refuse(kibitz.GateUnavailable, "issuer keys unavailable")
	}
	claims := &AgentClaims{}
	if !verifies(token, set, claims) {
		return entry, nil, badToken(BadSignature)
	}
	return entry, claims, claims.fresh(now)
}

// BadSignature is what whoever brought it reads.
const BadSignature = "bad signature"

func kidOf(headers []jose.Header) string {
	if len(headers) == 0 {
		return ""
	}
	return headers[0].KeyID
}

// verifies tries the keys that may have signed it.
func verifies(token *jwt.JSONWebToken, set *jose.JSONWebKeySet, into any) bool {
	keys := set.Keys
	if kid := kidOf(token.Headers); kid != "" {
		keys = set.Key(kid)
	}
	for _, k := range keys {
		if k.Use != "" && k.Use != "sig" || !k.IsPublic() {
			continue
		}
		if token.Claims(k.Key, into) == nil {
			return true
		}
	}
	return false
}

// fresh holds a token to its times.
func (c *AgentClaims) fresh(now time.Time) error {
	switch {
	case c.Expiry == nil || c.IssuedAt == nil:
		return badToken("no exp or iat")
	case !now.Before(c.Expiry.Time().Add(tokenLeeway)):
		return badToken("expired")
	case c.IssuedAt.Time().After(now.Add(tokenLeeway)):
		return badToken("issued in the future")
	case c.NotBefore != nil && c.NotBefore.Time().After(now.Add(tokenLeeway)):
		return badToken("not yet valid")
	case c.Expiry.Time().Sub(c.IssuedAt.Time()) > tokenLife:
		return badToken("lives too long")
	}
	return nil
}
