package tool

import (
	"encoding/json"
	"fmt"

	quick "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// shownSchema is how large a schema may be to be repeated to a model that got it
// wrong; a larger one would drown the reason.
const shownSchema = 2 << 10

// checker is a schema ready to be applied. A schema that cannot be resolved (one
// of a foreign server, say, with remote references) checks nothing but that the
// arguments are an object: the tool itself has the last word anyway.
type checker struct {
	resolved *jsonschema.Resolved
}

func newChecker(schema json.RawMessage) *checker {
	if len(schema) == 0 {
		return &checker{}
	}
	var s jsonschema.Schema
	if json.Unmarshal(schema, &s) != nil {
		return &checker{}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return &checker{}
	}
	return &checker{resolved: resolved}
}

// asUsual has arguments read as leniently as encoding/json reads them; models do
// repeat themselves.
var asUsual = quick.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// arguments reads the JSON text of a call. No text at all means no arguments.
func (e *entry) arguments(text string) (json.RawMessage, error) {
	if text == "" {
		text = "{}"
	}
	e.once.Do(func() { e.check = newChecker(e.Schema) })
	var object map[string]any
	if err := quick.Unmarshal([]byte(text), &object, asUsual); err != nil || object == nil {
		return nil, e.badArguments("not a JSON object")
	}
	if e.check.resolved != nil {
		if err := e.check.resolved.Validate(object); err != nil {
			return nil, e.badArguments(err.Error())
		}
	}
	return json.RawMessage(text), nil
}

func (e *entry) badArguments(why string) error {
	msg := fmt.Sprintf("the arguments of %s do not fit: %s", e.Name, why)
	if n := len(e.Schema); n > 0 && n <= shownSchema {
		msg += "; its schema is " + string(e.Schema)
	}
	return &Error{Type: Validation, Message: msg, Err: ErrArguments}
}
