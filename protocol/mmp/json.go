package mmp

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// Raw is a JSON value as it was sent.
type Raw = jsontext.Value

// Encode writes an answer or a message: compact, only what JSON requires is
// escaped, raw members keep their escapes and digits.
func Encode(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true))
}

// Decode reads an answer into a type of this package, or any other: unknown
// members are ignored, nesting and numbers are bounded.
func Decode(data []byte, into any) error {
	if err := bounded(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// DecodeTolerant reads an answer of a place of any generation: a member of another
// shape than ours counts as absent, and only what is no object at all is an error.
func DecodeTolerant(data []byte, into any) error {
	if Decode(data, into) == nil {
		return nil
	}
	o := OpenObject(data)
	if o.Err() != nil {
		return o.Err()
	}
	for name, value := range o.All() {
		if quoted, err := Encode(name); err == nil {
			_ = json.Unmarshal(slices.Concat([]byte("{"), quoted, []byte(":"), value, []byte("}")), into) // left out
		}
	}
	return nil
}

// bounded refuses bombs before anything is allocated for them.
func bounded(raw []byte) error {
	var s boundScan
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c == '"' && !s.inString {
			// Most bytes are in strings without escapes: step over those at once.
			if end := plainEnd(raw[i+1:]); end >= 0 {
				s.next(' ')
				i += end + 1
				continue
			}
		}
		s.next(raw[i])
		switch {
		case s.depth > MaxDepth:
			return fmt.Errorf("nested deeper than %d", MaxDepth)
		case s.number > MaxNumber || s.exponent > MaxExponent:
			return fmt.Errorf("a number of more than %d digits or with a larger exponent than %d digits", MaxNumber, MaxExponent)
		}
	}
	return nil
}

// plainEnd is where a string ends that has no escapes; -1 for all others.
func plainEnd(rest []byte) int {
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return -1
	}
	return end
}

// boundScan follows strings, nesting and numbers; whether the text is JSON at
// all is found out later.
type boundScan struct {
	depth, number, exponent int
	inString, escaped       bool
	inExponent              bool
}

func (s *boundScan) next(c byte) {
	if s.inString {
		s.inString = s.escaped || c != '"'
		s.escaped = !s.escaped && c == '\\'
		return
	}
	switch {
	case c >= '0' && c <= '9':
		s.number++
		if s.inExponent {
			s.exponent++
		}
		return
	case (c == 'e' || c == 'E') && s.number > 0:
		s.inExponent = true
		return
	case c == '.' || c == '+' || c == '-':
		return
	case c == '"':
		s.inString = true
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
	}
	s.number, s.exponent, s.inExponent = 0, 0, false
}

// members are those of an object as parts of it, in its order. There are few, so that
// looking through them costs less than a map.
type members []named

type named struct {
	name  []byte
	value Raw
}

// find tells where a member is; -1 is nowhere.
func (m members) find(name string) int {
	for i := range m {
		if string(m[i].name) == name {
			return i
		}
	}
	return -1
}

// get is a member's value, which is nil when it is absent.
func (m members) get(name string) (value Raw, there bool) {
	if i := m.find(name); i >= 0 {
		return m[i].value, true
	}
	return nil, false
}

// usualMembers is how many members most objects have at most.
const usualMembers = 8

// splitObject finds the members of an object, as parts of raw; nulls are left out.
func splitObject(raw []byte) (members, error) {
	if err := bounded(raw); err != nil {
		return nil, err
	}
	all := make(members, 0, usualMembers)
	err := jsonobject.Read(raw, func(name string, value Raw) {
		if value.Kind() != 'n' {
			all = append(all, named{[]byte(name), value})
		}
	})
	return all, err
}

// longer tells whether a text has more characters than the limit.
func longer(s string, limit int) bool { return len(s) > limit && utf8.RuneCountInString(s) > limit }

// Unquote reads a JSON string.
func Unquote(raw Raw) (string, error) {
	if raw.Kind() != '"' {
		return "", fmt.Errorf("not a string")
	}
	if raw[0] == '"' && plainEnd(raw[1:]) == len(raw)-2 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err
}
