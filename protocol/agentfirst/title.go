package agentfirst

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTitle is the length of a title in characters.
const MaxTitle = 60

// Title makes a title of a text: its first sentence on one line, at most
// MaxTitle characters. A text of nothing but white space has none ("").
func Title(text string) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	line = line[:sentenceEnd(line)]
	count := 0
	for i := range line {
		if count == MaxTitle {
			line = line[:i]
			break
		}
		count++
	}
	return strings.TrimRightFunc(line, unicode.IsSpace)
}

// sentenceEnd returns where the first sentence of a line ends. A western mark
// ends one only before a space or the end, so that v1.2 stays whole.
func sentenceEnd(line string) int {
	for i, r := range line {
		next := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?':
			if next == len(line) || line[next] == ' ' {
				return next
			}
		case '。', '！', '？':
			return next
		}
	}
	return len(line)
}
