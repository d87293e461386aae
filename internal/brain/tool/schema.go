package tool

import (
	"encoding/json"
	"fmt"

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
	plain    *plain // nil unless the schema is
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
	return &checker{resolved: resolved, plain: newPlain(schema)}
}

// arguments reads the JSON text of a call. No text at all means no arguments.
func (e *entry) arguments(text string) (json.RawMessage, error) {
	if text == "" {
		text = "{}"
	}
	e.once.Do(func() { e.check = newChecker(e.Schema) })
	if e.check.plain != nil && e.check.plain.fits(text) {
		return json.RawMessage(text), nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
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
