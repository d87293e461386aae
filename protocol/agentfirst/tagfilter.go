package agentfirst

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TagHoldback is the most bytes a TagFilter keeps back while it cannot tell yet
// whether they are a tag. The longest tag the hub itself writes has 79.
const TagHoldback = 96

// TagFilter removes complete from-tags, opening and closing, from a model's
// output while it streams. What it lets through does not depend on how the text
// was cut, and holds no complete from-tag of up to TagHoldback bytes: not even
// one that removing another would have put together. The zero value is ready.
type TagFilter struct {
	held []byte // begins with '<' when not empty
	tail []byte // the last bytes let through, at most TagHoldback-1
	out  strings.Builder
}

// Write takes the next piece of output and returns what may be passed on.
func (f *TagFilter) Write(piece string) string {
	f.feed(piece)
	return f.take()
}

// Flush ends the output and returns what was still held back.
func (f *TagFilter) Flush() string {
	for len(f.held) > 0 {
		f.releaseFirst()
	}
	return f.take()
}

// StripTags is the filter over a whole text.
func StripTags(text string) string {
	var f TagFilter
	return f.Write(text) + f.Flush()
}

func (f *TagFilter) take() string {
	s := f.out.String()
	f.out.Reset()
	return s
}

func (f *TagFilter) feed(piece string) {
	for len(piece) > 0 {
		if len(f.held) == 0 {
			i := strings.IndexByte(piece, '<')
			if i < 0 {
				i = len(piece)
			}
			f.emit(piece[:i])
			if piece = piece[i:]; piece == "" {
				return
			}
		}
		f.held = append(f.held, piece[0])
		piece = piece[1:]
		f.decide()
	}
}

// decide looks at the held bytes after one more has come.
func (f *TagFilter) decide() {
	switch state := tagState(string(f.held)); {
	case state == matched:
		f.held = f.held[:0]
	case state == unmatched, len(f.held) == TagHoldback:
		f.releaseFirst()
	}
}

// releaseFirst lets the held bytes go up to the next '<', which may begin a tag
// of its own, and takes the rest in again.
func (f *TagFilter) releaseFirst() {
	held := string(f.held)
	f.held = f.held[:0]
	next := strings.IndexByte(held[1:], '<') + 1
	if next == 0 {
		f.emit(held)
		return
	}
	f.emit(held[:next])
	f.feed(held[next:])
}

// emit lets s through, without any '>' that would complete a tag with what went
// out before.
func (f *TagFilter) emit(s string) {
	for s != "" {
		i := strings.IndexByte(s, '>')
		if i < 0 {
			f.pass(s)
			return
		}
		f.pass(s[:i])
		if !f.completesTag() {
			f.pass(">")
		}
		s = s[i+1:]
	}
}

func (f *TagFilter) pass(s string) {
	f.out.WriteString(s)
	if len(s) >= TagHoldback {
		s = s[len(s)-TagHoldback+1:]
	}
	f.tail = append(f.tail, s...)
	if over := len(f.tail) - (TagHoldback - 1); over > 0 {
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
}

// completesTag tells whether a '>' now would end a from-tag in the output.
func (f *TagFilter) completesTag() bool {
	open := f.tail[bytes.LastIndexByte(f.tail, '>')+1:]
	for i, c := range open {
		if c == '<' && tagState(string(open[i:])+">") == matched {
			return true
		}
	}
	return false
}

// tagState tells whether s, which begins with '<', is a whole from-tag, may
// become one, or is none: <from> or </from>, in any case, with anything up to
// the next '>' after white space or a slash.
func tagState(s string) match {
	end, m := matchTagName(s, "from")
	if m != matched {
		return m
	}
	rest := s[end:]
	if rest == "" {
		return partial
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && !utf8.FullRuneInString(rest):
		return partial
	case r != '>' && r != '/' && !unicode.IsSpace(r):
		return unmatched
	case rest[len(rest)-1] == '>':
		return matched
	}
	return partial
}
