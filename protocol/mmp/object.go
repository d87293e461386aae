package mmp

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// Object is one JSON object being taken apart. Its members are read one by one; the
// first problem stays, and is asked for at the end.
type Object struct {
	members members
	prefix  string
	err     error
}

// OpenObject reads a request body; an empty one is an empty object.
func OpenObject(body []byte) *Object {
	if len(bytes.TrimSpace(body)) == 0 {
		return &Object{}
	}
	members, err := splitObject(body)
	if err != nil {
		return &Object{err: ErrInvalidJSON}
	}
	return &Object{members: members}
}

// OpenPart is [OpenObject] for a part of a body; prefix is how its members are named
// when they are refused.
func OpenPart(raw []byte, prefix string) *Object {
	o := OpenObject(raw)
	o.prefix = prefix
	return o
}

// OnlyMember is an object with one member, for a reader that wants to find it there.
func OnlyMember(name string, value Raw) *Object {
	return &Object{members: members{{[]byte(name), value}}}
}

// Err is the first problem that was met.
func (o *Object) Err() error { return o.err }

// Refuse keeps a problem unless there was one before.
func (o *Object) Refuse(err error) {
	if o.err == nil {
		o.err = err
	}
}

// Fail refuses a member by its name.
func (o *Object) Fail(key string) { o.Refuse(InvalidField(o.prefix + key)) }

// Empty tells whether there is no member at all.
func (o *Object) Empty() bool { return len(o.members) == 0 }

// Member is one as it was sent; nil when it is absent.
func (o *Object) Member(key string) Raw {
	raw, _ := o.members.get(key)
	return raw
}

// All goes through the members in the order they came.
func (o *Object) All() iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) {
		for _, m := range o.members {
			if !yield(string(m.name), m.value) {
				return
			}
		}
	}
}

// Has tells whether a member is there and not null.
func (o *Object) Has(key string) bool { return o.members.find(key) >= 0 }

// Text reads a string of at most limit characters.
func (o *Object) Text(key string, limit int) string {
	raw, ok := o.members.get(key)
	if !ok {
		return ""
	}
	s, err := Unquote(raw)
	if err != nil || longer(s, limit) {
		o.Fail(key)
		return ""
	}
	return s
}

// Bytes is Text for what is large: where nothing has to be done to it, it is a part
// of the body.
func (o *Object) Bytes(key string, limit int) []byte {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	if raw.Kind() == '"' && len(raw) <= limit && plainEnd(raw[1:]) == len(raw)-2 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1 : len(raw)-1]
	}
	return []byte(o.Text(key, limit))
}

// TextOr is Text with a default for what is absent.
func (o *Object) TextOr(key string, limit int, otherwise string) string {
	if !o.Has(key) {
		return otherwise
	}
	return o.Text(key, limit)
}

// First reads the first member that is there and not empty.
func (o *Object) First(limit int, keys ...string) string {
	for _, key := range keys {
		if s := o.Text(key, limit); s != "" {
			return s
		}
	}
	return ""
}

// ID reads an agent's id; valid tells whether a place may follow it.
func (o *Object) ID(key string, valid func(string) bool) string {
	raw, ok := o.members.get(key)
	if !ok {
		return ""
	}
	s, err := Unquote(raw)
	if err != nil {
		o.Fail(key)
		return ""
	}
	if s != "" && !valid(s) {
		o.Refuse(ErrInvalidID)
	}
	return s
}

// Raw keeps a member of one of the kinds as it was sent, compacted.
func (o *Object) Raw(key string, limit int, kinds ...jsontext.Kind) Raw {
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
	o.Fail(key)
	return nil
}

// Texts reads a list of strings.
func (o *Object) Texts(key string, entries, limit int) []string {
	items := o.List(key, entries)
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, err := Unquote(item)
		if err != nil || longer(s, limit) {
			o.Fail(key)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// List takes a member that is an array apart.
func (o *Object) List(key string, entries int) []Raw {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	items, err := jsonobject.List(raw, entries)
	if err != nil {
		o.Fail(key)
	}
	return items
}

// Sub opens a member that is an object; nil when it is absent.
func (o *Object) Sub(key string) *Object {
	raw, ok := o.members.get(key)
	if !ok {
		return nil
	}
	members, err := splitObject(raw)
	if err != nil {
		o.Fail(key)
		return nil
	}
	return &Object{members: members, prefix: o.prefix + key + "."}
}

// Join takes over the first problem of a part.
func (o *Object) Join(part *Object) {
	if part != nil {
		o.Refuse(part.err)
	}
}

// Number reads any finite number.
func (o *Object) Number(key string) (float64, bool) {
	raw, ok := o.members.get(key)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if raw.Kind() != '0' || err != nil || math.IsInf(f, 0) {
		o.Fail(key)
		return 0, false
	}
	return f, true
}

// Whole reads a number without a fraction, not negative.
func (o *Object) Whole(key string) int {
	f, ok := o.Number(key)
	if !ok {
		return 0
	}
	if f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		o.Fail(key)
		return 0
	}
	return int(f)
}

// Flag reads true or false.
func (o *Object) Flag(key string) bool {
	raw, ok := o.members.get(key)
	if !ok {
		return false
	}
	if k := raw.Kind(); k != 't' && k != 'f' {
		o.Fail(key)
	}
	return raw.Kind() == 't'
}

// Strings are the texts in a list; whatever else is in it is left out.
func Strings(raw Raw) []string {
	items, err := jsonobject.List(raw, 1000)
	if err != nil {
		return nil
	}
	var out []string
	for _, item := range items {
		if s, err := Unquote(item); err == nil {
			out = append(out, s)
		}
	}
	return out
}
