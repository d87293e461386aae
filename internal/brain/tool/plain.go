package tool

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// plain is a schema that asks for little, as most tools' do: an object of strings,
// numbers and yes or no. Arguments are compared with it while they are read, in a
// tenth of the time a schema of any kind takes. It only ever says that they fit:
// whoever it has doubts about is looked at properly.
type plain struct {
	places   map[string]int
	types    []string
	required uint64 // a bit for each place
	closed   bool   // nothing else is allowed
}

// maxPlain is how many properties fit into the bits.
const maxPlain = 64

// longNumber is a number that may not be what it seems once it is read.
const longNumber = 15

// newPlain reads a schema; nil if it asks for more.
func newPlain(schema json.RawMessage) *plain {
	var s struct {
		Type       string                                `json:"type"`
		Properties map[string]map[string]json.RawMessage `json:"properties"`
		Required   []string                              `json:"required"`
		Additional *bool                                 `json:"additionalProperties"`
	}
	var words map[string]json.RawMessage
	if json.Unmarshal(schema, &words) != nil || json.Unmarshal(schema, &s) != nil || s.Type != "object" || len(s.Properties) > maxPlain {
		return nil
	}
	if !only(words, "$schema", "type", "title", "description", "properties", "required", "additionalProperties") {
		return nil
	}
	p := &plain{places: make(map[string]int, len(s.Properties)), closed: s.Additional != nil && !*s.Additional}
	for name, words := range s.Properties {
		var kind string
		if !only(words, "type", "title", "description", "default", "examples") || json.Unmarshal(words["type"], &kind) != nil {
			return nil
		}
		switch kind {
		case "string", "number", "integer", "boolean":
		default:
			return nil
		}
		p.places[name] = len(p.types)
		p.types = append(p.types, kind)
	}
	for _, name := range s.Required {
		at, ok := p.places[name]
		if !ok {
			return nil
		}
		p.required |= 1 << at
	}
	return p
}

// only tells that nothing else is said than these words.
func only(said map[string]json.RawMessage, words ...string) bool {
	known := 0
	for _, w := range words {
		if _, ok := said[w]; ok {
			known++
		}
	}
	return known == len(said)
}

// reading is a decoder and what it reads from.
type reading struct {
	from strings.Reader
	dec  jsontext.Decoder
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// fits tells that the text is an object as the schema wants it; false means that it
// may or may not be.
func (p *plain) fits(text string) bool {
	r, _ := readings.Get().(*reading)
	defer readings.Put(r)
	r.from.Reset(text)
	r.dec.Reset(&r.from)
	if t, err := r.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	var seen uint64
	for r.dec.PeekKind() == '"' {
		name, err := r.dec.ReadValue()
		if err != nil || strings.IndexByte(string(name), '\\') >= 0 {
			return false
		}
		at, known := p.places[string(name[1:len(name)-1])]
		value, err := r.dec.ReadValue()
		switch {
		case err != nil:
			return false
		case known && is(value, p.types[at]):
			seen |= 1 << at
		case known || p.closed:
			return false
		}
	}
	if t, err := r.dec.ReadToken(); err != nil || t.Kind() != '}' || seen&p.required != p.required {
		return false
	}
	return r.dec.PeekKind() == 0 // and nothing follows
}

func is(value jsontext.Value, kind string) bool {
	switch value.Kind() {
	case '"':
		return kind == "string"
	case 't', 'f':
		return kind == "boolean"
	case '0':
		return len(value) <= longNumber && !strings.ContainsAny(string(value), "eE") && (kind == "number" || kind == "integer" && !strings.Contains(string(value), "."))
	default:
		return false
	}
}
