package kibitz

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// Raw is a JSON value as it was sent.
type Raw = jsontext.Value

// lenientText lets half a surrogate pair pass, which browsers do send: it
// stays as it is in opaque values and becomes U+FFFD where we read a text.
// Bytes that are no UTF-8 are refused before.
var lenientText = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// object is the members of one JSON object; the values alias its text.
type object map[string]Raw

// readObject takes one JSON object apart. A name used twice, at any depth, is
// refused: two readers could see two different messages.
func readObject(data []byte) (object, error) { return readObjectInto(make(object, 8), data) }

// objects are used again where nothing is left of one after a call.
var objects = sync.Pool{New: func() any { return make(object, 8) }}

func (o object) free() {
	clear(o)
	objects.Put(o)
}

// readObjectInto is readObject with an empty object to use.
func readObjectInto(o object, data []byte) (object, error) {
	if !utf8.Valid(data) {
		return nil, errUTF8
	}
	if err := jsonobject.Read(data, func(name string, value Raw) { o[name] = value }, lenientText); err != nil {
		return nil, err
	}
	return o, nil
}

// has tells whether a member is there and not null.
func (o object) has(key string) bool {
	v, ok := o[key]
	return ok && v.Kind() != 'n'
}

func (o object) text(key string) (string, bool) { return unquote(o[key]) }

func (o object) number(key string) (float64, bool) { return number(o[key]) }

// unquote reads a JSON string.
func unquote(v Raw) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	// An error is only about surrogates, which are replaced.
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b), true
}

// number reads a finite JSON number.
func number(v Raw) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// compact is the value without white space, every token as it was. The value is
// good JSON; one that is compact already, as most are, is returned as it is.
func compact(v Raw) (Raw, error) {
	if isCompact(v) {
		return v, nil
	}
	c := v.Clone()
	err := c.Compact(jsontext.AllowInvalidUTF8(true))
	return c, err
}

// isCompact tells that good JSON has no white space outside strings.
func isCompact(v Raw) bool {
	text := false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case !text && c <= ' ':
			return false
		}
	}
	return true
}

// deeper tells whether good JSON has more than most arrays and objects within each other.
func deeper(v Raw, most int) bool {
	depth, text := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case text:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// marshal writes JSON; raw members keep every token.
func marshal(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true), lenientText)
}

// decodeBase64 is strict: no padding, no stray bits, no line breaks, which
// the library would skip.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("line break in base64url")
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

func encodeBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func fmtInt(n int64) Raw { return strconv.AppendInt(nil, n, 10) }
