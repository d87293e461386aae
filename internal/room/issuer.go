package room

import (
	"context"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"parley/protocol/kibitz"
)

// Bounds of an issuer's token.
const (
	tokenLeeway = 60 * time.Second
	tokenLife   = 3600 * time.Second
)

// tokenAlgs are what an issuer may sign with; what a token says only decides
// whether it is refused.
var tokenAlgs = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}

// agentClaims are what an issuer says about an agent.
type agentClaims struct {
	jwt.Claims
	Cnf struct {
		JKT string `json:"jkt"`
	} `json:"cnf"`
}

// findIssuer is the entry a token belongs to.
func findIssuer(list []kibitz.IssuerPolicy, iss, sub string, aud []string, room string) (kibitz.IssuerPolicy, bool) {
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

// issuer lets in an agent an issuer vouches for.
func (g *gate) issuer(ctx context.Context, adm *admission) error {
	key, err := kibitz.ParsePublicKey(g.said.AgentKey)
	if err != nil {
		return deny(kibitz.GateUnlisted, "no matching allowed key")
	}
	token, err := jwt.ParseSigned(g.said.AgentToken, tokenAlgs)
	if err != nil {
		return badToken("malformed token")
	}
	entry, claims, err := g.verifyToken(ctx, token)
	if err != nil {
		return err
	}
	if claims.Cnf.JKT != key.Thumbprint() {
		return deny(kibitz.GateUnlisted, "the token is for another key")
	}
	if err := g.ownKey(adm); err != nil {
		return err
	}
	adm.Anchor = anchor{Kind: anchorIssuer, Iss: claims.Issuer, Sub: claims.Subject, Aud: claims.Audience}
	adm.Label, adm.Allowed = claims.Subject, agentGrant(entry.Grant)
	return nil
}

func badToken(reason string) error { return deny(kibitz.GateIssuer, reason) }

// verifyToken finds the entry that signed the token and judges the claims.
func (g *gate) verifyToken(ctx context.Context, token *jwt.JSONWebToken) (kibitz.IssuerPolicy, *agentClaims, error) {
	var unverified agentClaims
	if token.UnsafeClaimsWithoutVerification(&unverified) != nil {
		return kibitz.IssuerPolicy{}, nil, badToken("malformed token")
	}
	entry, ok := findIssuer(g.policy.Agents.Issuers, unverified.Issuer, unverified.Subject, unverified.Audience, g.room)
	if !ok {
		return entry, nil, badToken("no such issuer, audience or subject here")
	}
	set, err := g.keys.jose(ctx, entry.JWKS, entry.JWKSURI, kidOf(token.Headers))
	if err != nil {
		return entry, nil, deny(kibitz.GateUnavailable, "issuer keys unavailable")
	}
	claims := &agentClaims{}
	if !verifies(token, set, claims) {
		return entry, nil, badToken(reasonBadSignature)
	}
	return entry, claims, g.tokenTimes(claims)
}

const reasonBadSignature = "bad signature"

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

func (g *gate) tokenTimes(c *agentClaims) error {
	switch {
	case c.Expiry == nil || c.IssuedAt == nil:
		return badToken("no exp or iat")
	case !g.now.Before(c.Expiry.Time().Add(tokenLeeway)):
		return badToken("expired")
	case c.IssuedAt.Time().After(g.now.Add(tokenLeeway)):
		return badToken("issued in the future")
	case c.NotBefore != nil && c.NotBefore.Time().After(g.now.Add(tokenLeeway)):
		return badToken("not yet valid")
	case c.Expiry.Time().Sub(c.IssuedAt.Time()) > tokenLife:
		return badToken("lives too long")
	}
	return nil
}
