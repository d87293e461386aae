package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Reasons for which a signed challenge is refused.
const (
	BadSignature   Reason = "bad_signature"
	DeviceMismatch Reason = "device_mismatch"
)

// Challenge is what a device signs to prove that it holds its key: a nonce of
// this connection, and everything it asks for, so that no part can be swapped.
type Challenge struct {
	Nonce    string
	DeviceID string
	Role     string
	// Scopes as the client spelled them; the order does not matter.
	Scopes []string
	// Token as sent, or empty.
	Token string
}

// signaturePrefix names the only algorithm there is.
const signaturePrefix = "ed25519."

// Text is the six lines that are signed. A field with a newline is invalid.
func (c Challenge) Text() (string, error) {
	scopes := slices.Sorted(slices.Values(c.Scopes))
	token := ""
	if c.Token != "" {
		sum := sha256.Sum256([]byte(c.Token))
		token = hex.EncodeToString(sum[:])
	}
	lines := []string{"viber-auth-v1", c.Nonce, c.DeviceID, c.Role, strings.Join(scopes, ","), token}
	for _, line := range lines {
		if strings.Contains(line, "\n") {
			return "", fmt.Errorf("%w: a signed field holds a newline", ErrInvalid)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// Sign answers the challenge, as a client does.
func (c Challenge) Sign(key ed25519.PrivateKey) (string, error) {
	text, err := c.Text()
	if err != nil {
		return "", err
	}
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text))), nil
}

// Verify checks a response against the device's key. The device id must be the
// one the key gives. A refusal is an *AuthError.
func (c Challenge) Verify(key ed25519.PublicKey, response string) error {
	if len(key) != ed25519.PublicKeySize || c.DeviceID != DeviceID(key) {
		return refused(DeviceMismatch, "")
	}
	encoded, ok := strings.CutPrefix(response, signaturePrefix)
	if !ok {
		return refused(BadSignature, "")
	}
	signature, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return refused(BadSignature, "")
	}
	text, err := c.Text()
	if err != nil || !ed25519.Verify(key, []byte(text), signature) {
		return refused(BadSignature, "")
	}
	return nil
}

// DeviceID is the id that a key gives its device.
func DeviceID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "dev_" + hex.EncodeToString(sum[:16])
}

// ParsePublicKey reads a device's key: 32 bytes in base64url.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: a public key is 32 bytes in base64url", ErrInvalid)
	}
	return key, nil
}
