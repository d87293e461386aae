package scan

import (
	"regexp"
	"strings"
)

// markup is a text in which code is blanked: a renderer shows code as it is, so that
// what looks like HTML in it is nothing but words. Where readers of Markdown might
// disagree whether something is code, it is not: a block without an end, a mark after
// a backslash, a piece of code behind the beginning of an element.
func markup(text string) string {
	out := []byte(text)
	fence, from := "", 0
	for start := 0; start < len(text); {
		end := start + strings.IndexByte(text[start:]+"\n", '\n')
		line := text[start:end]
		mark := fenceMark.FindStringSubmatch(line)
		switch {
		case fence == "" && mark != nil && !strings.Contains(mark[2], "`"):
			fence, from = mark[1], end
		case fence != "" && mark != nil && strings.HasPrefix(mark[1], fence) && strings.TrimSpace(mark[2]) == "":
			blank(out[from:start])
			fence = ""
		case fence == "":
			blankSpans(out[start:end])
		}
		start = end + 1
	}
	return string(out)
}

var (
	fenceMark = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")
	element   = regexp.MustCompile(`<[A-Za-z/!?]`)
)

// blank keeps line breaks, so that lines stay where they are.
func blank(part []byte) {
	for i, c := range part {
		if c != '\n' {
			part[i] = ' '
		}
	}
}

// blankSpans blanks pieces of code within a line.
func blankSpans(line []byte) {
	for at := 0; at < len(line); {
		open := strings.IndexByte(string(line[at:]), '`')
		if open < 0 {
			return
		}
		open += at
		n := marks(line[open:])
		if element.Match(line[:open]) || open > 0 && line[open-1] == '\\' {
			return
		}
		length := spanEnd(line[open+n:], n)
		if length < 0 {
			return
		}
		blank(line[open : open+n+length+n])
		at = open + n + length + n
	}
}

// marks counts the marks a line begins with.
func marks(line []byte) int {
	return len(line) - len(strings.TrimLeft(string(line), "`"))
}

// spanEnd is where exactly n marks follow; -1 is nowhere.
func spanEnd(rest []byte, n int) int {
	for i := 0; i < len(rest); i++ {
		if rest[i] != '`' {
			continue
		}
		m := marks(rest[i:])
		if m == n {
			return i
		}
		i += m
	}
	return -1
}
