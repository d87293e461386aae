package tool

import (
	"encoding/json"
	"testing"
)

const easy = `{"type":"object","properties":{"text":{"type":"string","description":"words"},"n":{"type":"integer"},"x":{"type":"number"},"on":{"type":"boolean"}},"required":["text"]`

func TestArgumentsThatPlainlyFitAreNotLookedAtTwice(t *testing.T) {
	open, closed := newPlain(json.RawMessage(easy+`}`)), newPlain(json.RawMessage(easy+`,"additionalProperties":false}`))
	for text, want := range map[string][2]bool{
		`{"text":"a"}`: {true, true},
		` { "text" : "a\n\u0041" , "n":-3, "x":1.5, "on":false } `: {true, true},
		`{"text":"a","else":[{}]}`:                                 {true, false},
		`{}`:                                                       {},
		`{"text":null}`:                                            {},
		`{"text":1}`:                                               {},
		`{"text":"a","n":1.0}`:                                     {}, // an integer, but not plainly
		`{"text":"a","x":1e999}`:                                   {},
		`{"text":"a","n":12345678901234567890}`:                    {},
		`{"text":"a","text":"b"}`:                                  {},
		`{"te\u0078t":"a"}`:                                        {},
		`{"text":"a"} {}`:                                          {},
		`{"text":"a"`:                                              {},
		`[]`:                                                       {},
		``:                                                         {},
	} {
		if got := [2]bool{open.fits(text), closed.fits(text)}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestOnlyPlainSchemasAreRead(t *testing.T) {
	for _, schema := range []string{
		`{"type":"array"}`, `true`, `{}`, `{"type":"object","minProperties":1}`, `{"type":"object","required":["x"]}`,
		`{"type":"object","properties":{"x":{"type":"string","enum":["a"]}}}`, `{"type":"object","properties":{"x":{"type":["string","null"]}}}`,
		`{"type":"object","properties":{"x":{"type":"object"}}}`, `{"type":"object","properties":{"x":{}}}`, `{"type":"object","properties":{"x":true}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`,
	} {
		if newPlain(json.RawMessage(schema)) != nil {
			t.Errorf("%s is not plain", schema)
		}
	}
}

// FuzzPlain: whatever plainly fits, fits.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{`{"text":"a"}`, `{"text":"a","n":1}`, `{"text":"a","x":1e999}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"a":{"b":[1,2]},"text":""}`} {
		f.Add(s)
	}
	schema := json.RawMessage(easy + `,"additionalProperties":false}`)
	slow := newChecker(schema)
	f.Fuzz(func(t *testing.T, text string) {
		if !slow.plain.fits(text) {
			return
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := slow.resolved.Validate(object); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
