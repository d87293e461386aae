package room

import (
	"context"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"parley.internal/internal/room/vouch"
	"parley.internal/protocol/kibitz"
)

// Bounds of an ID token.
const (
	idLeeway = 30 * time.Second
	idAge    = 3600 * time.Second
)

// issuer lets in an agent an issuer vouches for.
func (g *gate) issuer(ctx context.Context, adm *admission) error {
	key, err := kibitz.ParsePublicKey(g.said.AgentKey)
	if err != nil {
		return deny(kibitz.GateUnlisted, "no matching allowed key")
	}
	entry, claims, err := g.keys.Agent(ctx, g.said.AgentToken, g.policy.Agents.Issuers, g.room, g.now)
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

// idToken lets in a person whose identity provider vouches for an email.
func (g *gate) idToken(ctx context.Context, adm *admission) error {
	if g.said.JWT == "" {
		return deny(kibitz.GateMissing, "an ID token is needed to enter")
	}
	token, err := g.keys.Person(ctx, g.said.JWT, g.policy.Humans.OIDC)
	if err != nil {
		return err
	}
	return g.idClaims(adm, token)
}

func (g *gate) idClaims(adm *admission, token *oidc.IDToken) error {
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"`
		Name     string `json:"name"`
	}
	if token.Claims(&claims) != nil {
		return deny(kibitz.GateBadSignature, vouch.BadSignature)
	}
	verified := claims.Verified == true || claims.Verified == "true"
	switch {
	case !g.boundNonce(token.Nonce):
		return deny(kibitz.GateNotBound, "not cert-bound to this connection")
	case !g.now.Before(token.Expiry.Add(idLeeway)), g.now.Sub(token.IssuedAt) > idAge+idLeeway:
		return deny(kibitz.GateExpired, "expired")
	case token.IssuedAt.Sub(g.now) > idLeeway:
		return deny(kibitz.GateFuture, "issued in the future")
	case claims.Email == "" || !verified:
		return deny(kibitz.GateNotListed, "no verified email")
	}
	host := g.policy.Host.Email != "" && kibitz.SameEmail(claims.Email, g.policy.Host.Email)
	if !host && !g.policy.Humans.OIDC.Allows(claims.Email, g.room) {
		return deny(kibitz.GateNotListed, "this email is not listed")
	}
	adm.Proven, adm.Anchor.Kind, adm.Email, adm.name = true, anchorOIDC, kibitz.NormalEmail(claims.Email), claims.Name
	adm.Label = adm.Email
	return nil
}

// boundNonce compares with every fingerprint that is still good.
func (g *gate) boundNonce(nonce string) bool {
	for _, fp := range g.fps {
		if nonce != "" && nonce == kibitz.OIDCNonce(fp, g.room) {
			return true
		}
	}
	return false
}

// chain lets in an agent with a certificate.
func (g *gate) chain(adm *admission) error {
	leaf, err := vouch.Chain(g.said.AgentChain, g.policy.Agents.CA, g.now)
	if err != nil {
		return deny(kibitz.GateChain, err.Error())
	}
	key, err := vouch.LeafKey(leaf)
	if err != nil {
		return deny(kibitz.GateChain, "the certificate has no P-256 key")
	}
	jwk, err := key.MarshalJSON()
	if err != nil {
		return deny(kibitz.GateChain, "the certificate has no P-256 key")
	}
	if len(g.said.AgentKey) > 0 {
		shown, err := kibitz.ParsePublicKey(g.said.AgentKey)
		if err != nil || !shown.Equal(key) {
			return deny(kibitz.GateUnlisted, "the certificate is for another key")
		}
	}
	if _, err := g.proof([]kibitz.AllowedKey{{Key: jwk}}); err != nil {
		return err
	}
	g.setKey(adm, key)
	adm.Anchor = anchor{Kind: anchorCA, Chain: g.said.AgentChain}
	adm.Label, adm.Allowed = vouch.SPIFFEName(leaf, g.policy.Agents.CA.SPIFFE), agentGrant(g.policy.Agents.CA.Grant)
	return nil
}
