package room

import (
	"context"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"parley/protocol/kibitz"
)

// Bounds of an ID token.
const (
	idLeeway = 30 * time.Second
	idAge    = 3600 * time.Second
)

// idKeys gives the verifier the keys our cache has.
type idKeys struct {
	keys *keyServer
	uri  string
}

// VerifySignature implements oidc.KeySet.
func (k idKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	sig, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, err
	}
	kid := ""
	if len(sig.Signatures) > 0 {
		kid = sig.Signatures[0].Header.KeyID
	}
	set, err := k.keys.jose(ctx, nil, k.uri, kid)
	if err != nil {
		return nil, err
	}
	static := &oidc.StaticKeySet{}
	for _, key := range set.Keys {
		if (kid == "" || key.KeyID == kid) && (key.Use == "" || key.Use == "sig") && key.IsPublic() {
			static.PublicKeys = append(static.PublicKeys, key.Key)
		}
	}
	return static.VerifySignature(ctx, token)
}

// idToken lets in a person whose identity provider vouches for an email.
func (g *gate) idToken(ctx context.Context, adm *admission) error {
	conf := g.policy.Humans.OIDC
	if g.said.JWT == "" {
		return deny(kibitz.GateMissing, "an ID token is needed to enter")
	}
	if conf.Issuer == "" || conf.ClientID == "" || conf.JWKSURI == "" {
		return deny(kibitz.GateUnavailable, "this room has no identity provider")
	}
	keys := idKeys{keys: g.keys, uri: conf.JWKSURI}
	if _, err := g.keys.jose(ctx, nil, conf.JWKSURI, ""); err != nil {
		return deny(kibitz.GateUnavailable, "the identity provider's keys are unavailable")
	}
	// Times are judged here, with this protocol's leeway.
	verifier := oidc.NewVerifier(conf.Issuer, keys, &oidc.Config{
		ClientID: conf.ClientID, SupportedSigningAlgs: []string{oidc.RS256}, SkipExpiryCheck: true,
	})
	token, err := verifier.Verify(ctx, g.said.JWT)
	if err != nil {
		return deny(kibitz.GateBadSignature, reasonBadSignature)
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
		return deny(kibitz.GateBadSignature, reasonBadSignature)
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
