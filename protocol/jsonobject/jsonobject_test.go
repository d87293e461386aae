package jsonobject_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/jsonobject"
)

// members are those of an object, as "name=value" in their order.
func members(data string, opts ...jsontext.Options) (string, error) {
	var all []string
	err := jsonobject.Read([]byte(data), func(name string, value jsontext.Value) { all = append(all, name+"="+string(value)) }, opts...)
	return strings.Join(all, " "), err
}

func TestObjectsComeApartInTheirOrder(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "", ` {"b": 1 , "a":{"x":[ 1]},"":null} `: `b=1 a={"x":[ 1]} =null`, `{"\u0061":"\u0062"}`: `a="\u0062"`,
	} {
		if got, err := members(in); err != nil || got != want {
			t.Errorf("%s came apart as %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1`, `{"a"}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, "{\"a\":\"\xff\"}", `{} {}`, `{}x`, `[1`, `[] 1`} {
		if got, err := members(in); err == nil || errors.Is(err, jsonobject.ErrNotObject) {
			t.Errorf("%q was read as %q with %v; want it refused as broken", in, got, err)
		}
	}
	for _, in := range []string{`[]`, `"{}"`, ` 1 `, `null`} {
		if _, err := members(in); !errors.Is(err, jsonobject.ErrNotObject) {
			t.Errorf("%q was refused with %v; want that it is no object", in, err)
		}
	}
	if got, err := members("{\"a\":\"\xff\"}", jsontext.AllowInvalidUTF8(true)); err != nil || got != "a=\"\xff\"" {
		t.Errorf("with leave for bad UTF-8 it was read as %q, %v", got, err)
	}
}

func TestListsHaveALimit(t *testing.T) {
	if got, err := jsonobject.List([]byte(` [1, {"a":2}] `), 2); err != nil || len(got) != 2 || string(got[1]) != `{"a":2}` {
		t.Errorf("two of at most two are %s, %v", got, err)
	}
	for _, in := range []string{`[1,2,3]`, `{}`, `[1`, `[1] 2`, ``} {
		if got, err := jsonobject.List([]byte(in), 2); err == nil {
			t.Errorf("%q was read as %s; want it refused", in, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, in := range []string{`{"a":1,"b":[{"c":null}]}`, `{"a":1,"a":2}`, `[]`, `{} {}`, "{\"\xff\":1}"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		if jsonobject.Read(data, func(name string, value jsontext.Value) { got[name] = json.RawMessage(value) }) != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil || len(want) != len(got) {
			t.Fatalf("%q has %d members here, and %d (%v) for the standard library", data, len(got), len(want), err)
		}
		for name, value := range want {
			if string(got[name]) != string(value) {
				t.Fatalf("%q: %q is %q here, and %q for the standard library", data, name, got[name], value)
			}
		}
	})
}
