package mask

import (
	"bytes"
	"slices"
)

// mostShown is how much of what may become a secret is shown when nothing more
// comes for a while: somebody types, and wants to see it. Beyond it, it is
// held until it is clear what it is.
const mostShown = 3

// Stream replaces secrets in a text, however it is cut up: what comes out in all is
// what [Mask.Text] makes of the whole. One goroutine uses it.
type Stream struct {
	known known
	// held may be the beginning of a secret; the first shown bytes of it are out already.
	held  []byte
	shown int
	// swallow: a secret of a form was masked, and what follows may still belong to it.
	swallow bool
}

// Push takes output and returns what may be shown of it.
func (s *Stream) Push(data []byte) []byte { return s.replace(data, false) }

// End shows what is left: the stream is over, so nothing grows any more.
func (s *Stream) End() []byte { return s.replace(nil, true) }

// Waiting reports whether Relent would show something.
func (s *Stream) Waiting() bool { return s.shown < len(s.held) && len(s.held) <= mostShown }

// Relent shows a short beginning when nothing more came.
func (s *Stream) Relent() []byte {
	if !s.Waiting() {
		return nil
	}
	out := s.held[s.shown:]
	s.shown = len(s.held)
	return out
}

// Mark is where a stream stands, for [Mask.StreamAt]: the last Held bytes it was given are
// to be given again.
type Mark struct {
	Held    int  `json:"held,omitzero"`
	Shown   int  `json:"shown,omitzero"`
	Swallow bool `json:"swallow,omitzero"`
}

// Mark tells where it stands.
func (s *Stream) Mark() Mark { return Mark{Held: len(s.held), Shown: s.shown, Swallow: s.swallow} }

func (s *Stream) replace(data []byte, last bool) []byte {
	if s.swallow {
		n := body(data)
		s.swallow, data = n == len(data) && !last, data[n:]
	}
	buf := append(s.held, data...)
	// What may still grow into a secret stays; nothing that begins behind it can be
	// decided before it is.
	open := s.undecided(buf, 0, last)
	var out []byte
	skip, from := s.shown, 0 // skip bytes at the front of buf are out already
	search := s.known.search(buf)
	for {
		at, end, growing := search.next(from)
		if at < 0 || at >= open {
			break
		}
		out = append(out, buf[min(max(from, skip), at):at]...)
		out = append(out, Sign...)
		from, skip = end, 0
		s.swallow = growing && end == len(buf) && !last
		if end > open {
			open = s.undecided(buf, end, last)
		}
	}
	out = append(out, buf[min(max(from, skip), open):open]...)
	s.held, s.shown = slices.Clone(buf[open:]), max(skip-open, 0)
	return out
}

// undecided is where at or behind from something begins that may become a secret.
func (s *Stream) undecided(buf []byte, from int, last bool) int {
	if last {
		return len(buf)
	}
	return len(buf) - s.known.begins(buf[from:])
}

// begins is how many bytes at the end of buf may be the beginning of a secret.
func (k known) begins(buf []byte) int {
	longest := 0
	for _, v := range k.values {
		longest = max(longest, overlap(buf, v, len(v)-1, longest))
	}
	for _, f := range k.forms {
		longest = max(longest, f.begins(buf), overlap(buf, f.prefix, len(f.prefix)-1, longest))
	}
	return longest
}

// overlap is the longest end of buf, of at most most bytes and more than least,
// that word begins with.
func overlap(buf []byte, word string, most, least int) int {
	for n := min(most, len(buf)); n > least; n-- {
		if bytes.HasPrefix([]byte(word[:n]), buf[len(buf)-n:]) {
			return n
		}
	}
	return 0
}

// begins is how much at the end of buf is a prefix of the form and too little body.
func (f form) begins(buf []byte) int {
	tail := buf[len(buf)-min(len(buf), len(f.prefix)+f.body-1):]
	for i := bytes.Index(tail, []byte(f.prefix)); i >= 0; {
		rest := tail[i+len(f.prefix):]
		if n := body(rest); n == len(rest) {
			return len(tail) - i
		}
		next := bytes.Index(tail[i+1:], []byte(f.prefix))
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return 0
}

// body is how many letters, digits, "-" and "_" data begins with.
func body(data []byte) int {
	for i, c := range data {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return i
		}
	}
	return len(data)
}
