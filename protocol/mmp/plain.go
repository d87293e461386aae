package mmp

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// mostPlain is how many members a plain object may have: each name is compared with
// those before it.
const mostPlain = 16

// splitPlain is splitObject for what most requests are: an object of a few strings
// without escapes. It says no to everything else, and to everything that is not
// right; splitObject knows why.
func splitPlain(raw []byte) (members, bool) {
	s := plainScan{rest: raw}
	if !s.skip('{') {
		return nil, false
	}
	all := make(members, 0, usualMembers)
	for {
		name, ok := s.text()
		if !ok || len(all) == mostPlain || !s.skip(':') {
			return nil, false
		}
		value, ok := s.text()
		if !ok {
			return nil, false
		}
		name = name[1 : len(name)-1]
		if all.find(string(name)) >= 0 {
			return nil, false // twice the same name
		}
		all = append(all, named{name, value})
		if s.skip(',') {
			continue
		}
		return all, s.skip('}') && len(s.space()) == 0
	}
}

// plainScan is what is left to look at.
type plainScan struct{ rest []byte }

// space steps over white space and tells what follows.
func (s *plainScan) space() []byte {
	for len(s.rest) > 0 {
		if c := s.rest[0]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
		s.rest = s.rest[1:]
	}
	return s.rest
}

// skip steps over one sign, if it is next.
func (s *plainScan) skip(c byte) bool {
	if rest := s.space(); len(rest) == 0 || rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// text takes a string with its quotes.
func (s *plainScan) text() (Raw, bool) {
	rest := s.space()
	if len(rest) < 2 || rest[0] != '"' {
		return nil, false
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 || !plainText(rest[1:1+end]) {
		return nil, false
	}
	s.rest = rest[end+2:]
	return Raw(rest[: end+2 : end+2]), true
}

// plainText tells whether a string stands for itself: no escapes, no control
// characters, and text at all.
func plainText(text []byte) bool {
	if bytes.IndexByte(text, '\\') >= 0 {
		return false
	}
	rest := text
	for len(rest) >= 8 && allPrintable(binary.LittleEndian.Uint64(rest)) {
		rest = rest[8:]
	}
	for _, c := range rest {
		if c < ' ' {
			return false
		}
	}
	return utf8.Valid(rest)
}

// allPrintable tells of eight bytes at once that they are ASCII without control
// characters: then neither they nor they less ' ' have their highest bit.
func allPrintable(eight uint64) bool {
	const spaces, highest = 0x2020202020202020, 0x8080808080808080
	return (eight|(eight-spaces))&highest == 0
}
