package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// secretBytes is the strength of tokens and addresses made here: 256 bits.
const secretBytes = 32

// newSecret makes a URL-safe secret and the hash that is all the store keeps.
func newSecret() (secret, hash string, err error) {
	raw := make([]byte, secretBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", "", err
	}
	secret = base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashOf(secret), nil
}

// hashOf is what a secret is looked up by. Finding a row by the hash of 256 random
// bits tells a guesser nothing about how near the guess was.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
