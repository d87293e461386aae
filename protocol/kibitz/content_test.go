package kibitz

import (
	"errors"
	"strings"
	"testing"
)

func TestContentAsItIsRelayed(t *testing.T) {
	for in, want := range map[string]string{
		`{"k":"chat","text":"  hi\n","x":1}`:                       `{"k":"chat","text":"hi"}`,
		`{"k":"chat","text":"a","dm":true}`:                        `{"k":"chat","text":"a","dm":true}`,
		`{"k":"chat","text":"` + strings.Repeat("é", 499) + ` x"}`: `{"k":"chat","text":"` + strings.Repeat("é", 499) + `"}`,
		`{"k":"chat","text":" "}`:                                  "content.empty",
		`{"k":"chat"}`:                                             "content.empty",
		`{"k":"chat","text":5}`:                                    "content.bad",
		`{"k":"app","data": [ 1.0e+5, 123456789012345678901, "\u00e9\ud800", -0 ] }`: `{"k":"app","data":[1.0e+5,123456789012345678901,"\u00e9\ud800",-0]}`,
		`{"k":"app","data":null}`: `{"k":"app","data":null}`,
		`{"k":"app"}`:             "content.bad",
		`{"k":"app","data":"` + strings.Repeat("x", MaxApp-2) + `"}`:                         `{"k":"app","data":"` + strings.Repeat("x", MaxApp-2) + `"}`,
		`{"k":"app","data":"` + strings.Repeat("x", MaxApp-1) + `"}`:                         "limit.size",
		`{"k":"pay","url":"https://a.b/c","label":"` + strings.Repeat("l", 81) + `"}`:        `{"k":"pay","url":"https://a.b/c","label":"` + strings.Repeat("l", 80) + `"}`,
		`{"k":"pay","url":"http://a.b"}`:                                                     "content.bad",
		`{"k":"pay","url":"javascript:1"}`:                                                   "content.bad",
		`{"k":"pay","url":"https://a/` + strings.Repeat("x", 512) + `"}`:                     "content.bad",
		`{"k":"ink","e":"clear","n":"N","c":"red"}`:                                          `{"k":"ink","e":"clear","n":"N","c":"red"}`,
		`{"k":"ink","e":{"ptr":{"x":0.5,"y":1}}}`:                                            `{"k":"ink","e":{"ptr":{"x":0.5,"y":1}}}`,
		`{"k":"ink","e":{"draw":{"sid":"s","x":1,"y":1,"start":true}}}`:                      `{"k":"ink","e":{"draw":{"sid":"s","x":1,"y":1,"start":true}}}`,
		`{"k":"ink","e":{"draw":{"x":1,"y":1}}}`:                                             "content.bad",
		`{"k":"ink","e":"burn"}`:                                                             "content.bad",
		`{"k":"ink","e":{"ptr":{"x":1,"y":1},"p":"` + strings.Repeat("x", MaxInk) + `"}}`:    "limit.size",
		`{"k":"schema","name":" cards ","version":"1","schema":{ }}`:                         `{"k":"schema","name":"cards","version":"1","schema":{}}`,
		`{"k":"schema","name":" ","version":"1","schema":{}}`:                                "content.bad",
		`{"k":"schema","name":"` + strings.Repeat("n", 121) + `","version":"1","schema":{}}`: "content.bad",
		`{"k":"schema","name":"n","version":"` + strings.Repeat("1", 65) + `","schema":{}}`:  "content.bad",
		`{"k":"schema","name":"n","version":1,"schema":{}}`:                                  "content.bad",
		`{"k":"caps","grants":{}}`:                                                           "grant.denied",
		`{"k":"idtoken"}`:                                                                    "content.control",
		`{"k":"dance"}`:                                                                      "content.unknown",
		`{}`:                                                                                 "content.unknown",
		`{"k":"chat","box":"` + strings.Repeat("A", 40) + `"}`:                               "seal.unexpected",
	} {
		if got := relay(Raw(in), false, false); got != want {
			t.Errorf("%.70s:\n got %.90s\nwant %.90s", in, got, want)
		}
	}
	if got := relay(Raw(`{"k":"schema","name":"n","version":"1","schema":1}`), false, true); got != "content.bad" {
		t.Errorf("directed schema: %s", got)
	}
}

func relay(in Raw, sealed, directed bool) string {
	c, err := OpenContent(in)
	if err != nil {
		return string(CodeOf(err))
	}
	wire, err := c.Check(sealed, directed)
	if err != nil {
		return string(CodeOf(err))
	}
	return string(wire)
}

func TestRightsOfContent(t *testing.T) {
	for in, want := range map[string]struct {
		right  Capability
		detail string
		view   bool
	}{
		`{"k":"chat"}`:                                                  {SendChat, "chat", false},
		`{"k":"app","data":1}`:                                          {SendChat, "app", false},
		`{"k":"app","data":{"__kib_agent":"act"}}`:                      {Act, "act", false},
		`{"k":"app","data":{"\u005f_kib_agent":"act"}}`:                 {Act, "act", false},
		`{"k":"app","data":{"__kib_agent":"view"}}`:                     {SendChat, "view", true},
		`{"k":"app","data":{"__kib_agent":"chat"}}`:                     {SendChat, "app", false},
		`{"k":"app","data":{"__kib_agent":"other"}}`:                    {SendChat, "app", false},
		`{"k":"app","data":{"__kib_agent":["act"]}}`:                    {SendChat, "app", false},
		`{"k":"app","data":[{"__kib_agent":"act"}]}`:                    {SendChat, "app", false},
		`{"k":"app","e":"act","box":"x","data":{"__kib_agent":"chat"}}`: {Act, "act", false},
		`{"k":"app","e":"view","box":"x"}`:                              {SendChat, "view", true},
		`{"k":"app","e":"act","data":1}`:                                {SendChat, "app", false},
		`{"k":"pay"}`:                                                   {SendChat, "pay", false},
		`{"k":"ink"}`:                                                   {SendChat, "ink", false},
		`{"k":"schema"}`:                                                {SendChat, "schema", false},
	} {
		c, err := OpenContent(Raw(in))
		if err != nil {
			t.Fatal(err)
		}
		if c.Right() != want.right || c.Detail() != want.detail || c.IsView() != want.view {
			t.Errorf("%s: %s %s %v; want c.Right() to be %v, c.Detail() to be %v, c.IsView() to be %v", in, c.Right(), c.Detail(), c.IsView(), want.right, want.detail, want.view)
		}
	}
}

func TestEnvelopesThereAndBack(t *testing.T) {
	chat, _ := ChatEnvelope(`a "b"`)
	view, _ := ViewEnvelope(Raw(`{"n":1e2}`))
	act, _ := ActEnvelope(Raw(`{"play":"7♠"}`))
	for data, want := range map[string][2]string{
		string(chat): {"chat", `"a \"b\""`}, string(view): {"view", `{"n":1e2}`}, string(act): {"act", `{"play":"7♠"}`},
		`{"__kib_agent":"zap","text":1}`: {"zap", ""}, `7`: {"", ""},
	} {
		if e, payload := OpenEnvelope(Raw(data)); string(e) != want[0] || string(payload) != want[1] {
			t.Errorf("%s: %s %s", data, e, payload)
		}
	}
}

func TestSealedContent(t *testing.T) {
	secret := []byte(strings.Repeat("s", SecretSize))
	key, err := NewSealKey(secret, "r")
	if err != nil {
		t.Fatal(err)
	}
	other, _ := NewSealKey(secret, "q")
	for _, in := range []string{
		`{"k":"chat","text":"hi","dm":true}`, `{"k":"app","data":{"__kib_agent":"act","action":1}}`, `{"k":"app","data":12345678901234567890}`,
		`{"k":"schema","name":"n","version":"1","schema":{"a":1}}`,
	} {
		to := ""
		if strings.Contains(in, "act") {
			to = "p2"
		}
		sealed, err := key.Seal([nonceSize]byte{1}, Raw(in), to)
		if err != nil {
			t.Fatal(err)
		}
		c, err := OpenContent(sealed)
		if plain, _ := OpenContent(Raw(in)); err != nil || c.Right() != plain.Right() {
			t.Errorf("%s: %v", sealed, err)
		}
		if got := relay(sealed, true, to != ""); strings.HasPrefix(got, "{") == false {
			t.Errorf("%s: %s; want strings.HasPrefix(got, \"{\") not to be false", sealed, got)
		}
		if got := relay(Raw(in), true, to != ""); got != "seal.required" {
			t.Errorf("plain in a sealed room: %s", got)
		}
		opened, err := key.Unseal(sealed, to)
		if err != nil || !sameJSON(t, opened, Raw(in)) {
			t.Errorf("%s became %s, %v", in, opened, err)
		}
		if _, err := key.Unseal(sealed, "p3"); !errors.Is(err, ErrUnopened) {
			t.Errorf("for somebody else: %v", err)
		}
		if _, err := other.Unseal(sealed, to); !errors.Is(err, ErrUnopened) {
			t.Errorf("in another room: %v", err)
		}
	}
}

func sameJSON(t *testing.T, a, b Raw) bool {
	t.Helper()
	if err := errors.Join(a.Canonicalize(), b.Canonicalize()); err != nil {
		t.Fatal(err)
	}
	return string(a) == string(b)
}

func TestLabelOfABoxCannotLie(t *testing.T) {
	key, err := NewSealKey(make([]byte, SecretSize), "r")
	if err != nil {
		t.Fatal(err)
	}
	box := key.Box([nonceSize]byte{}, ContentApp, "data", "", []byte(`{"data":{"__kib_agent":"act","action":1}}`))
	if _, err := key.Unseal(Raw(`{"k":"app","e":"data","box":"`+box+`"}`), ""); !errors.Is(err, ErrUnopened) {
		t.Errorf("an act under the label of data: %v", err)
	}
	for in, want := range map[string]string{
		`{"k":"app","box":"` + box + `"}`:                                "content.bad",
		`{"k":"app","e":"zap","box":"` + box + `"}`:                      "content.bad",
		`{"k":"ink","box":"` + box + `"}`:                                "seal.required",
		`{"k":"chat","box":"AAAA"}`:                                      "content.bad",
		`{"k":"chat","box":5}`:                                           "content.bad",
		`{"k":"chat","box":"` + strings.Repeat("A", MaxChatBox+4) + `"}`: "limit.size",
	} {
		if got := relay(Raw(in), true, false); got != want {
			t.Errorf("%.60s: %s; want %v", in, got, want)
		}
	}
	if _, err := ParseSecret("AAAA"); err == nil {
		t.Error("short secret")
	}
}
