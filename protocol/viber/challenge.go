package viber

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Challenge is what a device signs to prove that it holds its key: a nonce of
// this connection and everything it asks for, so that no part can be swapped.
type Challenge struct {
	// Nonce is the challenge of the welcome, or the session id when refreshing.
	Nonce    string
	DeviceID string
	Role     Role
	// Scopes as the client spells them; their order does not matter.
	Scopes []string
	// Token as sent, or empty.
	Token string
}

// signaturePrefix names the only algorithm there is.
const signaturePrefix = "ed25519."

// Text is the six lines that are signed.
func (c Challenge) Text() (string, error) {
	token := ""
	if c.Token != "" {
		sum := sha256.Sum256([]byte(c.Token))
		token = hex.EncodeToString(sum[:])
	}
	scopes := slices.Sorted(slices.Values(c.Scopes))
	lines := []string{"viber-auth-v1", c.Nonce, c.DeviceID, string(c.Role), strings.Join(scopes, ","), token}
	for _, line := range lines {
		if strings.Contains(line, "\n") {
			return "", ErrBadField
		}
	}
	return strings.Join(lines, "\n"), nil
}

// Sign makes the challenge_response.
func (c Challenge) Sign(key ed25519.PrivateKey) (string, error) {
	text, err := c.Text()
	if err != nil {
		return "", err
	}
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text))), nil
}

// Verify checks a challenge_response. The device id must be the one the key gives.
func (c Challenge) Verify(key ed25519.PublicKey, response string) error {
	if len(key) != ed25519.PublicKeySize || c.DeviceID != DeviceID(key) {
		return ErrDeviceMismatch
	}
	encoded, ok := strings.CutPrefix(response, signaturePrefix)
	signature, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if !ok || err != nil {
		return ErrBadSignature
	}
	text, err := c.Text()
	if err != nil || !ed25519.Verify(key, []byte(text), signature) {
		return ErrBadSignature
	}
	return nil
}

// DeviceID is the id that a key gives its device.
func DeviceID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "dev_" + hex.EncodeToString(sum[:16])
}

// FormatPublicKey writes a key as connection:auth carries it.
func FormatPublicKey(key ed25519.PublicKey) string { return base64.RawURLEncoding.EncodeToString(key) }

// ParsePublicKey reads the public_key of a connection:auth.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, ErrBadKey
	}
	return key, nil
}

// NonceSize is how many random bytes a challenge has.
const NonceSize = 32

// FormatNonce writes random bytes as the challenge of a welcome.
func FormatNonce(random []byte) string { return base64.RawURLEncoding.EncodeToString(random) }
