package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	exp "github.com/go-json-experiment/json"
)

// everyArgument is a tool that takes one of each kind.
func everyArgument() Tool {
	type args struct {
		Text  string   `json:"text"`
		Word  string   `json:"word"`
		Count int      `json:"count"`
		Flag  bool     `json:"flag"`
		List  []string `json:"list"`
		Any   any      `json:"any"`
	}
	return Tool{
		Name: "every",
		Input: Object(
			Required("text", Text("", 1, 8)), Optional("word", OneOf("", "a", "b")), Optional("count", Integer("", 1, 9)),
			Optional("flag", Flag("")), Optional("list", Texts("", 3, 4)), Optional("any", Any("")),
		),
		Run: Handle(func(_ context.Context, _ *Call, in args) (Result, error) { return Result{Value: in}, nil }),
	}
}

// What the schema lets through, the tool can read; nothing else reaches it, and
// nothing makes either panic.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"text":"x"}`, `{"text":"x","count":1.0}`, `{"text":"x","count":1e0}`, `{"text":"","word":"c"}`, `{"text":"x","text":"y"}`, `{"text":"x","more":1}`,
		`{"text":"x","list":["a",null]}`, `{"text":"x","any":{"deep":[[[[1]]]]}}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `null`, `[]`, `"x"`, ``, `{`, `{"TEXT":"x"}`, `{"text":"x","flag":null}`,
	} {
		f.Add([]byte(seed))
	}
	tool := everyArgument()
	check, err := tool.checker()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := check(raw)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Code != "bad_args" { //nolint:errorlint // exactly this type is promised
				t.Fatalf("%q is refused with %v", raw, err)
			}
			return
		}
		result, err := tool.Run(context.Background(), &Call{Args: args})
		if err != nil {
			t.Fatalf("the schema allows %q, the tool says %v", raw, err)
		}
		var in struct{ Text string }
		text, err := exp.Marshal(result.Value)
		if err != nil || json.Unmarshal(text, &in) != nil || in.Text == "" {
			t.Fatalf("%q came as %s", raw, text)
		}
	})
}

// A state that was not made here is never opened, and what was made is read back.
func FuzzRequestState(f *testing.F) {
	face := &Face{key: bytes.Repeat([]byte{7}, 32)}
	good := face.seal(sealedQuestion{Nonce: "n", Owner: "o", Tool: "t", Binding: "b", Expires: 1})
	f.Add(good)
	f.Add("")
	f.Add(".")
	f.Add(strings.ToUpper(good))
	f.Fuzz(func(t *testing.T, state string) {
		q, ok := face.open(state)
		if !ok {
			return
		}
		if again := face.seal(q); again != state && state != good {
			t.Errorf("%q opens as %+v", state, q)
		}
	})
}

// Whatever a body holds, it is put back as it was.
func FuzzRevision(f *testing.F) {
	f.Add([]byte(`{"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`), "")
	f.Add([]byte(`{"params":{"_meta":["io.modelcontextprotocol/protocolVersion"]}}`), "2025-11-25")
	f.Add([]byte(`[`), "2026-07-28")
	f.Add([]byte(``), "zzz")
	face := &Face{limits: Limits{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(body))
		r.Header[versionHeader] = []string{version}
		kind, _, err := face.kindOf(httptest.NewRecorder(), r)
		if err != nil {
			t.Fatal(err)
		}
		if version >= firstAlone && kind != standsAlone {
			t.Errorf("%q is not served alone", version)
		}
		var back bytes.Buffer
		if _, err := back.ReadFrom(r.Body); err != nil || !bytes.Equal(back.Bytes(), body) {
			t.Errorf("the body came back as %q, %v", back.Bytes(), err)
		}
	})
}

func FuzzRoomLink(f *testing.F) {
	for _, seed := range []string{"table", "https://hub.example/r/table#k=abc", "/r/", "#", "x?y#k=", "://", "a/r/b#k=1&k=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, secret := splitLink(text)
		if strings.Contains(name, "#") || len(name)+len(secret) > len(text) {
			t.Errorf("%q became %q and %q", text, name, secret)
		}
	})
}
