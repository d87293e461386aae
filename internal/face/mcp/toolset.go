package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Toolset is what one part of the hub offers to models.
type Toolset struct {
	// Name is the part's path below /mcp.
	Name string
	// Title and Instructions introduce the part to people and to models.
	Title        string
	Instructions string
	// Prefix joins the names of the tools on /mcp, where all parts meet; a name
	// that has it already, or an empty prefix, changes nothing.
	Prefix string
	// Scopes open the part: a token needs one of them, or Admit's word.
	Scopes []string
	Tools  []Tool
}

// Tool is one thing a model can do.
type Tool struct {
	Name        string
	Title       string
	Description string
	// Input is the schema of the arguments; see Object.
	Input *jsonschema.Schema
	// RawInput is the schema as a part has it ready; used if Input is nil.
	RawInput json.RawMessage
	// Shown is the schema that clients see, where it says more than what is checked;
	// inSession tells whether calls may lean on what was chosen before.
	Shown func(inSession bool) any
	// Check replaces the check of arguments against the schema.
	Check func(json.RawMessage) error
	// Output is the schema of the result, if it is promised.
	Output *jsonschema.Schema
	Hints  Hints
	// Scope is needed to see and to call the tool.
	Scope string
	// May, if set, decides in place of Scope.
	May func(*Call) error
	// Audited says that the part keeps its own record of calls.
	Audited bool
	// Common tools are listed on /mcp even where not all can be.
	Common bool
	// InSession tools are of no use to requests that stand alone.
	InSession bool
	Run       func(context.Context, *Call) (Result, error)
}

// Hints tell a client what a tool does to the world.
type Hints struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// Result is what a tool gives back.
type Result struct {
	// Value is the structured content, an object; it is also written as text.
	Value any
	// Image, if not empty, comes before the text.
	Image     []byte
	ImageType string
	// Meta is for programs: keys with a prefix and a slash.
	Meta map[string]any
}

// joined is the tool's name on /mcp.
func (s Toolset) joined(name string) string {
	if strings.HasPrefix(name, s.Prefix) {
		return name
	}
	return s.Prefix + name
}

// aliases are other names a tool is called by on the part's own path: with the
// prefix where it is listed without, for clients that know it from /mcp.
func (s Toolset) aliases() map[string]string {
	names := map[string]string{}
	for _, t := range s.Tools {
		if joined := s.joined(t.Name); joined != t.Name {
			names[joined] = t.Name
		}
	}
	return names
}
