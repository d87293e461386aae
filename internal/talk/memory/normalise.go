package memory

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxIndexed is how much of one text is searchable.
const maxIndexed = 64 << 10

// normalise prepares text, and queries, for both databases: compatibility forms
// are folded (NFKC), letters are lower case without accents, everything that is
// neither letter nor digit is a space, and each Han, Kana or Hangul character is
// a word. What is left are words that both databases cut at the same places.
func normalise(text string) string {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFKC.String(text) {
		appendFolded(&b, unicode.ToLower(r))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func appendFolded(b *strings.Builder, r rune) {
	switch {
	case r < 0x80 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
		b.WriteByte(byte(r))
	case r == 'ς':
		b.WriteRune('σ') // the same letter at the end of a word
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		b.WriteByte(' ')
		b.WriteRune(r)
		b.WriteByte(' ')
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		appendBase(b, r)
	case unicode.Is(unicode.Mn, r):
		// A mark of the letter before: left out.
	default:
		b.WriteByte(' ')
	}
}

// appendBase writes a letter without its accents.
func appendBase(b *strings.Builder, r rune) {
	for _, part := range norm.NFD.String(string(r)) {
		if !unicode.Is(unicode.Mn, part) {
			b.WriteRune(part)
		}
	}
}
