package identity

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"parley.internal/protocol/viber"
)

// Reasons for which a signed challenge is refused.
const (
	BadSignature   Reason = "bad_signature"
	DeviceMismatch Reason = "device_mismatch"
)

// Challenge is what a device signs to prove that it holds its key. The text is
// the board protocol's; every face that asks devices for a proof uses it.
type Challenge viber.Challenge

// Text is the six lines that are signed. A field with a newline is invalid.
func (c Challenge) Text() (string, error) {
	text, err := viber.Challenge(c).Text()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return text, nil
}

// Sign answers the challenge, as a client does.
func (c Challenge) Sign(key ed25519.PrivateKey) (string, error) { return viber.Challenge(c).Sign(key) }

// Verify checks a response against the device's key. The device id must be the
// one the key gives. A refusal is an *AuthError.
func (c Challenge) Verify(key ed25519.PublicKey, response string) error {
	err := viber.Challenge(c).Verify(key, response)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, viber.ErrDeviceMismatch):
		return refused(DeviceMismatch, "")
	default:
		return refused(BadSignature, "")
	}
}

// DeviceID is the id that a key gives its device.
func DeviceID(key ed25519.PublicKey) string { return viber.DeviceID(key) }

// ParsePublicKey reads a device's key: 32 bytes in base64url.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	key, err := viber.ParsePublicKey(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return key, nil
}
