package agentfirst

import (
	"bytes"
	"strings"
)

// TagHoldback is the most bytes a TagFilter keeps back while it cannot tell yet
// whether they are a tag. The longest tag the hub itself writes has 79.
const TagHoldback = 96

// TagFilter removes complete from-tags, and the closing tags that belong to them, from
// a model's output while it streams; other elements named from stay. What it lets
// through does not depend on how the text was cut, and holds no complete opening tag
// of up to TagHoldback bytes: not even one that removing another would have put
// together. The zero value is ready.
type TagFilter struct {
	open int    // opening tags that were removed and are not closed yet
	held []byte // begins with '<' when not empty
	tail []byte // the last bytes let through, at most TagHoldback-1
	out  strings.Builder
}

// Write takes the next piece of output and returns what may be passed on.
func (f *TagFilter) Write(piece string) string {
	f.feed(piece)
	return f.drain()
}

// Flush ends the output and returns what was still held back.
func (f *TagFilter) Flush() string {
	for len(f.held) > 0 {
		f.releaseFirst()
	}
	return f.drain()
}

// StripTags is the filter over a whole text.
func StripTags(text string) string {
	var f TagFilter
	return f.Write(text) + f.Flush()
}

func (f *TagFilter) drain() string {
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
	opening, closing := f.tagStates(string(f.held))
	switch {
	case opening == matched:
		f.open++
		f.held = f.held[:0]
	case closing == matched:
		f.open--
		f.held = f.held[:0]
	case opening == unmatched && closing == unmatched, len(f.held) == TagHoldback:
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
	rest := f.tail[bytes.LastIndexByte(f.tail, '>')+1:]
	for i, c := range rest {
		if c != '<' {
			continue
		}
		opening, closing := f.tagStates(string(rest[i:]) + ">")
		if opening == matched || closing == matched {
			return true
		}
	}
	return false
}

// tagStates tells whether s, which begins with '<', is a whole from-tag, opening or closing,
// may become one, or is none. An opening one has anything up to the next '>'; a closing one counts
// only behind an opening one.
func (f *TagFilter) tagStates(s string) (opening, closing match) {
	opening = matchOpening(s)
	if opening == matched && s[len(s)-1] != '>' {
		opening = partial
	}
	if f.open > 0 {
		closing = matchClosing(s)
	}
	return opening, closing
}
