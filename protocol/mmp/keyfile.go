package mmp

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// EncodePrivateKey writes the key file: PKCS#1 PEM. Keep it at mode 0600.
func EncodePrivateKey(k *PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pkcs1Type, Bytes: x509.MarshalPKCS1PrivateKey(k.rsa)})
}

const (
	pkcs1Type = "RSA PRIVATE KEY"
	pkcs8Type = "PRIVATE KEY"
)

// ParsePrivateKey reads a key file: PKCS#1, PKCS#8, or PKCS#1 in the legacy
// encrypted PEM that other implementations write. The passphrase is only looked
// at for the last; a wrong one is [ErrPassphrase].
func ParsePrivateKey(text, passphrase []byte) (*PrivateKey, error) {
	if len(text) > MaxPEM {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrBadKey, MaxPEM)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: not PEM", ErrBadKey)
	}
	if _, encrypted := block.Headers["DEK-Info"]; encrypted {
		return decryptPrivateBlock(block, passphrase)
	}
	key, err := parsePrivateDER(block.Type, block.Bytes)
	if err != nil {
		return nil, err
	}
	return newPrivateKey(key)
}

func decryptPrivateBlock(block *pem.Block, passphrase []byte) (*PrivateKey, error) {
	der, err := decryptLegacy(block, passphrase)
	if err != nil {
		return nil, err
	}
	key, err := parsePrivateDER(block.Type, der)
	if err != nil {
		// One wrong passphrase in 256 leaves padding that looks right.
		return nil, ErrPassphrase
	}
	return newPrivateKey(key)
}

func parsePrivateDER(typ string, der []byte) (*rsa.PrivateKey, error) {
	switch typ {
	case pkcs1Type:
		key, err := x509.ParsePKCS1PrivateKey(der)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
		}
		return key, nil
	case pkcs8Type:
		return parsePKCS8(der)
	}
	return nil, fmt.Errorf("%w: a %q is not a private key this program reads", ErrBadKey, Clip(typ, 40))
}

func parsePKCS8(der []byte) (*rsa.PrivateKey, error) {
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	if key, ok := any.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("%w: not RSA", ErrBadKey)
}
