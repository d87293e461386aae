package mmp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
)

// Legacy encrypted PEM (RFC 1421 headers) is weak: one round of MD5 stands between
// a passphrase and its guessers, and nothing authenticates the text. It is read
// because others write it, and written only for taking a key to them.

var legacyCiphers = map[string]int{"AES-128-CBC": 16, "AES-192-CBC": 24, "AES-256-CBC": 32}

// legacyKey stretches a passphrase as OpenSSL always did: MD5 chained over itself,
// the passphrase and the first eight bytes of the IV.
func legacyKey(passphrase, iv []byte, size int) []byte {
	var key, last []byte
	for len(key) < size {
		h := md5.New()
		h.Write(last)
		h.Write(passphrase)
		h.Write(iv[:8])
		last = h.Sum(nil)
		key = append(key, last...)
	}
	return key[:size]
}

func decryptLegacy(block *pem.Block, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphraseNeeded
	}
	name, ivText, _ := strings.Cut(block.Headers["DEK-Info"], ",")
	size, known := legacyCiphers[strings.ToUpper(strings.TrimSpace(name))]
	if !known {
		return nil, fmt.Errorf("%w: encrypted with %q", ErrBadKey, Clip(name, 40))
	}
	iv, err := hex.DecodeString(strings.TrimSpace(ivText))
	if err != nil || len(iv) != aes.BlockSize {
		return nil, fmt.Errorf("%w: bad DEK-Info", ErrBadKey)
	}
	if len(block.Bytes) == 0 || len(block.Bytes)%aes.BlockSize != 0 {
		return nil, fmt.Errorf("%w: cut short", ErrBadKey)
	}
	c, err := aes.NewCipher(legacyKey(passphrase, iv, size))
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(block.Bytes))
	cipher.NewCBCDecrypter(c, iv).CryptBlocks(plain, block.Bytes)
	return unpad(plain)
}

func unpad(plain []byte) ([]byte, error) {
	n := int(plain[len(plain)-1])
	if n == 0 || n > aes.BlockSize {
		return nil, ErrPassphrase
	}
	for _, b := range plain[len(plain)-n:] {
		if int(b) != n {
			return nil, ErrPassphrase
		}
	}
	return plain[:len(plain)-n], nil
}

// EncodeLegacyBackup writes the key as legacy encrypted PEM (AES-256-CBC), for
// other implementations. Prefer [EncodeBackup]: this form is cheap to guess at.
func EncodeLegacyBackup(k *PrivateKey, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphraseNeeded
	}
	iv := make([]byte, aes.BlockSize)
	_, _ = rand.Read(iv) // never fails
	c, err := aes.NewCipher(legacyKey(passphrase, iv, 32))
	if err != nil {
		return nil, err
	}
	der := x509.MarshalPKCS1PrivateKey(k.rsa)
	n := aes.BlockSize - len(der)%aes.BlockSize
	for range n {
		der = append(der, byte(n))
	}
	cipher.NewCBCEncrypter(c, iv).CryptBlocks(der, der)
	return pem.EncodeToMemory(&pem.Block{
		Type: pkcs1Type, Bytes: der,
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC," + strings.ToUpper(hex.EncodeToString(iv))},
	}), nil
}
