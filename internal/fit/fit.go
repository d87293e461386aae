// Package fit makes the words of others fit where they go: a column, a line, so many characters.
package fit

import (
	"strings"
	"unicode/utf8"
)

// Storable is a text that both databases, and JSON, hold as it is.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// OneLine puts everything on one line, with one space where there was any.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Head is the beginning of a text: at most n bytes, and no half character at its end.
func Head(s string, n int) string {
	n = max(n, 0)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Cut is a text of at most n bytes, and "…" behind it where some are missing.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n) + "…"
}

// Clip is a text of at most n characters; where some are missing the last one is "…".
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	end := 0
	for i := range s {
		if n--; n == 0 {
			end = i
			break
		}
	}
	return s[:end] + "…"
}
