package viber

import (
	"strings"
	"unicode/utf8"
)

// Chunk is a piece of terminal output: valid UTF-8, and the raw byte position
// after it.
type Chunk struct {
	Data   string
	Offset int64
}

// TextSplitter turns the bytes of a terminal, however they were cut up on the
// way, into chunks of valid UTF-8. A character that has not come whole is held
// back, at most three bytes of it. A byte that cannot be part of any character
// becomes U+FFFD. The zero value begins at offset 0.
type TextSplitter struct {
	held   [utf8.UTFMax - 1]byte
	n      int
	offset int64
}

// NewTextSplitter begins at a raw byte position.
func NewTextSplitter(offset int64) *TextSplitter { return &TextSplitter{offset: offset} }

// Offset is the raw byte position after the last chunk that was given out.
func (s *TextSplitter) Offset() int64 { return s.offset }

// Push takes raw bytes and returns what can be shown now, in chunks of at most
// MaxTerminalData bytes.
func (s *TextSplitter) Push(raw []byte) []Chunk {
	if s.n > 0 {
		raw = append(s.held[:s.n:s.n], raw...)
	}
	end := len(raw) - unfinished(raw)
	s.n = copy(s.held[:], raw[end:])
	return s.chunks(raw[:end])
}

// Flush gives out what is held back, when nothing more will come.
func (s *TextSplitter) Flush() []Chunk {
	raw := append([]byte(nil), s.held[:s.n]...)
	s.n = 0
	return s.chunks(raw)
}

// unfinished is how many bytes at the end could be the beginning of a character.
func unfinished(raw []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		tail := raw[len(raw)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (s *TextSplitter) chunks(raw []byte) []Chunk {
	var out []Chunk
	for len(raw) > 0 {
		data, used := validText(raw, MaxTerminalData)
		s.offset += int64(used)
		out = append(out, Chunk{Data: data, Offset: s.offset})
		raw = raw[used:]
	}
	return out
}

// validText reads as many raw bytes as make up to max bytes of text.
func validText(raw []byte, max int) (text string, used int) {
	if len(raw) <= max && utf8.Valid(raw) {
		return string(raw), len(raw)
	}
	var b strings.Builder
	b.Grow(min(len(raw), max))
	for used < len(raw) {
		r, size := utf8.DecodeRune(raw[used:])
		if b.Len()+utf8.RuneLen(r) > max {
			break
		}
		b.WriteRune(r)
		used += size
	}
	return b.String(), used
}
