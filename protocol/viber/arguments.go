package viber

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ArgumentJoiner puts the fragments of tool calls together, as they stream in.
// Calls are told apart by a key: their id on the wire, their index at a model
// provider. The zero value is ready.
type ArgumentJoiner[K comparable] struct {
	order []K
	calls map[K]*joiningCall
}

type joiningCall struct {
	id, name string
	text     strings.Builder
}

// Add appends a fragment. Id and name come with the first fragment and may be
// left out of later ones.
func (j *ArgumentJoiner[K]) Add(key K, id, name, fragment string) error {
	c := j.calls[key]
	if c == nil {
		if j.calls == nil {
			j.calls = make(map[K]*joiningCall)
		}
		c = &joiningCall{}
		j.calls[key] = c
		j.order = append(j.order, key)
	}
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name = name
	}
	if c.text.Len()+len(fragment) > MaxFrame {
		return fmt.Errorf("%w: more than %d bytes", ErrArgumentsTooLarge, MaxFrame)
	}
	c.text.WriteString(fragment)
	return nil
}

// Calls returns the calls so far, in the order of their first fragments, with
// the text of their arguments.
func (j *ArgumentJoiner[K]) Calls() []ToolCallDelta {
	out := make([]ToolCallDelta, 0, len(j.order))
	for _, key := range j.order {
		c := j.calls[key]
		out = append(out, ToolCallDelta{ID: c.id, Name: c.name, Arguments: c.text.String()})
	}
	return out
}

// ParseArguments reads the joined text of a call, which must be a JSON object.
// No text at all is how some models call a tool without arguments.
func ParseArguments(text string) (jsontext.Value, error) {
	if strings.TrimSpace(text) == "" {
		return jsontext.Value("{}"), nil
	}
	v := jsontext.Value(text)
	if v.Kind() != '{' || !v.IsValid() {
		return nil, ErrBadArguments
	}
	return v, nil
}

// SplitArguments cuts the text of arguments into what goes into one delta each:
// whole when it is small, else in pieces that end with a character.
func SplitArguments(text string) []string {
	var out []string
	for len(text) > WholeArguments {
		cut := WholeArguments
		for cut > WholeArguments-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		out = append(out, text[:cut])
		text = text[cut:]
	}
	return append(out, text)
}
