package viber

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Summary is the first sentence of a text on one line, at most MaxSummary
// characters; a longer one is cut at a word and ends in an ellipsis.
func Summary(text string) string {
	line := opening(firstParagraph(strings.ToValidUTF8(text, "\uFFFD")))
	line = line[:sentenceEnd(line)]
	if utf8.RuneCountInString(line) <= MaxSummary {
		return line
	}
	runes := []rune(line)
	cut := MaxSummary - 1
	// A word may be longer than any summary; then it is cut itself.
	for c := cut; c > MaxSummary/2; c-- {
		if unicode.IsSpace(runes[c]) {
			cut = c
			break
		}
	}
	return string(runes[:cut]) + "…"
}

// opening is the beginning of a text on one line: all of it, or one character more
// than a summary has. A text may be long, and of what follows nothing is wanted.
func opening(text string) string {
	var line []byte
	for word := range strings.FieldsSeq(text) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, word[:min(len(word), (MaxSummary+1)*utf8.UTFMax)]...)
		if n := utf8.RuneCount(line); n > MaxSummary {
			for ; n > MaxSummary+1; n-- {
				_, size := utf8.DecodeLastRune(line)
				line = line[:len(line)-size]
			}
			break
		}
	}
	return string(line)
}

// firstParagraph ends a sentence without a full stop, such as a heading.
func firstParagraph(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n")
	first, _, _ := strings.Cut(text, "\n\n")
	return first
}

// sentenceEnd returns where the first sentence of a line ends. A western mark
// ends one only before a space or the end, so that v1.2 stays whole.
func sentenceEnd(line string) int {
	for i, r := range line {
		next := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?', '…':
			if next == len(line) || line[next] == ' ' {
				return next
			}
		case '。', '！', '？':
			return next
		}
	}
	return len(line)
}
