package mmp

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Headers of a call between peered places.
const (
	HeaderPeer      = "Parley-Peer"
	HeaderTime      = "Parley-Time"
	HeaderNonce     = "Parley-Nonce"
	HeaderSignature = "Parley-Signature"
)

// ErrPeerCall is a call that is not signed by the peer, or not now, or not for us.
var ErrPeerCall = errors.New("the call between places does not verify")

// PeerCall is what the signature of a call between places covers. Whether the
// nonce is fresh is the receiver's to know.
type PeerCall struct {
	Method string
	Target string // path and query as sent
	Body   []byte
	Time   string // as in the header
	Nonce  string
	From   string // place id of the caller
	To     string // place id of the called
}

func (c PeerCall) text() ([]byte, error) {
	parts := []string{c.Method, c.Target, HashOf(c.Body).Bare(), c.Time, c.Nonce, c.From, c.To}
	for _, p := range parts {
		if p == "" || !oneLine(p) {
			return nil, fmt.Errorf("%w: a part is empty or has a line break", ErrPeerCall)
		}
	}
	return SignedText(parts...), nil
}

// Sign makes the value of the signature header.
func (c PeerCall) Sign(k ed25519.PrivateKey) (string, error) {
	text, err := c.text()
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(k, text)), nil
}

// Verify checks signature and time.
func (c PeerCall) Verify(k ed25519.PublicKey, signature string, now time.Time) error {
	text, err := c.text()
	if err != nil {
		return err
	}
	sig, err := strictBase64(signature)
	if err != nil || len(k) != ed25519.PublicKeySize || !ed25519.Verify(k, text, sig) {
		return fmt.Errorf("%w: bad signature", ErrPeerCall)
	}
	at, err := ParseTime(c.Time)
	if err != nil || now.Sub(at).Abs() > PeerSkew {
		return fmt.Errorf("%w: its time is off by more than %s", ErrPeerCall, PeerSkew)
	}
	return nil
}

// PlaceIDOf is the id a place's key gives it.
func PlaceIDOf(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return "place_" + hex.EncodeToString(sum[:8])
}

const peerKeyPrefix = "ed25519:"

// FormatPeerKey writes a place's public key as operators exchange it.
func FormatPeerKey(k ed25519.PublicKey) string {
	return peerKeyPrefix + base64.RawURLEncoding.EncodeToString(k)
}

// ParsePeerKey reads it, with either alphabet, padded or not.
func ParsePeerKey(s string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(s), peerKeyPrefix)
	text = strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "=")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: want ed25519: and 32 bytes in base64", ErrBadKey)
	}
	return raw, nil
}
