package place_test

import (
	"testing"
)

// Names stand in lists, on pages and in terminals, beside other people's.
func TestNamesThatWouldNotStayInTheirPlaceAreRefused(t *testing.T) {
	w := newWorld(t)
	token := w.prove(keyNo(0), "ada")
	for what, bad := range map[string]string{
		"an escape": "Ada\x1b[2J", "a line break": "Ada\nBob", "a NUL": "Ada\x00", "a turn": "Ada \u202egpj", "an isolate": "Ada\u2066", "a mark": "\u200fAda", "a C1": "Ada\u009b",
	} {
		for field, r := range map[string]reply{
			"name":       w.post("/place/v1/register", "", m{"id": "eve", "name": bad}),
			"scope":      w.post("/place/v1/register", "", m{"id": "eve", "scope": bad}),
			"agent_name": w.post("/place/v1/board/post", token, m{"type": "announcement", "agent_name": bad}),
			"skill_name": w.post("/place/v1/board/post", token, m{"type": "offer_skill", "skill_name": bad}),
			"needs":      w.post("/place/v1/board/needs", token, m{"needs": []m{{"name": bad}}}),
			"deposit":    w.post("/place/v1/deposit", token, m{"skill_id": "tea", "name": bad, "content": "# Tea\n"}),
		} {
			if r.status != 400 || r.code() != "invalid_field" {
				t.Errorf("%s in %s: got %d %s, want it refused", what, field, r.status, clip(r.raw))
			}
		}
	}
	// What people are called, and longer texts, are nobody else's business.
	w.want(w.post("/place/v1/register", "", m{"id": "zoe", "name": "Zoë 👩‍🔬 של", "description": "first\n\tsecond"}), 200, "")
	for _, id := range []string{".", ".."} {
		w.want(w.post("/place/v1/register", "", m{"id": id}), 400, "invalid_id")
		w.want(w.post("/place/v1/relay/send", token, envelope("ada", id, "x")), 400, "invalid_id")
	}
	w.join("...")
}
