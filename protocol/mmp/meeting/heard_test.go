package meeting_test

import (
	"testing"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func said(t testing.TB, action string) meeting.Message {
	t.Helper()
	m, err := meeting.NewMessage(action, "ada", "bob", map[string]any{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	m.ID = "msg_1"
	return m
}

// An agent that was spoken to directly answers with a result. It comes to the same message
// that a relay would have brought, and to the same one every time.
func TestAResultIsHeardAsTheMessageItComesTo(t *testing.T) {
	ready := `{"id":"m2","action":"decline","from":"bob","to":"ada","timestamp":"2026-03-01T12:00:00Z","payload":{"reason":"format_not_accepted"}}`
	for _, c := range []struct{ name, action, result, want string }{
		{"an offer that may be accepted", meeting.ActionOfferSkill, `{"status":"received","can_accept":true,"suggested_response":"accept_or_decline"}`, meeting.ActionAccept},
		{"an offer that may not", meeting.ActionOfferSkill, `{"status":"received","can_accept":false}`, ""},
		{"an offer turned away", meeting.ActionOfferSkill, `{"status":"rejected","reason":"format_not_accepted"}`, meeting.ActionDecline},
		{"a ready answer", meeting.ActionOfferSkill, `{"status":"rejected","suggested_response":` + ready + `}`, meeting.ActionDecline},
		{"a request that something fits", meeting.ActionRequestSkill, `{"status":"received","matches":[{"id":"tea","name":"Tea","content_hash":"x"}]}`, meeting.ActionOfferSkill},
		{"a request that nothing fits", meeting.ActionRequestSkill, `{"status":"received","matches":[]}`, meeting.ActionDecline},
		{"a skill that arrived", meeting.ActionSkillContent, `{"status":"received"}`, meeting.ActionReflect},
		{"a skill that was refused", meeting.ActionSkillContent, `{"status":"error"}`, ""},
		{"words in another's name", meeting.ActionPropose, `{"suggested_response":{"id":"x","action":"support","from":"eve","timestamp":"t","payload":{}}}`, ""},
		{"words for another", meeting.ActionPropose, `{"suggested_response":{"id":"x","action":"support","from":"bob","to":"eve","timestamp":"t","payload":{}}}`, ""},
		{"no object", meeting.ActionPropose, `[]`, ""},
	} {
		m := said(t, c.action)
		got, ok := m.Heard("bob", mmp.Raw(c.result), noon)
		if ok != (c.want != "") || got.Action != c.want {
			t.Errorf("%s: heard %q, not %q", c.name, got.Action, c.want)
			continue
		}
		again, _ := m.Heard("bob", mmp.Raw(c.result), noon.Add(time.Hour))
		if ok && (got.From != "bob" || got.RepliesTo() != m.ID || again.ID != got.ID) {
			t.Errorf("%s: %+v, and again %+v", c.name, got, again)
		}
	}
}

func TestAPackedSkillIsHeardWithOrWithoutItsMessage(t *testing.T) {
	m := said(t, meeting.ActionAccept)
	for _, body := range []string{
		`{"message":{"id":"m9","action":"skill_content","from":"bob","timestamp":"t","payload":{"content":"# Tea"}}}`,
		`{"packaged_skill":{"name":"Tea","content":"# Tea","content_hash":"x","provenance":{"origin":"bob","chain":["bob"]}}}`,
	} {
		got, ok := m.HeardContent("bob", "tea", mmp.Raw(body), noon)
		if !ok || got.Action != meeting.ActionSkillContent || got.From != "bob" || got.RepliesTo() != m.ID {
			t.Errorf("%s: %+v; want ok, got.Action to be %v, got.From to be \"bob\", got.RepliesTo() to be %v", body, got, meeting.ActionSkillContent, m.ID)
		}
	}
	if got, ok := m.HeardContent("bob", "tea", mmp.Raw(`{"message":{"id":"m9","action":"skill_content","from":"eve","timestamp":"t"}}`), noon); ok {
		t.Errorf("another's skill was heard: %+v", got)
	}
}

func FuzzHeard(f *testing.F) {
	f.Add("request_skill", []byte(`{"status":"received","matches":[{"id":1},{"name":"Tea"},3]}`))
	f.Add("accept", []byte(`{"packaged_skill":{"content":"# Tea"},"message":7}`))
	f.Fuzz(func(t *testing.T, action string, body []byte) {
		m := said(t, action)
		for _, hear := range []func() (meeting.Message, bool){
			func() (meeting.Message, bool) { return m.Heard("bob", body, noon) },
			func() (meeting.Message, bool) { return m.HeardContent("bob", "tea", body, noon) },
		} {
			if got, ok := hear(); ok && (got.From != "bob" || got.Action == "" || got.ID == "") {
				t.Fatalf("heard %+v", got)
			}
		}
	})
}
