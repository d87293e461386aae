package kibitz

import "time"

// assertionKind marks a proof of possession, so that no other signed thing
// can stand for one.
const assertionKind = "kbz-agent-key.v1"

// AllowedKey is an entry of an allow-list. The key stays as it was written:
// one that cannot be imported is skipped, not fatal.
type AllowedKey struct {
	Key   Raw    `json:"key"`
	Caps  *Grant `json:"caps,omitzero"`
	Label string `json:"label,omitzero"`
}

// SignAssertion proves possession of a key on one connection.
func SignAssertion(key *PrivateKey, room, fingerprint string, now time.Time) (string, error) {
	return Sign(key, struct {
		K    string `json:"k"`
		Room string `json:"room"`
		FP   string `json:"fp"`
		Iat  int64  `json:"iat"`
	}{assertionKind, room, NormalFingerprint(fingerprint), now.Unix()})
}

// Proven is the outcome of a good assertion.
type Proven struct {
	Key *PublicKey
	// Entry is the place in the allow-list.
	Entry int
}

// VerifyAssertion finds the allowed key that made the assertion and judges it.
// The first key that verifies decides. The error is a [*Refusal].
func VerifyAssertion(token, room, fingerprint string, allowed []AllowedKey, now time.Time) (*Proven, error) {
	if token == "" || NormalFingerprint(fingerprint) == "" {
		return nil, gateRefusal(reasonMissing)
	}
	if len(allowed) == 0 {
		return nil, gateRefusal(reasonNoKeys)
	}
	s, ok := splitToken(token)
	if !ok || len(token) > MaxAssertion {
		return nil, gateRefusal(reasonNoMatch)
	}
	for i, entry := range allowed {
		key, err := ParsePublicKey(entry.Key)
		if err != nil || !key.verify(s.body, s.sig) {
			continue
		}
		if reason := judgeAssertion(s.claims, room, fingerprint, now); reason != "" {
			return nil, gateRefusal(reason)
		}
		return &Proven{Key: key, Entry: i}, nil
	}
	return nil, gateRefusal(reasonNoMatch)
}

func judgeAssertion(o object, room, fingerprint string, now time.Time) string {
	age, dated := o.age(now)
	switch {
	case !o.is("k", assertionKind):
		return reasonWrongKind
	case !o.is("room", room):
		return reasonWrongRoom
	case !o.boundTo(fingerprint):
		return reasonNotBound
	case !dated:
		return reasonNoIat
	case -age > ClockSkew:
		return reasonFuture
	case age > MaxAssertionAge:
		return reasonStale
	}
	return ""
}
