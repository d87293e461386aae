package kenny

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// InputSchema is the JSON Schema of a call through MCP: the tool's arguments
// and the options agent_id, timeout_s and queue_for_s.
func (t Tool) InputSchema() jsontext.Value { return schema(t.inputArgs()) }

// NamedSchema is InputSchema where a call must name its machine, because nothing
// could have been selected or a selection does not count.
func (t Tool) NamedSchema() jsontext.Value {
	args := t.inputArgs()
	args[0].Optional, args[0].Min, args[0].Description = false, 1, "id of the machine, from list_agents"
	return schema(args)
}

// WireSchema is the JSON Schema of the args object a machine gets.
func (t Tool) WireSchema() jsontext.Value { return schema(t.Args) }

// property is one argument as JSON Schema.
type property struct {
	Type        Kind      `json:"type"`
	Description string    `json:"description,omitzero"`
	MinLength   int       `json:"minLength,omitzero"`
	MaxLength   int       `json:"maxLength,omitzero"`
	Pattern     string    `json:"pattern,omitzero"`
	Minimum     *int      `json:"minimum,omitzero"`
	Maximum     *int      `json:"maximum,omitzero"`
	Default     *int      `json:"default,omitzero"`
	Items       *property `json:"items,omitzero"`
	MaxItems    int       `json:"maxItems,omitzero"`
	Enum        []string  `json:"enum,omitempty"`
}

func (a Arg) property() property {
	p := property{Type: a.Kind, Description: a.Description}
	switch a.Kind {
	case KindInteger:
		p.Minimum, p.Maximum = &a.Min, &a.Max
		if a.Optional {
			p.Default = &a.Default
		}
	case KindFlag:
	case KindTexts:
		p.Items, p.MaxItems = &property{Type: KindText, MaxLength: MaxText, Enum: a.Words}, a.Max
	default:
		p.MinLength, p.MaxLength = a.Min, a.Max
		if a.Shape != nil {
			p.Pattern = a.Shape.String()
		}
	}
	return p
}

// schema writes the object schema with the properties in the given order,
// which is the order a model reads them in.
func schema(args []Arg) jsontext.Value {
	required := []string{}
	props := []byte{'{'}
	for i, a := range args {
		if !a.Optional {
			required = append(required, a.Name)
		}
		if i > 0 {
			props = append(props, ',')
		}
		props = append(append(append(props, quote(a.Name)...), ':'), marshal(a.property())...)
	}
	return marshal(struct {
		Type       string         `json:"type"`
		Extra      bool           `json:"additionalProperties"`
		Required   []string       `json:"required,omitempty"`
		Properties jsontext.Value `json:"properties"`
	}{"object", false, required, append(props, '}')})
}

// marshal writes values made here; they cannot fail.
func marshal(v any) jsontext.Value {
	b, err := json.Marshal(v)
	if err != nil {
		panic("kenny: a schema made here does not marshal: " + err.Error())
	}
	return b
}
