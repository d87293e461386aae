package visible

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text shows several lines. Line ends and tabs stay; a line end of Windows becomes
// a plain one.
func Text(s string) string { return write(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

// Line shows a text on one line: its line ends and tabs are written out, too.
func Line(s string) string { return write(s, "") }

// Each calls what for every character that Text would write out, with its offset.
func Each(s string, what func(at int, r rune)) {
	walk(s, "\n\t", func(at int, r rune, hides bool) {
		if hides && (r != '\r' || !strings.HasPrefix(s[at:], "\r\n")) {
			what(at, r)
		}
	})
}

// write writes out what is hidden, and all of "\n\t" that is not in keep.
func write(s, keep string) string {
	if plain(s, keep) {
		return s
	}
	var b strings.Builder
	walk(s, keep, func(_ int, r rune, hides bool) {
		if hides {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r) // of bytes that are no text, the replacement character
		}
	})
	return b.String()
}

// walk says of every character whether it is to be written out.
func walk(s, keep string, each func(at int, r rune, hides bool)) {
	var prev neighbour
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		next, _ := utf8.DecodeRuneInString(s[at+size:])
		hides := Hidden(r) || (r == '\n' || r == '\t') && !strings.ContainsRune(keep, r)
		hides = hides && !prev.carries(r, next)
		each(at, r, hides)
		if hides {
			prev = neighbour{}
		} else {
			prev.pass(r)
		}
		at += size
	}
}

// plain tells that there is nothing to write out, for most texts.
func plain(s, keep string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7F || c < ' ' && strings.IndexByte(keep, c) < 0 {
			return false
		}
	}
	return true
}
