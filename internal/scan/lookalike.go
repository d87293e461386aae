package scan

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley.internal/internal/visible"
)

// lookalikes are letters of other alphabets, and rare ones of ours, that a person
// reads as an English letter. The list can grow; it need not be complete, because a
// word in two alphabets is found without it.
var lookalikes = invert(map[rune]string{
	'A': "ΑАᎪ", 'a': "ɑαаᴀ", 'B': "ΒВᏴ", 'b': "ʙ", 'C': "СᏟ", 'c': "ϲсᴄ", 'D': "Ꭰ", 'd': "ԁᴅ", 'E': "ΕЕᎬ",
	'e': "εеᴇ", 'F': "Ғ", 'G': "ԌᏀ", 'g': "ɡɢց", 'H': "ΗНᎻ", 'h': "ʜһհ", 'I': "ΙІӀ", 'i': "ɪιі", 'J': "ЈᎫ",
	'j': "ϳјյᴊ", 'K': "ΚКᏦ", 'k': "κкᴋ", 'L': "ԼᏞ", 'l': "ʟӏⅼ", 'M': "ΜМᎷ", 'm': "ᴍ", 'N': "Ν", 'n': "ɴηղո",
	'O': "ΟОՕ", 'o': "οоօᴏ", 'P': "ΡРᏢ", 'p': "ρрքᴘ", 'Q': "Ԛ", 'q': "ԛզ", 'R': "Ꭱ", 'r': "ʀгᴦ", 'S': "ЅՏᏚ",
	's': "ѕꜱ", 'T': "ΤТᎢ", 't': "τᴛ", 'U': "Ս", 'u': "υսᴜ", 'V': "ѴᏙ", 'v': "νѵᴠ", 'W': "ԜᎳ", 'w': "ԝաᴡ",
	'X': "ΧХ", 'x': "χх", 'Y': "ΥУҮᎩ", 'y': "ʏγу", 'Z': "ΖᏃ", 'z': "ᴢ",
})

func invert(by map[rune]string) map[rune]rune {
	out := map[rune]rune{}
	for plain, others := range by {
		for _, r := range others {
			out[r] = plain
		}
	}
	return out
}

// plainLetter is the English letter a character is read as; the character itself if none.
func plainLetter(r rune) rune {
	if plain, ok := lookalikes[r]; ok {
		return plain
	}
	return r
}

// disguised tells that a letter is an English one in another dress: wide, bold, in a circle.
func disguised(r rune) bool {
	if r < 0x80 || r >= 0xFB00 && r <= 0xFB06 || r == 'ª' || r == 'º' { // ligatures and ordinals are ordinary print
		return false
	}
	if !unicode.IsLetter(r) && !unicode.Is(unicode.So, r) {
		return false
	}
	plain := norm.NFKC.String(string(r))
	return len(plain) == 1 && (plain[0]|0x20 >= 'a' && plain[0]|0x20 <= 'z')
}

// fold removes what cannot be seen and unifies what looks alike. Line breaks stay
// where they are.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if visible.Hidden(r) && !unicode.IsSpace(r) {
			return -1
		}
		return plainLetter(r)
	}, norm.NFKC.String(text))
}
