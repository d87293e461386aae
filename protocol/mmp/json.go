package mmp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is a JSON value as it was sent.
type Raw = jsontext.Value

// Encode writes an answer or a message: compact, only what JSON requires is
// escaped, raw members keep their escapes and digits.
func Encode(v any) ([]byte, error) {
	if a, ok := v.(appender); ok {
		return a.appendJSON(make([]byte, 0, 256)), nil
	}
	return encode(v)
}

func encode(v any) ([]byte, error) {
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

// object is one JSON object being taken apart; the first problem stays.
type object struct {
	members members
	prefix  string
	err     error
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

// openObject reads a request body; an empty one is an empty object.
func openObject(body []byte) *object {
	if len(bytes.TrimSpace(body)) == 0 {
		return &object{}
	}
	members, err := splitObject(body)
	if err != nil {
		return &object{err: ErrInvalidJSON}
	}
	return &object{members: members}
}

// usualMembers is how many members most objects have at most.
const usualMembers = 8

// splitObject finds the members of an object, as parts of raw; nulls are left out.
func splitObject(raw []byte) (members, error) {
	if all, ok := splitPlain(raw); ok {
		return all, nil
	}
	return splitAny(raw)
}

// splitAny is splitObject for whatever there is.
func splitAny(raw []byte) (members, error) {
	if err := bounded(raw); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if k := dec.PeekKind(); k != '{' {
		return nil, fmt.Errorf("not an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	all := make(members, 0, usualMembers)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if value.Kind() != 'n' {
			end := dec.InputOffset()
			all = append(all, named{[]byte(key), raw[end-int64(len(value)) : end : end]})
		}
	}
	return all, atEnd(dec)
}

func atEnd(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one value")
	}
	return nil
}

func (o *object) fail(key string) {
	if o.err == nil {
		o.err = InvalidField(o.prefix + key)
	}
}

func (o *object) has(key string) bool { return o.members.find(key) >= 0 }

// text reads a string of at most limit characters.
func (o *object) text(key string, limit int) string {
	raw, ok := o.members.get(key)
	if !ok {
		return ""
	}
	s, err := unquote(raw)
	if err != nil || longer(s, limit) {
		o.fail(key)
		return ""
	}
	return s
}

// bytes is text for what is large: where nothing has to be done to it, it is a part
// of the body.
func (o *object) bytes(key string, limit int) []byte {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	if raw.Kind() == '"' && len(raw) <= limit && plainEnd(raw[1:]) == len(raw)-2 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1 : len(raw)-1]
	}
	return []byte(o.text(key, limit))
}

// longer tells whether a text has more characters than the limit.
func longer(s string, limit int) bool { return len(s) > limit && utf8.RuneCountInString(s) > limit }

// textOr is text with a default for what is absent.
func (o *object) textOr(key string, limit int, otherwise string) string {
	if !o.has(key) {
		return otherwise
	}
	return o.text(key, limit)
}

// first reads the first member that is there and not empty.
func (o *object) first(limit int, keys ...string) string {
	for _, key := range keys {
		if s := o.text(key, limit); s != "" {
			return s
		}
	}
	return ""
}

// id reads an agent's id; valid tells whether a place may follow it.
func (o *object) id(key string, valid func(string) bool) string {
	raw, ok := o.members.get(key)
	if !ok {
		return ""
	}
	s, err := unquote(raw)
	if err != nil {
		o.fail(key)
		return ""
	}
	if s != "" && !valid(s) && o.err == nil {
		o.err = ErrInvalidID
	}
	return s
}

// raw keeps a member of one of the kinds as it was sent, compacted.
func (o *object) raw(key string, limit int, kinds ...jsontext.Kind) Raw {
	at := o.members.find(key)
	if at < 0 {
		return nil
	}
	v := o.members[at].value
	for _, k := range kinds {
		if v.Kind() != k {
			continue
		}
		v = v.Clone() // it is a part of the body, and others may read that too
		err := v.Compact()
		o.members[at].value = v // compacted in place: the old slice would end in leftovers
		if err != nil || len(v) > limit {
			break
		}
		return v
	}
	o.fail(key)
	return nil
}

// texts reads a list of strings.
func (o *object) texts(key string, entries, limit int) []string {
	items := o.list(key, entries)
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, err := unquote(item)
		if err != nil || longer(s, limit) {
			o.fail(key)
			return nil
		}
		out = append(out, s)
	}
	return out
}

func (o *object) list(key string, entries int) []Raw {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	items, err := splitList(raw, entries)
	if err != nil {
		o.fail(key)
	}
	return items
}

// splitList takes an array of at most limit values apart.
func splitList(raw Raw, limit int) ([]Raw, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if dec.PeekKind() != '[' {
		return nil, fmt.Errorf("not a list")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var items []Raw
	for dec.PeekKind() != ']' {
		if len(items) == limit {
			return nil, fmt.Errorf("more than %d entries", limit)
		}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		items = append(items, v.Clone())
	}
	return items, atEnd(dec)
}

// sub opens a member that is an object; nil when it is absent.
func (o *object) sub(key string) *object {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	members, err := splitObject(raw)
	if err != nil {
		o.fail(key)
		return nil
	}
	return &object{members: members, prefix: o.prefix + key + "."}
}

// join takes over the first problem of a part.
func (o *object) join(part *object) {
	if part != nil && o.err == nil {
		o.err = part.err
	}
}

// number reads any finite number.
func (o *object) number(key string) (float64, bool) {
	raw, ok := o.members.get(key)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if raw.Kind() != '0' || err != nil || math.IsInf(f, 0) {
		o.fail(key)
		return 0, false
	}
	return f, true
}

// whole reads a number without a fraction, not negative.
func (o *object) whole(key string) int {
	f, ok := o.number(key)
	if !ok {
		return 0
	}
	if f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		o.fail(key)
		return 0
	}
	return int(f)
}

func (o *object) flag(key string) bool {
	raw, ok := o.members.get(key)
	if !ok {
		return false
	}
	if k := raw.Kind(); k != 't' && k != 'f' {
		o.fail(key)
	}
	return raw.Kind() == 't'
}

func unquote(raw Raw) (string, error) {
	if raw.Kind() != '"' {
		return "", fmt.Errorf("not a string")
	}
	if raw[0] == '"' && plainEnd(raw[1:]) == len(raw)-2 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err
}

// quote writes a JSON string; bad UTF-8 becomes the replacement character.
func quote(s string) Raw {
	v, _ := jsontext.AppendQuote(nil, s) // the error only repeats that something was replaced
	return v
}
