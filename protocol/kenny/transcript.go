package kenny

import (
	"crypto/ed25519"
	"fmt"
)

// transcriptLabel separates these signatures from any other use of the keys.
const transcriptLabel = "kenny-mutual-auth-v1"

// Transcript is the byte string both sides sign. It names no role, so an
// endpoint must verify the hub before it signs, and a hub must never enrol its
// own key: either mistake would let one side's signature pass for the other's.
func Transcript(agentID string, clientNonce, serverNonce []byte) ([]byte, error) {
	if err := CheckID(agentID); err != nil {
		return nil, err
	}
	if err := exactly("client_nonce", clientNonce, NonceSize); err != nil {
		return nil, err
	}
	if err := exactly("server_nonce", serverNonce, NonceSize); err != nil {
		return nil, err
	}
	t := make([]byte, 0, len(transcriptLabel)+len(agentID)+2*NonceSize+3)
	t = append(t, transcriptLabel...)
	t = append(t, 0)
	t = append(t, agentID...)
	t = append(t, 0)
	t = append(t, clientNonce...)
	t = append(t, 0)
	return append(t, serverNonce...), nil
}

// Sign signs a transcript.
func Sign(key ed25519.PrivateKey, transcript []byte) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, ErrBadSeed
	}
	return ed25519.Sign(key, transcript), nil
}

// Verify accepts a signature by any of the keys, else [ErrUnsigned].
func Verify(transcript, signature []byte, keys ...ed25519.PublicKey) error {
	if err := exactly("signature", signature, ed25519.SignatureSize); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsigned, err)
	}
	for _, k := range keys {
		if len(k) == ed25519.PublicKeySize && ed25519.Verify(k, transcript, signature) {
			return nil
		}
	}
	return ErrUnsigned
}
