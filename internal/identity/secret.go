package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// Secrets of 256 random bits, told apart by their first letters.
const (
	tokenPrefix  = "prl_"
	cookiePrefix = "prc_"
	linkPrefix   = "prk_"
	secretChars  = 43
)

// newSecret makes a secret of one of the kinds.
func newSecret(prefix string) string {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// wellFormed reports whether s could be a secret of the kind.
func wellFormed(s, prefix string) bool {
	body, ok := strings.CutPrefix(s, prefix)
	if !ok || len(body) != secretChars {
		return false
	}
	var raw [32]byte
	n, err := base64.RawURLEncoding.Strict().Decode(raw[:], []byte(body))
	return err == nil && n == len(raw)
}

// TokenForm reports whether s has the form of a token.
func TokenForm(s string) bool { return wellFormed(s, tokenPrefix) }

// sealed is what the database keeps of a secret. The secrets are random, so a
// fast salted hash is as strong as a slow one; see docs/decisions.
type sealed struct {
	lookup     string
	salt, hash []byte
}

func seal(secret string) sealed {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	return sealed{lookup: lookupOf(secret), salt: salt, hash: hashOf(salt, secret)}
}

// opens compares in constant time.
func (s sealed) opens(secret string) bool {
	return subtle.ConstantTimeCompare(hashOf(s.salt, secret), s.hash) == 1
}

func hashOf(salt []byte, secret string) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write([]byte(secret))
	return h.Sum(nil)
}

// lookupOf finds a row without holding any bit of the secret: a truncated hash
// under a label of its own.
func lookupOf(secret string) string {
	sum := sha256.Sum256([]byte("parley lookup\x00" + secret))
	return hex.EncodeToString(sum[:12])
}

// csrfOf derives the token a page must echo. Only who holds the cookie's secret
// can make it, so nothing needs to be kept.
func csrfOf(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("parley csrf v1"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
