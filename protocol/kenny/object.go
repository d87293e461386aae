package kenny

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// parseObject splits one JSON object into its members. The values alias data.
func parseObject(data []byte) (map[string]jsontext.Value, error) {
	members := make(map[string]jsontext.Value, 8)
	err := jsonobject.Read(data, func(name string, value jsontext.Value) { members[name] = value })
	if err != nil {
		return nil, err
	}
	return members, nil
}

// fields takes the members of one object apart; the first problem sticks.
type fields struct {
	members map[string]jsontext.Value
	err     error
}

// openFields starts on the members of raw.
func openFields(raw jsontext.Value) *fields {
	members, err := parseObject(raw)
	return &fields{members: members, err: err}
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// pop removes a member, so that what is left in the end is unknown.
func (f *fields) pop(key string) (jsontext.Value, bool) {
	v, ok := f.members[key]
	delete(f.members, key)
	return v, ok
}

// need is pop for a required key.
func (f *fields) need(key string) (jsontext.Value, bool) {
	v, ok := f.pop(key)
	if !ok {
		f.fail("%q is missing", key)
	}
	return v, ok
}

// text takes a required string.
func (f *fields) text(key string) string {
	v, ok := f.need(key)
	if !ok {
		return ""
	}
	return f.unquote(key, v)
}

// optionalText takes a string that may be absent. An empty one would be
// indistinguishable from absence, and means nothing: it is refused.
func (f *fields) optionalText(key string) string {
	v, ok := f.pop(key)
	if !ok {
		return ""
	}
	s := f.unquote(key, v)
	if s == "" {
		f.fail("%q is empty", key)
	}
	return s
}

func (f *fields) unquote(key string, v jsontext.Value) string {
	s, err := unquote(v)
	if err != nil {
		f.fail("%q is not a string", key)
	}
	return s
}

// flag takes a required boolean.
func (f *fields) flag(key string) bool {
	v, ok := f.need(key)
	if ok && v.Kind() != 't' && v.Kind() != 'f' {
		f.fail("%q is not true or false", key)
	}
	return ok && v.Kind() == 't'
}

// object takes a required open object, copied so that the frame outlives the
// buffer it came in.
func (f *fields) object(key string) jsontext.Value {
	v, ok := f.need(key)
	if !ok {
		return nil
	}
	return f.asObject(key, v)
}

// optionalObject takes an open object that may be absent.
func (f *fields) optionalObject(key string) jsontext.Value {
	v, ok := f.pop(key)
	if !ok {
		return nil
	}
	return f.asObject(key, v)
}

func (f *fields) asObject(key string, v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' {
		f.fail("%q is not an object", key)
		return nil
	}
	return v.Clone()
}

// bytes takes a required base64 string.
func (f *fields) bytes(key string) []byte {
	v, ok := f.need(key)
	if !ok {
		return nil
	}
	return f.decode(key, v)
}

// optionalBytes takes a base64 string that may be absent.
func (f *fields) optionalBytes(key string) []byte {
	v, ok := f.pop(key)
	if !ok {
		return nil
	}
	return f.decode(key, v)
}

func (f *fields) decode(key string, v jsontext.Value) []byte {
	b, err := decodeBase64(f.unquote(key, v))
	if err != nil {
		f.fail("%q is not standard padded base64", key)
	}
	return b
}

// done reports the first problem, or the first key nobody asked for.
func (f *fields) done() error {
	if f.err == nil && len(f.members) > 0 {
		f.fail("unknown key %q", clip(slices.Sorted(maps.Keys(f.members))[0]))
	}
	return f.err
}

// unquote reads a JSON string.
func unquote(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", errors.New("not a string")
	}
	if bytes.IndexByte(v, '\\') < 0 { // the decoder has seen that it is whole and UTF-8
		return string(v[1 : len(v)-1]), nil
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err
}

// decodeBase64 is strict: the library skips line breaks even in strict mode.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("line break in base64")
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}

// clip keeps foreign text in an error short.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
