package identity

import (
	"crypto/rand"
	"strings"
)

// codeLetters has none that look alike.
const codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// newCode makes a pairing code: eight letters, 40 bits, good against guessing
// because codes are short-lived, single-use and throttled.
func newCode() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:])
	var b strings.Builder
	for i, c := range raw {
		if i == 4 {
			b.WriteByte('-')
		}
		b.WriteByte(codeLetters[int(c)%len(codeLetters)])
	}
	return b.String()
}

// normalCode forgives case, spaces and a missing hyphen.
func normalCode(code string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(code) {
		if r != '-' && r != ' ' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// CodeForm reports whether s could be a pairing code.
func CodeForm(s string) bool {
	code := normalCode(s)
	return len(code) == 8 && strings.Trim(code, codeLetters) == ""
}
