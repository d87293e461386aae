package mmp

import "testing"

// A member of another shape counts as absent; the others stay.
func TestAnAnswerIsReadAsFarAsItFits(t *testing.T) {
	var k KeyAnswer
	err := DecodeTolerant([]byte(`{"agent_id":"ada","fingerprint":["a"],"proven":"yes","registered_at":7,"public_key":"pem"}`), &k)
	if err != nil || k.AgentID != "ada" || k.PublicKey != "pem" || k.Proven || k.Fingerprint != "" {
		t.Errorf("of an answer in another shape, this was read: %+v %v", k, err)
	}
	if DecodeTolerant([]byte(`["ada"]`), &k) == nil {
		t.Error("a list was read as an answer")
	}
}

func FuzzDecodeTolerant(f *testing.F) {
	for _, seed := range []string{`{}`, `{"agent_id":1}`, `{"proven":{},"agent_id":"a"}`, `[`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, tolerant KeyAnswer
		if Decode(data, &strict) == nil && DecodeTolerant(data, &tolerant) != nil {
			t.Errorf("%q is read strictly and not tolerantly", data)
		}
	})
}
