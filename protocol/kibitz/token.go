package kibitz

import (
	"strings"
	"time"
)

// Sign makes a token of claims: base64url of their JSON, a dot, base64url of
// the signature over the first part's text.
func Sign(key *PrivateKey, claims any) (string, error) {
	data, err := marshal(claims)
	if err != nil {
		return "", err
	}
	body := encodeBase64(data)
	sig, err := key.sign(body)
	if err != nil {
		return "", err
	}
	return body + "." + encodeBase64(sig), nil
}

// signed is a token taken apart, not yet verified.
type signed struct {
	body   string
	sig    []byte
	claims object
}

// splitToken checks the form of a token. Nothing in it may be believed before
// verify.
func splitToken(token string) (signed, bool) {
	body, tail, ok := strings.Cut(token, ".")
	if !ok || body == "" || tail == "" {
		return signed{}, false
	}
	data, err := decodeBase64(body)
	if err != nil {
		return signed{}, false
	}
	sig, err := decodeBase64(tail) // a second dot is no base64url
	if err != nil || len(sig) != 2*coordinate {
		return signed{}, false
	}
	claims, err := readObject(data)
	return signed{body, sig, claims}, err == nil
}

// openToken gives the claims of a token the key has signed.
func openToken(key *PublicKey, token string) (object, bool) {
	s, ok := splitToken(token)
	if !ok || key == nil || !key.verify(s.body, s.sig) {
		return nil, false
	}
	return s.claims, true
}

// is tells whether a claim is exactly this text.
func (o object) is(key, want string) bool {
	s, ok := o.text(key)
	return ok && s == want
}

// boundTo tells whether the claim fp names this connection.
func (o object) boundTo(fingerprint string) bool {
	s, _ := o.text("fp")
	s = NormalFingerprint(s)
	return s != "" && s == NormalFingerprint(fingerprint)
}

// age is how long ago the token says it was made, judged in whole seconds.
func (o object) age(now time.Time) (time.Duration, bool) {
	iat, ok := o.number("iat")
	if !ok {
		return 0, false
	}
	const far = 1e9 // more would overflow, and is as stale or as future
	age := min(max(float64(now.Unix())-iat, -far), far)
	return time.Duration(age * float64(time.Second)), true
}

// past tells whether now is at or after the claim exp; none counts as past.
func (o object) past(now time.Time) bool {
	exp, ok := o.number("exp")
	return !ok || float64(now.Unix()) >= exp
}
