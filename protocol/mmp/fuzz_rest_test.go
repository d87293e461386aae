package mmp

import (
	"net/url"
	"testing"
	"time"
)

func FuzzThreads(f *testing.F) {
	f.Add([]byte(`{"id":"m1","action":"propose","from":"ada","to":"bob","timestamp":"t","payload":{"title":"Tea?"}}`), []byte(`{"id":"m2","action":"support","from":"bob","in_reply_to":"m1","timestamp":"t","payload":{"reason":"yes"}}`))
	f.Add([]byte(`{"id":"m1","action":"offer","from":"ada","to":"bob","timestamp":"t","payload":{"terms":{"cups":2}}}`), []byte(`{"id":"m2","action":"agree","from":"ada","in_reply_to":"m1","timestamp":"t","payload":{"terms_hash":"x"}}`))
	f.Add([]byte(`{"id":"m1","action":"offer","from":"ada","to":"bob","timestamp":"t","payload":{"terms":{"a":1e400}}}`), []byte(`{"id":"m2","action":"counter","from":"bob","in_reply_to":"m1","timestamp":"t","payload":{"terms":[]}}`))
	f.Fuzz(func(t *testing.T, opening, move []byte) {
		first, err := DecodeMessage(opening)
		if err != nil {
			return
		}
		next, err := DecodeMessage(move)
		if err != nil {
			return
		}
		if d, err := OpenDiscussion(first, vectorTime); err == nil {
			after, err := d.Apply(next, vectorTime)
			if err != nil && after.State != d.State {
				t.Fatalf("an illegal move changed %s to %s", d.State, after.State)
			}
			_ = after.ExpireIdle(vectorTime.Add(240 * time.Hour))
		}
		if n, err := OpenNegotiation(first, vectorTime); err == nil {
			after, err := n.Apply(next, vectorTime)
			if err != nil && after.State != n.State {
				t.Fatalf("an illegal move changed %s to %s", n.State, after.State)
			}
			if after.State == ThreadAgreed && (next.From == n.Last || next.Action != ActionAgree) {
				t.Fatalf("%s agreed with itself", next.From)
			}
			_ = after.ExpireIdle(vectorTime.Add(240 * time.Hour))
		}
	})
}

func FuzzQueries(f *testing.F) {
	f.Add("agent_id=ada&limit=10&wait=60&ack=manual&lease=5&since=2026-01-01T00:00:00Z&hours=24")
	f.Add("limit=-1&first_lines=0&owner=%00&skill_id=../x&peer_id=a&lines=99999999999999999999")
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		if q, err := ParseAgentsQuery(v); err == nil && q.Limit < 0 {
			t.Fatalf("%+v", q)
		}
		if id, err := ParseAgentQuery(v, ""); err == nil && !ValidID(id) {
			t.Fatalf("%q", id)
		}
		_, _ = ParseSentQuery(v, "")
		if n, err := ParseHours(v); err == nil && n < 0 {
			t.Fatalf("%d hours", n)
		}
		_, _ = ParsePreviewQuery(v)
		_, _ = ParseSkillQuery(v)
		if q, err := ParseHistoryQuery(v); err == nil && q.Limit < 0 {
			t.Fatalf("%+v", q)
		}
	})
}

func FuzzShortTexts(f *testing.F) {
	f.Add("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	f.Add("ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
	f.Add("2026-01-30T12:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := ParseHash(text); err == nil {
			if again, err := ParseHash(h.Prefixed()); err != nil || again != h || !SameHash(h.Bare(), text) {
				t.Fatalf("%q became %s: %v", text, h.Prefixed(), err)
			}
		}
		if key, err := ParsePeerKey(text); err == nil {
			if again, err := ParsePeerKey(FormatPeerKey(key)); err != nil || !again.Equal(key) {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if at, err := ParseTime(text); err == nil {
			if again, err := ParseTime(Stamp(at)); err == nil && !again.Equal(at.Truncate(time.Second)) {
				t.Fatalf("%q: %s and %s", text, at, again)
			}
		}
		if name := SafeName(text); !ValidSkillID(name) {
			t.Fatalf("%q became %q", text, name)
		}
		_, _, _ = DecodeRemove([]byte(text), "")
		_, _ = DecodeWithdraw([]byte(text))
		_, _ = DecodeAgentRef([]byte(text), "")
		_, _ = DecodeSessionStart([]byte(text), "")
		_, _ = DecodeSessionEnd([]byte(text))
	})
}
