package mmp_test

import (
	"net/url"
	"testing"
	"time"

	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/protocol/mmp/relay"
)

func FuzzQueries(f *testing.F) {
	f.Add("agent_id=ada&limit=10&wait=60&ack=manual&lease=5&since=2026-01-01T00:00:00Z&hours=24")
	f.Add("limit=-1&first_lines=0&owner=%00&skill_id=../x&peer_id=a&lines=99999999999999999999")
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		if q, err := board.ParseAgentsQuery(v); err == nil && q.Limit < 0 {
			t.Fatalf("%+v", q)
		}
		if id, err := board.ParseAgentQuery(v, ""); err == nil && !mmp.ValidID(id) {
			t.Fatalf("%q", id)
		}
		_, _ = relay.ParseSentQuery(v, "")
		if n, err := board.ParseHours(v); err == nil && n < 0 {
			t.Fatalf("%d hours", n)
		}
		_, _ = board.ParsePreviewQuery(v)
		_, _ = meeting.ParseSkillQuery(v)
		if q, err := meeting.ParseHistoryQuery(v); err == nil && q.Limit < 0 {
			t.Fatalf("%+v", q)
		}
	})
}

func FuzzShortTexts(f *testing.F) {
	f.Add("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	f.Add("ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
	f.Add("2026-01-30T12:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := mmp.ParseHash(text); err == nil {
			if again, err := mmp.ParseHash(h.Prefixed()); err != nil || again != h || !mmp.SameHash(h.Bare(), text) {
				t.Fatalf("%q became %s: %v", text, h.Prefixed(), err)
			}
		}
		if key, err := mmp.ParsePeerKey(text); err == nil {
			if again, err := mmp.ParsePeerKey(mmp.FormatPeerKey(key)); err != nil || !again.Equal(key) {
				t.Fatalf("%q: %v; want no error, again.Equal(key)", text, err)
			}
		}
		if at, err := mmp.ParseTime(text); err == nil {
			if again, err := mmp.ParseTime(mmp.Stamp(at)); err == nil && !again.Equal(at.Truncate(time.Second)) {
				t.Fatalf("%q: %s and %s", text, at, again)
			}
		}
		if name := meeting.SafeName(text); !meeting.ValidSkillID(name) {
			t.Fatalf("%q became %q", text, name)
		}
		_, _, _ = board.DecodeRemove([]byte(text), "")
		_, _ = board.DecodeWithdraw([]byte(text))
		_, _ = board.DecodeAgentRef([]byte(text), "")
		_, _ = meeting.DecodeSessionStart([]byte(text), "")
		_, _ = meeting.DecodeSessionEnd([]byte(text))
	})
}
