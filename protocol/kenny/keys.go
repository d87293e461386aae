package kenny

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
)

// maxPins lets a hub's key be replaced without losing a machine.
const maxPins = 2

// ParsePublicKey reads a public key as it is exchanged, in strict base64, and
// checks it with [CheckPublicKey].
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	raw, err := decodeBase64(text)
	if err != nil {
		return nil, fmt.Errorf("%w: not standard padded base64", ErrBadKey)
	}
	key := ed25519.PublicKey(raw)
	return key, CheckPublicKey(key)
}

// FormatPublicKey spells a key as it is exchanged.
func FormatPublicKey(key ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(key)
}

// CheckPublicKey refuses a key that is not 32 bytes, not the one canonical
// spelling of a point on the curve, or a point of small order, under which
// anybody can produce signatures that verify.
func CheckPublicKey(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: %d bytes, not %d", ErrBadKey, len(key), ed25519.PublicKeySize)
	}
	x, y, err := decodePoint(key)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if smallOrder(x, y) {
		return fmt.Errorf("%w: a point of small order", ErrBadKey)
	}
	return nil
}

// ParsePins reads the one or two hub keys an endpoint trusts.
func ParsePins(texts ...string) ([]ed25519.PublicKey, error) {
	if len(texts) == 0 || len(texts) > maxPins {
		return nil, fmt.Errorf("%w, got %d", ErrBadPins, len(texts))
	}
	pins := make([]ed25519.PublicKey, 0, len(texts))
	for _, text := range texts {
		key, err := ParsePublicKey(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		pins = append(pins, key)
	}
	return pins, nil
}

// KeyFromSeed makes a private key from the raw seed a machine stores.
func KeyFromSeed(seed []byte) (ed25519.PrivateKey, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrBadSeed, len(seed))
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// ParseSeed makes a private key from the base64 seed of a hub's key file;
// blanks around it are a text editor's and do not count.
func ParseSeed(text string) (ed25519.PrivateKey, error) {
	seed, err := decodeBase64(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%w: not standard padded base64", ErrBadSeed)
	}
	return KeyFromSeed(seed)
}
