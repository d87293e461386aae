package viber_test

import (
	"testing"

	"parley.internal/protocol/viber"
)

func digest(t testing.TB, payload string) string {
	t.Helper()
	p, err := decodePayload(viber.TypeTaskSubmit, payload)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.(*viber.TaskSubmit).Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSpellingDoesNotChangeTheBody(t *testing.T) {
	same := [][]string{
		{
			`{"goal":"g"}`, `{"messages":[],"goal":"g"}`, `{"goal":"\u0067","messages":null,"plan":null,"artifacts":[],"memory":"","options":{}}`,
			`{"goal":"g","idempotency_key":"other","future":1,"options":{"stream_deltas":false,"mode":null}}`,
		},
		{`{"goal":"g","options":{"mode":"agent_decides"}}`, `{"goal":"g","options":{"mode":"viber-decides"}}`},
		{
			`{"goal":"g","messages":[{"role":"user","content":"c","tool_calls":[{"id":"1","name":"n","arguments":{"a":1,"b":2}}]}]}`,
			`{"goal":"g","messages":[{"tool_calls":[{"name":"n","arguments":{"b": 2.0, "a":1},"id":"1"}],"tool_results":[],"content":"c","role":"user"}]}`,
		},
		{`{"goal":"g","options":{"budget_usd":0.5}}`, `{"goal":"g","options":{"budget_usd":5e-1}}`},
	}
	for _, group := range same {
		for _, body := range group[1:] {
			if digest(t, body) != digest(t, group[0]) {
				t.Errorf("%s differs from %s", body, group[0])
			}
		}
	}
}

func TestAnyOtherBodyHasAnotherDigest(t *testing.T) {
	seen := map[string]string{}
	for _, body := range []string{
		`{"goal":"g"}`, `{"goal":"h"}`, `{"goal":"g "}`,
		`{"goal":"g","messages":[{"role":"user","content":"c"}]}`, `{"goal":"g","messages":[{"role":"system","content":"c"}]}`,
		`{"goal":"g","plan":{"format":"markdown","content":"p"}}`, `{"goal":"g","artifacts":[{"id":"a"}]}`, `{"goal":"g","memory":"m"}`,
		`{"goal":"g","options":{"stream_deltas":true}}`, `{"goal":"g","options":{"max_tokens":1}}`, `{"goal":"g","options":{"mode":"always_ask"}}`,
		`{"goal":"g","messages":[{"role":"user","content":"","tool_calls":[{"id":"1","name":"n","arguments":{"x":9007199254740993}}]}]}`,
		`{"goal":"g","messages":[{"role":"user","content":"","tool_calls":[{"id":"1","name":"n","arguments":{"x":9007199254740992}}]}]}`,
	} {
		d := digest(t, body)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s", body, other)
		}
		seen[d] = body
	}
}

func FuzzDigest(f *testing.F) {
	for _, fr := range frames(f, "messages.txtar") {
		f.Add(fr.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := viber.DecodeFromClient(data)
		submit, ok := m.Body.(*viber.TaskSubmit)
		if err != nil || !ok {
			return
		}
		first, err := submit.Digest()
		if err != nil {
			t.Fatal(err)
		}
		again, err := viber.Encode(viber.Header{ID: "1"}, submit)
		if err != nil {
			t.Fatal(err)
		}
		m, err = viber.DecodeFromClient(again)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := m.Body.(*viber.TaskSubmit).Digest(); err != nil || second != first {
			t.Errorf("%s: %s then %s, %v", data, first, second, err)
		}
	})
}
