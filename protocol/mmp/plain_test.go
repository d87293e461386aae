package mmp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzSplitPlain holds the quick way to the one that knows all of JSON.
func FuzzSplitPlain(f *testing.F) {
	for _, seed := range []string{
		`{"from":"ada","to":"bob","encrypted_blob":"eA==","blob_hash":"x"}`, " {\n\t\"a\" : \"b\" , \"c\":\"\" }\r\n", `{"a":"b","a":"c"}`, `{"a":"b",}`,
		`{"a":"b"}{}`, `{"a":1}`, `{"a":null}`, `{}`, `{"a\u0062":"c"}`, `{"a":"\"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"a":"é"}`, `{"":""}`, `{"a":"b"`, "\ufeff{\"a\":\"b\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quick, ok := splitPlain(raw)
		if !ok {
			return
		}
		all, err := splitAny(raw)
		if err != nil {
			t.Fatalf("%q is refused: %v", raw, err)
		}
		if diff := cmp.Diff(all, quick, cmp.AllowUnexported(named{})); diff != "" {
			t.Errorf("%q: %s", raw, diff)
		}
	})
}

func TestPlainObjectsAreTakenApartAtOnce(t *testing.T) {
	for text, plain := range map[string]bool{
		`{"from":"ada","to":"bob"}`: true, " { \"a\" : \"é\" } ": true, `{"a":"b","a":"c"}`: false, `{"a":"b","c":null}`: false, `{"a":"\n"}`: false, `[]`: false, ``: false,
		`{"a":"b"} x`: false,
	} {
		if _, ok := splitPlain([]byte(text)); ok != plain {
			t.Errorf("%q: %v", text, ok)
		}
	}
}

func TestPlainTextIsLookedAtAsAWhole(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			text := []byte("twenty signs of text")
			text[at] = byte(c)
			if plain := c >= ' ' && c < 0x80 && c != '\\'; plainText(text) != plain {
				t.Errorf("%q: %v", text, !plain)
			}
		}
	}
	for text, plain := range map[string]bool{"": true, "grüße aus köln": true, "grüße aus\nköln": false, "grüße aus k\xc3": false, "\xc3grüße aus köln": false} {
		if plainText([]byte(text)) != plain {
			t.Errorf("%q: %v", text, !plain)
		}
	}
}
