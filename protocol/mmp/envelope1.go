package mmp

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"slices"
)

// Algorithm1 is what envelope 1 calls itself, whatever the key's size.
const Algorithm1 = "RSA-2048+AES-256-GCM"

// wire1 fixes the order of the members.
type wire1 struct {
	Version      int    `json:"version"`
	Algorithm    string `json:"algorithm"`
	EncryptedKey []byte `json:"encrypted_key"`
	IV           []byte `json:"iv"`
	AuthTag      []byte `json:"auth_tag"`
	Ciphertext   []byte `json:"ciphertext"`
}

// Size1 is the exact length of the blob that holds a plaintext of n bytes.
func Size1(to *PublicKey, n int) int {
	const frame = len(`{"version":1,"algorithm":"","encrypted_key":"","iv":"","auth_tag":"","ciphertext":""}`) + len(Algorithm1)
	return encodedLen(frame + encodedLen(to.Size()) + encodedLen(gcmNonce) + encodedLen(gcmTag) + encodedLen(n))
}

// Seal1 seals for the key of a recipient. OAEP's SHA-1 is the wire's choice and needs
// no collision resistance. It signs nothing: whoever has the public
// key could have written it.
func Seal1(to *PublicKey, plain []byte) (string, error) {
	if len(plain) == 0 {
		return "", ErrPlainEmpty
	}
	if len(plain) > MaxBlob || Size1(to, len(plain)) > MaxBlob {
		return "", ErrPlainTooLarge
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	encrypted, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, to.rsa, key, nil)
	if err != nil {
		return "", err
	}
	iv, sealed, tag, err := sealGCM(key, plain, nil)
	if err != nil {
		return "", err
	}
	return finish(Encode(wire1{Version: 1, Algorithm: Algorithm1, EncryptedKey: encrypted, IV: iv, AuthTag: tag, Ciphertext: sealed}))
}

// Open1 opens envelope 1. What comes out is authenticated by nobody.
func (e *Envelope) Open1(k *PrivateKey) ([]byte, error) {
	if e.Version != 1 {
		return nil, refuse(ReasonUnsupportedEnvelope, "version %d", e.Version)
	}
	if len(e.EncryptedKey) == 0 || len(e.IV) != gcmNonce || len(e.AuthTag) != gcmTag || len(e.Ciphertext) == 0 {
		return nil, refuse(ReasonMalformed, "a member is missing or has the wrong length")
	}
	key, err := rsa.DecryptOAEP(sha1.New(), nil, k.rsa, e.EncryptedKey, nil)
	if err != nil || len(key) != 32 {
		return nil, refuse(ReasonUndecryptable, "it was sealed for another key")
	}
	return openGCM(key, e.IV, e.Ciphertext, e.AuthTag, nil)
}

// sealGCM keeps the tag apart from the ciphertext, as the wire does.
func sealGCM(key, plain, bound []byte) (iv, sealed, tag []byte, err error) {
	aead, err := newGCM(key)
	if err != nil {
		return nil, nil, nil, err
	}
	iv = make([]byte, gcmNonce)
	_, _ = rand.Read(iv) // never fails
	out := aead.Seal(nil, iv, plain, bound)
	cut := len(out) - gcmTag
	return iv, out[:cut:cut], out[cut:], nil
}

func openGCM(key, iv, sealed, tag, bound []byte) ([]byte, error) {
	aead, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, iv, slices.Concat(sealed, tag), bound)
	if err != nil {
		return nil, refuse(ReasonUndecryptable, "the text was changed")
	}
	return plain, nil
}
