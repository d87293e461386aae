package mmp

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
)

// Key sizes in bits. New keys have the smaller one, which every peer reads.
const (
	MinKeyBits = 2048
	MaxKeyBits = 8192
)

// MaxPEM is far above an 8,192-bit private key.
const MaxPEM = 32 << 10

// PublicKey is an agent's RSA key together with the text it came in.
type PublicKey struct {
	rsa *rsa.PublicKey
	der []byte
	pem string
}

// ParsePublicKey reads a PEM with one RSA public key, as SPKI or PKCS#1. The text
// is kept byte for byte, since fingerprints are taken of it.
func ParsePublicKey(text string) (*PublicKey, error) {
	if len(text) > MaxPEM {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrBadKey, MaxPEM)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, fmt.Errorf("%w: not one PEM block", ErrBadKey)
	}
	key, err := parsePublicBlock(block)
	if err != nil {
		return nil, err
	}
	return newPublicKey(key, text)
}

func parsePublicBlock(block *pem.Block) (*rsa.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
		}
		if key, ok := any.(*rsa.PublicKey); ok {
			return key, nil
		}
		return nil, fmt.Errorf("%w: not RSA", ErrBadKey)
	case "RSA PUBLIC KEY":
		key, err := x509.ParsePKCS1PublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
		}
		return key, nil
	}
	return nil, fmt.Errorf("%w: a %q is not a public key", ErrBadKey, Clip(block.Type, 40))
}

func newPublicKey(key *rsa.PublicKey, text string) (*PublicKey, error) {
	if bits := key.N.BitLen(); bits < MinKeyBits || bits > MaxKeyBits {
		return nil, fmt.Errorf("%w: %d bits, allowed are %d to %d", ErrBadKey, bits, MinKeyBits, MaxKeyBits)
	}
	if key.N.Bit(0) == 0 || key.E < 3 || key.E%2 == 0 {
		return nil, fmt.Errorf("%w: modulus or exponent is even or too small", ErrBadKey)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if text == "" {
		text = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	return &PublicKey{rsa: key, der: der, pem: text}, nil
}

// PEM is the text the key came in.
func (k *PublicKey) PEM() string { return k.pem }

// Size is the length of the modulus in bytes.
func (k *PublicKey) Size() int { return k.rsa.Size() }

// Fingerprint is what a place shows: of the PEM text, so that the same key in
// another dress has another one. Never pin it; see KeyID.
func (k *PublicKey) Fingerprint() string { return fingerprint([]byte(k.pem)) }

// KeyFingerprint is what an agent shows of its own key: of the DER.
func (k *PublicKey) KeyFingerprint() string { return fingerprint(k.der) }

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	pairs := make([]string, 16)
	for i := range pairs {
		pairs[i] = hex.EncodeToString(sum[i : i+1])
	}
	return strings.Join(pairs, ":")
}

// KeyID names the key itself, whatever its dress: what people compare and pins
// hold.
func (k *PublicKey) KeyID() string { return HashOf(k.der).Prefixed() }

// InstanceID is the id an agent of ours gives itself.
func (k *PublicKey) InstanceID() string { return HashOf(k.der).Bare()[:16] }

// Same tells whether two texts hold one key.
func (k *PublicKey) Same(other *PublicKey) bool { return other != nil && k.rsa.Equal(other.rsa) }

// Verify checks a base64 signature (PKCS#1 v1.5, SHA-256).
func (k *PublicKey) Verify(text []byte, signature string) error {
	if len(signature) > MaxSignatureText {
		return ErrBadSignature
	}
	// Signatures of some peers come with line breaks, which this encoding skips.
	sig, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil {
		return ErrBadSignature
	}
	return k.verifyRaw(text, sig)
}

func (k *PublicKey) verifyRaw(text, sig []byte) error {
	sum := sha256.Sum256(text)
	if rsa.VerifyPKCS1v15(k.rsa, crypto.SHA256, sum[:], sig) != nil {
		return ErrBadSignature
	}
	return nil
}

// PrivateKey is an agent's own key. It never leaves its owner.
type PrivateKey struct {
	rsa    *rsa.PrivateKey
	public *PublicKey
}

// GenerateKey makes a 2,048-bit key, the size every peer reads.
func GenerateKey() (*PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, MinKeyBits)
	if err != nil {
		return nil, err
	}
	return newPrivateKey(key)
}

func newPrivateKey(key *rsa.PrivateKey) (*PrivateKey, error) {
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	public, err := newPublicKey(&key.PublicKey, "")
	if err != nil {
		return nil, err
	}
	return &PrivateKey{rsa: key, public: public}, nil
}

// Public is the other half, its PEM an SPKI with a final newline.
func (k *PrivateKey) Public() *PublicKey { return k.public }

// Sign makes a base64 signature (PKCS#1 v1.5, SHA-256).
func (k *PrivateKey) Sign(text []byte) (string, error) {
	sig, err := k.signRaw(text)
	return base64.StdEncoding.EncodeToString(sig), err
}

func (k *PrivateKey) signRaw(text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	return rsa.SignPKCS1v15(rand.Reader, k.rsa, crypto.SHA256, sum[:])
}
