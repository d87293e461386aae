package kibitz

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"slices"
	"strings"
	"time"
)

// algRS256 is the one algorithm of credits; what a token's header says only
// decides whether it is refused.
const algRS256 = "RS256"

// CreditRules is what a room asks of a credit.
type CreditRules struct {
	Issuers []string
	// Kind is the claim k; empty asks for none.
	Kind string
	Room string
	Keys *KeySet
}

// Credit is an accepted credit. Whether its subject is already in use is for
// the hub to know.
type Credit struct {
	Sub string
	Exp time.Time
}

// CreditKid gives the name of the key a credit says it was signed with, for a
// cache of key sets. Nothing of it is verified.
func CreditKid(token string) (kid string, named bool) {
	parts, ok := splitJWS(token)
	if !ok {
		return "", false
	}
	return parts.kid()
}

// VerifyCredit judges a credit, in the order the protocol gives. The error is
// a [*Refusal].
func VerifyCredit(token string, rules CreditRules, now time.Time) (*Credit, error) {
	parts, ok := splitJWS(token)
	if !ok {
		return nil, CreditRefusal("malformed credential")
	}
	if reason := parts.checkHeader(); reason != "" {
		return nil, CreditRefusal(reason)
	}
	if reason := parts.checkSignature(rules.Keys); reason != "" {
		return nil, CreditRefusal(reason)
	}
	if reason := checkClaims(parts.claims, rules, now); reason != "" {
		return nil, CreditRefusal(reason)
	}
	sub, _ := parts.claims.text("sub")
	exp, _ := parts.claims.number("exp")
	return &Credit{Sub: sub, Exp: time.Unix(int64(min(exp, MaxN/1000)), 0)}, nil
}

type jws struct {
	signed         string
	sig            string
	header, claims object
}

// splitJWS takes a compact JWS apart; its signature is looked at later.
func splitJWS(token string) (jws, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > MaxProof {
		return jws{}, false
	}
	header, okH := jsonPart(parts[0])
	claims, okC := jsonPart(parts[1])
	return jws{parts[0] + "." + parts[1], parts[2], header, claims}, okH && okC
}

func jsonPart(s string) (object, bool) {
	data, err := decodeBase64(s)
	if err != nil {
		return nil, false
	}
	o, err := readObject(data)
	return o, err == nil
}

func (j jws) kid() (string, bool) {
	kid, _ := j.header.text("kid")
	return kid, j.header.has("kid")
}

func (j jws) checkHeader() string {
	alg, _ := j.header.text("alg")
	typ, _ := j.header.text("typ")
	switch {
	case alg != algRS256:
		return withFound("unsupported alg", alg)
	case j.header.has("typ") && typ != "JWT":
		return withFound("unexpected typ", typ)
	case j.header.has("crit"):
		return "malformed credential" // extensions we would have to understand
	}
	return ""
}

func (j jws) checkSignature(set *KeySet) string {
	kid, named := j.kid()
	keys := set.choose(kid, named)
	switch {
	case len(keys) == 0 && named:
		return withFound("no key for kid", kid)
	case len(keys) == 0:
		return "no usable key"
	}
	sig, err := decodeBase64(j.sig)
	if err != nil {
		return reasonBadSignature
	}
	sum := sha256.Sum256([]byte(j.signed))
	verifies := func(k *rsa.PublicKey) bool {
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], sig) == nil
	}
	if !slices.ContainsFunc(keys, verifies) {
		return reasonBadSignature
	}
	return ""
}

func checkClaims(o object, rules CreditRules, now time.Time) string {
	iss, _ := o.text("iss")
	sub, _ := o.text("sub")
	at, skew := float64(now.Unix()), ClockSkew.Seconds()
	exp, expires := o.number("exp")
	switch {
	case iss == "" || !slices.Contains(rules.Issuers, iss):
		return withFound("bad iss", iss)
	case rules.Kind != "" && !o.is("k", rules.Kind):
		return "wrong kind"
	case !expires || at >= exp+skew:
		return reasonExpired
	case o.after("nbf", at+skew):
		return "not yet valid"
	case o.after("iat", at+skew):
		return "issued in the future"
	case sub == "":
		return "no sub"
	case o.has("room") && !o.is("room", rules.Room):
		return reasonWrongRoom
	}
	return ""
}

// after tells whether a time claim lies after t; one that is no number does.
func (o object) after(key string, t float64) bool {
	n, ok := o.number(key)
	return o.has(key) && (!ok || n > t)
}

func withFound(reason, found string) string {
	return strings.TrimSpace(reason + " " + quoteReason(found))
}
