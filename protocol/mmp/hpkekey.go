package mmp

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/pem"
	"fmt"
)

// KEM names a way to encapsulate a key, as a key entry spells it.
type KEM string

// The two that exist, in the order a sender prefers them.
const (
	KEMHybrid KEM = "MLKEM768X25519"
	KEMX25519 KEM = "X25519"
)

func (k KEM) scheme() (hpke.KEM, bool) {
	switch k {
	case KEMHybrid:
		return hpke.MLKEM768X25519(), true
	case KEMX25519:
		return hpke.DHKEM(ecdh.X25519()), true
	}
	return nil, false
}

// HPKEKey is one private key for envelope 2.
type HPKEKey struct {
	KEM KEM
	key hpke.PrivateKey
}

// GenerateHPKE makes one key of each kind, preferred first.
func GenerateHPKE() ([]HPKEKey, error) {
	var keys []HPKEKey
	for _, kem := range []KEM{KEMHybrid, KEMX25519} {
		scheme, _ := kem.scheme()
		key, err := scheme.GenerateKey()
		if err != nil {
			return nil, err
		}
		keys = append(keys, HPKEKey{KEM: kem, key: key})
	}
	return keys, nil
}

// Public is the half that goes into a key entry.
func (k HPKEKey) Public() []byte { return k.key.PublicKey().Bytes() }

const hpkeType = "MMP HPKE PRIVATE KEY"

// EncodeHPKEKeys writes the file beside the RSA key: one PEM block a key, holding
// the raw private key or seed. Keep it at mode 0600.
func EncodeHPKEKeys(keys []HPKEKey) ([]byte, error) {
	var out []byte
	for _, k := range keys {
		raw, err := k.key.Bytes()
		if err != nil {
			return nil, err
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: hpkeType, Headers: map[string]string{"KEM": string(k.KEM)}, Bytes: raw})...)
	}
	return out, nil
}

// ParseHPKEKeys reads that file.
func ParseHPKEKeys(text []byte) ([]HPKEKey, error) {
	if len(text) > MaxPEM {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrBadKey, MaxPEM)
	}
	var keys []HPKEKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != hpkeType {
			return nil, fmt.Errorf("%w: a %q among HPKE keys", ErrBadKey, Clip(block.Type, 40))
		}
		key, err := newHPKEKey(KEM(block.Headers["KEM"]), block.Bytes)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no HPKE key", ErrBadKey)
	}
	return keys, nil
}

func newHPKEKey(kem KEM, raw []byte) (HPKEKey, error) {
	scheme, ok := kem.scheme()
	if !ok {
		return HPKEKey{}, fmt.Errorf("%w: unknown KEM %q", ErrBadKey, Clip(string(kem), 40))
	}
	key, err := scheme.NewPrivateKey(raw)
	if err != nil {
		return HPKEKey{}, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return HPKEKey{KEM: kem, key: key}, nil
}
