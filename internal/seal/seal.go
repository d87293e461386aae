// Package seal keeps bytes secret behind a passphrase, for files that travel: argon2id
// makes a key of the passphrase, XChaCha20-Poly1305 seals with it.
//
//	file, err := seal.Seal(secret, passphrase)
//	secret, err := seal.Open(file, passphrase)      // ErrPassphrase if it does not fit
//
// What it guarantees: a file says nothing but its size; one that was changed, in its
// head too, does not open; and opening a file of others costs a bounded effort.
package seal

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// Failures.
var (
	// ErrPassphrase says that the passphrase is not the one the file was sealed with.
	ErrPassphrase = errors.New("the passphrase does not fit")
	// ErrEmpty says that no passphrase was given.
	ErrEmpty = errors.New("a passphrase is needed")
	// ErrBad says that this is no sealed file, or a damaged one.
	ErrBad = errors.New("not a sealed file")
)

const format = "parley-sealed-1"

// The cost of guessing one passphrase, and the most that a file may ask for: it is
// foreign until its passphrase has fitted.
const (
	rounds, maxRounds   = 3, 16
	memory, maxMemory   = 64 << 10, 1 << 20 // KiB
	threads, maxThreads = 4, 16
	saltSize            = 16
)

// head is what is needed to make the key again. It is authenticated with the rest.
type head struct {
	Format  string `json:"format"`
	KDF     string `json:"kdf"`
	Rounds  uint32 `json:"t"`
	Memory  uint32 `json:"m"`
	Threads uint8  `json:"p"`
	Salt    []byte `json:"salt"`
	Cipher  string `json:"cipher"`
	Nonce   []byte `json:"nonce"`
}

type box struct {
	Head   json.RawMessage `json:"head"`
	Sealed []byte          `json:"sealed"`
}

// Seal makes a file of a secret.
func Seal(secret, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, ErrEmpty
	}
	h := head{
		Format: format, KDF: "argon2id", Rounds: rounds, Memory: memory, Threads: threads, Cipher: "XChaCha20-Poly1305",
		Salt: make([]byte, saltSize), Nonce: make([]byte, chacha20poly1305.NonceSizeX),
	}
	_, _ = rand.Read(h.Salt)  // never fails
	_, _ = rand.Read(h.Nonce) // never fails
	bound, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(h.key(passphrase))
	if err != nil {
		return nil, err
	}
	return json.Marshal(box{Head: bound, Sealed: aead.Seal(nil, h.Nonce, secret, bound)})
}

// Open gives the secret back.
func Open(file, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, ErrEmpty
	}
	var b box
	var h head
	if err := json.Unmarshal(file, &b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	if err := json.Unmarshal(b.Head, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(h.key(passphrase))
	if err != nil {
		return nil, err
	}
	secret, err := aead.Open(nil, h.Nonce, b.Sealed, b.Head)
	if err != nil {
		return nil, ErrPassphrase
	}
	return secret, nil
}

// check refuses what would cost more than a file of ours, before any work.
func (h head) check() error {
	switch {
	case h.Format != format || h.KDF != "argon2id" || h.Cipher != "XChaCha20-Poly1305":
		return fmt.Errorf("%w: not a %s", ErrBad, format)
	case h.Rounds < 1 || h.Rounds > maxRounds || h.Threads < 1 || h.Threads > maxThreads, h.Memory < 8*uint32(h.Threads) || h.Memory > maxMemory:
		return fmt.Errorf("%w: its cost is out of bounds", ErrBad)
	case len(h.Salt) < 8 || len(h.Nonce) != chacha20poly1305.NonceSizeX:
		return fmt.Errorf("%w: cut short", ErrBad)
	}
	return nil
}

func (h head) key(passphrase []byte) []byte {
	return argon2.IDKey(passphrase, h.Salt, h.Rounds, h.Memory, h.Threads, chacha20poly1305.KeySize)
}
