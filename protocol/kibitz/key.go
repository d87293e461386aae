package kibitz

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"

	"github.com/go-json-experiment/json"
)

const coordinate = 32 // bytes of a P-256 number

// PublicKey is a P-256 key that verifies tokens.
type PublicKey struct{ key *ecdsa.PublicKey }

// jwk is the form on the wire; its order is the one a thumbprint hashes.
type jwk struct {
	Crv string `json:"crv"`
	D   string `json:"d,omitzero"`
	Kty string `json:"kty"`
	X   string `json:"x"`
	Y   string `json:"y"`
}

// NewPublicKey wraps a key; it must be P-256.
func NewPublicKey(key *ecdsa.PublicKey) (*PublicKey, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return nil, ErrBadKey
	}
	if _, err := key.Bytes(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return &PublicKey{key}, nil
}

// ParsePublicKey imports a JWK. Members it does not need are ignored, but a
// private key is refused: it has no business in a list of public ones.
func ParsePublicKey(raw Raw) (*PublicKey, error) {
	o, err := readObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if _, private := o["d"]; private {
		return nil, fmt.Errorf("%w: it holds a private key", ErrBadKey)
	}
	return publicFrom(o)
}

func publicFrom(o object) (*PublicKey, error) {
	kty, _ := o.text("kty")
	crv, _ := o.text("crv")
	x, okX := o.bytes32("x")
	y, okY := o.bytes32("y")
	if kty != "EC" || crv != "P-256" || !okX || !okY {
		return nil, ErrBadKey
	}
	// 4 marks an uncompressed point; the parser checks that it is on the curve.
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return &PublicKey{key}, nil
}

func (o object) bytes32(key string) ([]byte, bool) {
	s, _ := o.text(key)
	b, err := decodeBase64(s)
	return b, err == nil && len(b) == coordinate
}

func (k *PublicKey) jwk() jwk {
	point, err := k.key.Bytes()
	if err != nil {
		return jwk{} // both constructors have checked the point
	}
	x, y := point[1:1+coordinate], point[1+coordinate:]
	return jwk{Crv: "P-256", Kty: "EC", X: encodeBase64(x), Y: encodeBase64(y)}
}

// MarshalJSON writes the JWK with the members a thumbprint is made of.
func (k *PublicKey) MarshalJSON() ([]byte, error) { return json.Marshal(k.jwk()) }

// Thumbprint is the key's name: RFC 7638 with SHA-256, base64url.
func (k *PublicKey) Thumbprint() string {
	j := k.jwk()
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":%q,"kty":%q,"x":%q,"y":%q}`, j.Crv, j.Kty, j.X, j.Y))
	return encodeBase64(sum[:])
}

// Equal tells whether both are the same key.
func (k *PublicKey) Equal(other *PublicKey) bool { return k.key.Equal(other.key) }

// verify checks a raw r‖s signature over text.
func (k *PublicKey) verify(text string, sig []byte) bool {
	if len(sig) != 2*coordinate {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	r, s := new(big.Int).SetBytes(sig[:coordinate]), new(big.Int).SetBytes(sig[coordinate:])
	return ecdsa.Verify(k.key, sum[:], r, s)
}

// PrivateKey signs tokens.
type PrivateKey struct{ key *ecdsa.PrivateKey }

// NewPrivateKey wraps a key; it must be P-256.
func NewPrivateKey(key *ecdsa.PrivateKey) (*PrivateKey, error) {
	if key == nil {
		return nil, ErrBadKey
	}
	if _, err := NewPublicKey(&key.PublicKey); err != nil {
		return nil, err
	}
	return &PrivateKey{key}, nil
}

// ParsePrivateKey imports a private JWK; its public half must belong to it.
func ParsePrivateKey(raw Raw) (*PrivateKey, error) {
	o, err := readObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	public, err := publicFrom(o)
	if err != nil {
		return nil, err
	}
	d, ok := o.bytes32("d")
	if !ok {
		return nil, fmt.Errorf("%w: no private half", ErrBadKey)
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if !key.PublicKey.Equal(public.key) {
		return nil, fmt.Errorf("%w: its halves do not belong together", ErrBadKey)
	}
	return &PrivateKey{key}, nil
}

// Public is the half to show around.
func (k *PrivateKey) Public() *PublicKey { return &PublicKey{&k.key.PublicKey} }

// ExportPrivate writes the JWK with its secret. It is no MarshalJSON, so that
// no key leaves by being part of something else.
func (k *PrivateKey) ExportPrivate() ([]byte, error) {
	d, err := k.key.Bytes()
	if err != nil {
		return nil, err
	}
	j := k.Public().jwk()
	j.D = encodeBase64(d)
	return json.Marshal(j)
}

// MarshalJSON refuses: see ExportPrivate.
func (k *PrivateKey) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a private key is exported by name only")
}

// sign makes a raw r‖s signature over text. It needs no randomness (RFC 6979).
func (k *PrivateKey) sign(text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	der, err := k.key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, err
	}
	out := make([]byte, 2*coordinate)
	rs.R.FillBytes(out[:coordinate])
	rs.S.FillBytes(out[coordinate:])
	return out, nil
}
