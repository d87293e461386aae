package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/mask"
)

// nameForm is what every provider accepts as a tool's name.
var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// anyObject is the schema of a tool that gives none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Set is the tools one run may use, in the order they are offered. It does not
// change; [Set.Keep] and [Set.With] make new ones. A nil Set is empty.
type Set struct {
	mask   *mask.Mask
	byName map[string]*entry
	order  []*entry
	specs  []model.ToolSpec
}

// entry is a tool and its schema, read when first needed and shared by every set
// the tool is in.
type entry struct {
	*Tool
	once  sync.Once
	check *checker
}

// NewSet makes a set whose tools' results are masked. Names must be well formed and
// differ.
func NewSet(m *mask.Mask, tools ...*Tool) (*Set, error) {
	return (&Set{mask: m}).With(tools...)
}

// With is the set and more tools. A tool of a name that is taken is an error.
func (s *Set) With(tools ...*Tool) (*Set, error) {
	var entries []*entry
	if s != nil {
		entries = slices.Clone(s.order)
	}
	for _, t := range tools {
		if err := valid(t); err != nil {
			return nil, err
		}
		entries = append(entries, &entry{Tool: t})
	}
	return build(s.masks(), entries)
}

// Keep is the set without the tools keep refuses.
func (s *Set) Keep(keep func(*Tool) bool) *Set {
	if s == nil {
		return nil
	}
	var entries []*entry
	for _, e := range s.order {
		if keep(e.Tool) {
			entries = append(entries, e)
		}
	}
	out, _ := build(s.mask, entries) // names differed before
	return out
}

// Named is the set cut down to these names; "*" keeps all.
func (s *Set) Named(names ...string) *Set {
	return s.Keep(func(t *Tool) bool { return slices.Contains(names, t.Name) || slices.Contains(names, "*") })
}

func build(m *mask.Mask, entries []*entry) (*Set, error) {
	s := &Set{mask: m, byName: make(map[string]*entry, len(entries)), order: entries, specs: make([]model.ToolSpec, 0, len(entries))}
	for _, e := range entries {
		if _, taken := s.byName[e.Name]; taken {
			return nil, fmt.Errorf("two tools are named %q", e.Name)
		}
		s.byName[e.Name] = e
		spec := model.ToolSpec{Name: e.Name, Description: e.Description, Schema: e.Schema}
		if len(spec.Schema) == 0 {
			spec.Schema = anyObject
		}
		s.specs = append(s.specs, spec)
	}
	return s, nil
}

func valid(t *Tool) error {
	switch {
	case t == nil || t.Run == nil:
		return fmt.Errorf("a tool without a Run function")
	case !nameForm.MatchString(t.Name):
		return fmt.Errorf("tool name %q: want 1-64 letters, digits, _ or -", t.Name)
	case t.Class < ReadOnly || t.Class > Sensitive:
		return fmt.Errorf("tool %s has no class", t.Name)
	case len(t.Schema) > 0 && !json.Valid(t.Schema):
		return fmt.Errorf("tool %s: its schema is not JSON", t.Name)
	}
	return nil
}

// Get finds a tool by name.
func (s *Set) Get(name string) (*Tool, bool) {
	e := s.entry(name)
	if e == nil {
		return nil, false
	}
	return e.Tool, true
}

func (s *Set) entry(name string) *entry {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

func (s *Set) masks() *mask.Mask {
	if s == nil {
		return nil
	}
	return s.mask
}

// Len is how many tools there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.order)
}

// Specs is what a model is told, in offer order. Callers must not change it.
func (s *Set) Specs() []model.ToolSpec {
	if s == nil {
		return nil
	}
	return s.specs
}

// Names lists the tools in offer order.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	names := make([]string, len(s.order))
	for i, e := range s.order {
		names[i] = e.Name
	}
	return names
}

// Check finds the tool a model's call names and checks the arguments against its
// schema. The error is an [*Error] written for the model.
func (s *Set) Check(c model.Call) (*Tool, json.RawMessage, error) {
	e := s.entry(c.Name)
	if e == nil {
		return nil, nil, &Error{Type: NotFound, Message: s.unknown(c.Name), Err: ErrUnknownTool}
	}
	args, err := e.arguments(c.Arguments)
	return e.Tool, args, err
}

func (s *Set) unknown(name string) string {
	if s.Len() == 0 {
		return fmt.Sprintf("there is no tool %q here: no tools are available, answer without one", name)
	}
	return fmt.Sprintf("there is no tool %q here; available: %s", name, strings.Join(s.Names(), ", "))
}
