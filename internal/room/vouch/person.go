package vouch

import (
	"context"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"parley.internal/protocol/kibitz"
)

// idKeys gives the verifier the keys our cache has.
type idKeys struct {
	keys *Keys
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

// Person verifies the ID token of somebody whose identity provider vouches for an
// email. Times and claims are the caller's to judge, with the room's leeway.
func (k *Keys) Person(ctx context.Context, text string, conf kibitz.OIDCPolicy) (*oidc.IDToken, error) {
	if conf.Issuer == "" || conf.ClientID == "" || conf.JWKSURI == "" {
		return nil, refuse(kibitz.GateUnavailable, "this room has no identity provider")
	}
	if _, err := k.jose(ctx, nil, conf.JWKSURI, ""); err != nil {
		return nil, refuse(kibitz.GateUnavailable, "the identity provider's keys are unavailable")
	}
	verifier := oidc.NewVerifier(conf.Issuer, idKeys{keys: k, uri: conf.JWKSURI}, &oidc.Config{
		ClientID: conf.ClientID, SupportedSigningAlgs: []string{oidc.RS256}, SkipExpiryCheck: true,
	})
	token, err := verifier.Verify(ctx, text)
	if err != nil {
		return nil, refuse(kibitz.GateBadSignature, BadSignature)
	}
	return token, nil
}
