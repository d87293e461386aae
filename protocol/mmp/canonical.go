package mmp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Compact removes insignificant white space and nothing else: escapes and digits
// stay as they were sent. Two members of one name are refused.
func Compact(raw []byte) ([]byte, error) {
	if err := bounded(raw); err != nil {
		return nil, err
	}
	v := Raw(raw).Clone()
	if !v.IsValid() {
		return nil, fmt.Errorf("not valid JSON")
	}
	if err := v.Compact(); err != nil {
		return nil, err
	}
	return v, nil
}

// Sorted is Compact with the members of every object, at any depth, in order of
// their names, compared as UTF-8 after unescaping.
func Sorted(raw []byte) ([]byte, error) {
	compact, err := Compact(raw)
	if err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(compact))
	return appendSorted(make([]byte, 0, len(compact)), dec)
}

// EncodeSorted writes a value of ours in its canonical form: compact, sorted,
// escaping only what JSON requires, so that every verifier agrees on the bytes.
func EncodeSorted(v any) ([]byte, error) {
	raw, err := Encode(v)
	if err != nil {
		return nil, err
	}
	return Sorted(raw)
}

func appendSorted(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	switch dec.PeekKind() {
	case '{':
		return appendSortedObject(dst, dec)
	case '[':
		return appendSortedList(dst, dec)
	}
	v, err := dec.ReadValue()
	return append(dst, v...), err
}

// sortedMember keeps the name as sent, for writing, and unescaped, for sorting.
type sortedMember struct {
	name string
	text []byte
}

func appendSortedObject(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var members []sortedMember
	for dec.PeekKind() != '}' {
		m, err := readSortedMember(dec)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b sortedMember) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.text...)
	}
	return append(dst, '}'), nil
}

func readSortedMember(dec *jsontext.Decoder) (sortedMember, error) {
	raw, err := dec.ReadValue()
	if err != nil {
		return sortedMember{}, err
	}
	name, err := Unquote(raw)
	if err != nil {
		return sortedMember{}, err
	}
	text := append(bytes.Clone(raw), ':')
	text, err = appendSorted(text, dec)
	return sortedMember{name: name, text: text}, err
}

func appendSortedList(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	for first := true; dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendSorted(dst, dec); err != nil {
			return nil, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	return append(dst, ']'), nil
}

// EncodeCompact is Compact, with an empty body as an empty object.
func EncodeCompact(raw []byte) (Raw, error) {
	if len(raw) == 0 {
		return Raw("{}"), nil
	}
	return Compact(raw)
}
