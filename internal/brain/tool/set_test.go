package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/brain/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func said(text string) func(context.Context, Call) (Result, error) {
	return func(context.Context, Call) (Result, error) { return Result{Text: text}, nil }
}

func mustSet(t testing.TB, tools ...*Tool) *Set {
	t.Helper()
	s, err := NewSet(nil, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASetRefusesWhatNoProviderWouldTake(t *testing.T) {
	ok := said("")
	for name, tools := range map[string][]*Tool{
		"no run":      {{Name: "a", Class: ReadOnly}},
		"bad name":    {{Name: "a b", Class: ReadOnly, Run: ok}},
		"long name":   {{Name: strings.Repeat("a", 65), Class: ReadOnly, Run: ok}},
		"no class":    {{Name: "a", Run: ok}},
		"bad schema":  {{Name: "a", Class: ReadOnly, Run: ok, Schema: json.RawMessage("{")}},
		"same name":   {{Name: "a", Class: ReadOnly, Run: ok}, {Name: "a", Class: Mutating, Run: ok}},
		"nil pointer": {nil},
	} {
		if _, err := NewSet(nil, tools...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSetsAreOfferedInOrderAndCutDown(t *testing.T) {
	s := mustSet(t,
		&Tool{Name: "b", Description: "bee", Class: ReadOnly, Run: said("")},
		&Tool{Name: "a", Class: Mutating, Run: said(""), Schema: json.RawMessage(`{"type":"object"}`)},
		&Tool{Name: "c", Class: Sensitive, Run: said("")},
	)
	want := []model.ToolSpec{
		{Name: "b", Description: "bee", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "c", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	if diff := cmp.Diff(want, s.Specs()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, s.Named("c", "b", "z").Names()); diff != "" {
		t.Error(diff)
	}
	if s.Named("*").Len() != 3 || s.Keep(func(t *Tool) bool { return t.Class == ReadOnly }).Len() != 1 {
		t.Error("cut wrongly")
	}
	more, err := s.With(&Tool{Name: "d", Class: ReadOnly, Run: said("")})
	if err != nil || more.Len() != 4 || s.Len() != 3 {
		t.Error("With changed the set, or failed", err)
	}
	var none *Set
	if none.Len() != 0 || none.Specs() != nil || none.Names() != nil || none.Named("*") != nil {
		t.Error("a nil set is not empty")
	}
}

func TestArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	s := mustSet(t,
		&Tool{Name: "read", Class: ReadOnly, Run: said(""), Schema: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`)},
		&Tool{Name: "any", Class: ReadOnly, Run: said("")},
		&Tool{Name: "odd", Class: ReadOnly, Run: said(""), Schema: json.RawMessage(`{"$ref":"https://elsewhere.example/schema"}`)},
	)
	for _, c := range []struct {
		name, args string
		bad        string // part of the complaint
	}{
		{"read", `{"path":"a"}`, ""},
		{"read", `{"path":"a","limit":3}`, ""},
		{"read", ``, "path"},
		{"read", `{}`, "path"},
		{"read", `{"path":""}`, "minLength"},
		{"read", `{"path":"a","limit":1.5}`, "integer"},
		{"read", `{"path":"a","other":1}`, "other"},
		{"read", `{"path":`, "not a JSON object"},
		{"read", `"a"`, "not a JSON object"},
		{"read", `null`, "not a JSON object"},
		{"any", ``, ""},
		{"any", `{"x":[1]}`, ""},
		{"any", `[]`, "not a JSON object"},
		{"odd", `{"x":1}`, ""},
	} {
		_, args, err := s.Check(model.Call{Name: c.name, Arguments: c.args})
		if c.bad == "" {
			if err != nil || !json.Valid(args) {
				t.Errorf("%s %s: %v; want no error, json.Valid(args)", c.name, c.args, err)
			}
			continue
		}
		if !errors.Is(err, ErrArguments) || TypeOf(err) != Validation || !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s %s: %v; want ErrArguments, TypeOf(err) to be %v, strings.Contains(err.Error(), c.bad)", c.name, c.args, err, Validation)
		}
	}
	_, _, err := s.Check(model.Call{Name: "read", Arguments: "{}"})
	if !strings.Contains(err.Error(), `"required":["path"]`) {
		t.Errorf("the schema is not shown: %v", err)
	}
}

func TestAnUnknownToolIsAnsweredWithTheKnownOnes(t *testing.T) {
	s := mustSet(t, &Tool{Name: "clock", Class: ReadOnly, Run: said("")})
	_, _, err := s.Check(model.Call{Name: "clokc"})
	if !errors.Is(err, ErrUnknownTool) || TypeOf(err) != NotFound || !strings.Contains(err.Error(), `"clokc"`) || !strings.Contains(err.Error(), "clock") {
		t.Error(err)
	}
	_, _, err = (*Set)(nil).Check(model.Call{Name: "x"})
	if !errors.Is(err, ErrUnknownTool) || !strings.Contains(err.Error(), "no tools") {
		t.Error(err)
	}
}

func FuzzArguments(f *testing.F) {
	s, err := NewSet(nil, &Tool{Name: "t", Class: ReadOnly, Run: said(""), Schema: json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"}}}}`)})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "{}", `{"a":[1]}`, `{"a":["x"]}`, "null", "[", `{"a":1e999}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		_, raw, err := s.Check(model.Call{Name: "t", Arguments: args})
		if err == nil && !json.Valid(raw) {
			t.Errorf("accepted %q", args)
		}
	})
}
