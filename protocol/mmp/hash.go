package mmp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Hash is a SHA-256. Peers write it in two forms; it is compared as bytes.
type Hash [sha256.Size]byte

const hashPrefix = "sha256:"

// HashOf hashes bytes or a text.
func HashOf[T ~[]byte | ~string](data T) Hash { return sha256.Sum256([]byte(data)) }

// ParseHash reads "sha256:" and 64 hex digits, or the digits alone, in any case.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) == len(hashPrefix)+hex.EncodedLen(len(h)) && strings.EqualFold(s[:len(hashPrefix)], hashPrefix) {
		s = s[len(hashPrefix):]
	}
	if len(s) != hex.EncodedLen(len(h)) {
		return Hash{}, ErrBadHash
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, ErrBadHash
	}
	return h, nil
}

// Prefixed is the form for blobs, extensions and key ids.
func (h Hash) Prefixed() string { return hashPrefix + h.Bare() }

// Bare is the form for skills: peers in the field refuse a prefix there.
func (h Hash) Bare() string { return hex.EncodeToString(h[:]) }

// HashFits tells whether claimed, in either form, is the hash of data.
func HashFits[T ~[]byte | ~string](claimed string, data T) bool {
	h, err := ParseHash(claimed)
	return err == nil && h == HashOf(data)
}

// SameHash compares two claims of any form; what is no hash equals nothing.
func SameHash(a, b string) bool {
	x, errX := ParseHash(a)
	y, errY := ParseHash(b)
	return errX == nil && errY == nil && x == y
}

// HashForm is how hashes of skills are sent; both forms are understood.
type HashForm string

// The forms. Bare is the usual one.
const (
	HashBare     HashForm = "bare"
	HashPrefixed HashForm = "prefixed"
)

// Of writes a hash in this form.
func (f HashForm) Of(h Hash) string {
	if f == HashPrefixed {
		return h.Prefixed()
	}
	return h.Bare()
}
