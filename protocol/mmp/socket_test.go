package mmp_test

import (
	"testing"

	"parley.internal/protocol/mmp"
)

func TestAFrameIsARequest(t *testing.T) {
	for frame, want := range map[string]string{
		`{"id":"1","method":"GET","path":"/place/v1/info"}`:                 "",
		`{"id":"1","method":"POST","path":"/x","body":{"a":1},"token":"t"}`: "",
		`{"id":"1"}`:                               "",
		`{"id":"1","cancel":true}`:                 "",
		`{"id":"","method":"GET","path":"/x"}`:     "invalid_field",
		`{"method":"GET","path":"/x"}`:             "invalid_field",
		`{"id":"1","method":"GET","path":"x"}`:     "invalid_field",
		`{"id":"1","method":"GET"}`:                "invalid_field",
		`{"id":"1","method":"GET","path":["/x"]}`:  "invalid_field",
		`{"id":"1","id":"2","method":"GET"}`:       "invalid_json",
		`["id"]`:                                   "invalid_json",
		`{"id":"1","method":"GET","path":"/x"} {}`: "invalid_json",
	} {
		_, err := mmp.DecodeAsk([]byte(frame))
		got := ""
		if e, ok := err.(mmp.Error); ok { //nolint:errorlint // refusals come bare
			got = e.Code
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s is refused as %q, want %q", frame, got, want)
		}
	}
}

func FuzzDecodeAsk(f *testing.F) {
	f.Add([]byte(`{"id":"7","method":"POST","path":"/place/v1/relay/send?x=1","token":"t","idempotency_key":"k","body":{"to":"b"},"cancel":false}`))
	f.Add([]byte(`{"id":"7"}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		a, err := mmp.DecodeAsk(frame)
		if err != nil {
			return
		}
		encoded, err := mmp.Encode(a)
		if err != nil {
			t.Fatalf("%q: %v", frame, err)
		}
		again, err := mmp.DecodeAsk(encoded)
		if err != nil || again.ID != a.ID || again.Method != a.Method || again.Path != a.Path || again.Token != a.Token || again.Cancel != a.Cancel {
			t.Fatalf("%q became %+v and then %+v: %v", frame, a, again, err)
		}
		if _, err := mmp.AppendTold(nil, a.ID, 200, a.Body); err != nil {
			t.Fatal(err)
		}
	})
}
