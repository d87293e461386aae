package offline

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley.internal/internal/brain/model"
)

// counter counts white-space separated words of a text that arrives in pieces.
type counter struct {
	n      int64
	inWord bool
}

// keepWithin counts a piece and returns the part that stays within max words (0 = no
// limit); cut tells that something was left out.
func (c *counter) keepWithin(piece string, limit int64) (kept string, cut bool) {
	for i, r := range piece {
		if unicode.IsSpace(r) {
			c.inWord = false
			continue
		}
		if c.inWord {
			continue
		}
		if limit > 0 && c.n == limit {
			return piece[:i], true
		}
		c.inWord = true
		c.n++
	}
	return piece, false
}

func countWords(texts ...string) int64 {
	var n int64
	for _, t := range texts {
		var c counter
		c.keepWithin(t, 0)
		n += c.n
	}
	return n
}

// promptTokens are the words of all texts of a request.
func promptTokens(req *model.Request) int64 {
	n := countWords(req.System)
	for i := range req.Messages {
		n += countWords(req.Messages[i].Text)
	}
	return n
}

// cuts splits what is said into the chunks it is streamed in: after each space,
// or into n near-equal pieces, never inside a character.
func cuts(s string, n int64) iter.Seq[string] {
	if n == 0 {
		return strings.SplitAfterSeq(s, " ")
	}
	return func(yield func(string) bool) {
		runes := int64(utf8.RuneCountInString(s))
		for left := min(n, runes); left > 0; left-- {
			take := runes / left
			piece := clip(s, int(take))
			if !yield(piece) {
				return
			}
			s, runes = s[len(piece):], runes-take
		}
	}
}

// fragment cuts at most size bytes off s, never inside a character.
func fragment(s string, size int) (head, rest string) {
	if len(s) <= size {
		return s, ""
	}
	for size > 1 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size], s[size:]
}

// firstLine is the first line that is not blank, at most n characters of it.
func firstLine(s string, n int) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line, n)
		}
	}
	return ""
}

func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
