package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	exp "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// Property is one argument of a tool.
type Property struct {
	name     string
	required bool
	schema   *jsonschema.Schema
}

// Required is an argument that must be given.
func Required(name string, s *jsonschema.Schema) Property { return Property{name, true, s} }

// Optional is an argument that may be left out.
func Optional(name string, s *jsonschema.Schema) Property { return Property{name, false, s} }

// Object is a schema with exactly these properties, in the order a model reads them.
func Object(list ...Property) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range list {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

// Answer is Object for results, which may grow keys later.
func Answer(list ...Property) *jsonschema.Schema {
	s := Object(list...)
	s.AdditionalProperties = nil
	return s
}

// Text is a string of shortest to longest characters.
func Text(description string, shortest, longest int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, MinLength: &shortest, MaxLength: &longest}
}

// OneOf is one of some words.
func OneOf(description string, words ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: description}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

// Integer is a whole number from least to most.
func Integer(description string, least, most float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: description, Minimum: &least, Maximum: &most}
}

// Flag is true or false.
func Flag(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: description}
}

// Texts is a list of strings.
func Texts(description string, most, longest int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: description, MaxItems: &most, Items: &jsonschema.Schema{Type: "string", MaxLength: &longest}}
}

// Any is any JSON value.
func Any(description string) *jsonschema.Schema { return &jsonschema.Schema{Description: description} }

// Kind is a value of a type, for results.
func Kind(of, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: of, Description: description}
}

// checker makes the check of a tool's arguments, which gives them in the plainest
// form: a whole number that came as 1.0 is 1.
func (t Tool) checker() (func(json.RawMessage) (json.RawMessage, error), error) {
	schema := t.Input
	if schema == nil {
		schema = new(jsonschema.Schema)
		if err := json.Unmarshal(t.RawInput, schema); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	if t.Check != nil {
		return func(raw json.RawMessage) (json.RawMessage, error) { return raw, t.Check(raw) }, nil
	}
	return func(raw json.RawMessage) (json.RawMessage, error) {
		var value map[string]any
		// This decoder, unlike the standard one, refuses repeated keys and bad UTF-8.
		if err := exp.Unmarshal(raw, &value); err != nil || value == nil {
			return nil, Errorf("bad_args", "the arguments are not an object: %v", err)
		}
		if err := resolved.Validate(value); err != nil {
			return nil, Errorf("bad_args", "%v", plain(err))
		}
		args, err := exp.Marshal(value)
		return args, err
	}, nil
}

// Handle makes a tool's function from one that takes its arguments decoded.
func Handle[In any](run func(ctx context.Context, c *Call, in In) (Result, error)) func(context.Context, *Call) (Result, error) {
	return func(ctx context.Context, c *Call) (Result, error) {
		var in In
		if err := exp.Unmarshal(c.Args, &in, exp.RejectUnknownMembers(true)); err != nil {
			return Result{}, Errorf("bad_args", "%v", err)
		}
		return run(ctx, c, in)
	}
}
