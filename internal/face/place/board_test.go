package place_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/protocol/mmp"
)

func TestThreeTypesOfPostingsAndNoOther(t *testing.T) {
	w := newWorld(t)
	for _, kind := range []string{"offer_skill", "request_skill", "announcement"} {
		r := w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": kind}), 201, "")
		if !regexp.MustCompile(`^post_[0-9a-f]{16}$`).MatchString(r.str("posting_id")) || r.str("status") != "posted" {
			t.Errorf("%s", r.raw)
		}
	}
	for body, want := range map[string]string{
		`{"agent_id":"ada","type":"sale"}`: "Invalid type. Must be one of: offer_skill, request_skill, announcement",
		`{"agent_id":"ada"}`:               "Invalid type. Must be one of: offer_skill, request_skill, announcement",
		`{"type":"announcement"}`:          "agent_id is required",
	} {
		if r := w.want(w.post("/place/v1/board/post", "", body), 400, ""); r.str("error") != want {
			t.Errorf("%s: %s; want r.str(\"error\") to be %v", body, r.raw, want)
		}
	}
	for range 7 {
		w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement"}), 201, "")
	}
	if r := w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement"}), 400, ""); r.str("error") != "Maximum postings reached (10). Remove old postings first." {
		t.Errorf("%s; want r.str(\"error\") to be \"Maximum postings reached (10). Remove old postings first.\"", r.raw)
	}
	w.want(w.post("/place/v1/board/post", "", m{"agent_id": "bob", "type": "announcement"}), 201, "")
}

func TestBrowseFiltersNewestFirstInBothViews(t *testing.T) {
	w := newWorld(t)
	w.join("ada")
	put := func(agent, kind, name, summary, format string, tags ...string) {
		w.want(w.post("/place/v1/board/post", "", m{"agent_id": agent, "type": kind, "skill_name": name, "skill_summary": summary, "skill_format": format, "tags": tags}), 201, "")
		w.clock.pass(time.Second)
	}
	put("ada", "offer_skill", "Tea", "how to brew", "markdown", "drink", "hot")
	put("bob", "request_skill", "Coffee", "wanted: TEA substitute", "markdown", "drink")
	put("ada", "announcement", "News", "nothing", "text", "cold")
	for query, want := range map[string]string{
		"":                               "News Coffee Tea",
		"?type=offer_skill":              "Tea",
		"?agent_id=bob":                  "Coffee",
		"?skill_format=text":             "News",
		"?search=tea":                    "Coffee Tea",
		"?tags=hot,cold":                 "News Tea",
		"?limit=1":                       "News",
		"?type=agent":                    "",
		"?search=nothing&tags=cold,none": "News",
	} {
		r := w.want(w.get("/place/v1/board/browse"+query, ""), 200, "")
		var names []string
		for _, p := range r.list("postings") {
			posting, _ := p.(map[string]any)
			name, _ := posting["skill_name"].(string)
			names = append(names, name)
		}
		if strings.Join(names, " ") != want || r.num("count") != len(names) {
			t.Errorf("%q: %v, want %s", query, names, want)
		}
		if r.num("returned") != len(r.list("entries")) || r.num("total_available") < r.num("returned") || r.str("sampling") == "" {
			t.Errorf("%q: %s", query, r.raw)
		}
	}
	kinds := map[string]int{}
	w.want(w.post("/place/v1/board/needs", "", m{"agent_id": "bob", "agent_name": "Bob", "needs": []m{{"name": "milk", "description": "oat"}}}), 200, "")
	for _, e := range w.want(w.get("/place/v1/board/browse", ""), 200, "").list("entries") {
		entry, _ := e.(map[string]any)
		kinds[fmt.Sprint(entry["type"])]++
	}
	if kinds["agent"] != 1 || kinds["need"] != 1 || kinds["offer_skill"] != 1 || kinds["announcement"] != 1 {
		t.Errorf("mixed view: %v", kinds)
	}
	if p := w.want(w.get("/place/v1/board/browse?agent_id=ada&type=offer_skill", ""), 200, "").list("postings")[0].(map[string]any); p["agent_name"] != "ada" {
		t.Errorf("the name is not taken from the registry: %v", p)
	}
	if r := w.want(w.do("DELETE", "/place/v1/board/needs", "", m{"agent_id": "bob"}), 200, ""); r.str("status") != "removed" {
		t.Errorf("%s; want r.str(\"status\") to be \"removed\"", r.raw)
	}
}

func TestPostingsAreShownAndRemovedByTheirOwnerOnly(t *testing.T) {
	w := newWorld(t)
	id := w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "offer_skill", "skill_name": "Tea", "metadata": m{"n": 1}}), 201, "").str("posting_id")
	if r := w.want(w.get("/place/v1/board/posting/"+id, ""), 200, ""); r.str("skill_name") != "Tea" || r.str("agent_id") != "ada" {
		t.Errorf("%s; want r.str(\"skill_name\") to be \"Tea\", r.str(\"agent_id\") to be \"ada\"", r.raw)
	}
	if r := w.want(w.get("/place/v1/board/my_postings?agent_id=ada", ""), 200, ""); r.num("count") != 1 {
		t.Errorf("%s; want r.num(\"count\") to be 1", r.raw)
	}
	w.want(w.get("/place/v1/board/my_postings", ""), 400, "")
	for body, want := range map[string]string{
		`{"agent_id":"ada"}`:                           "posting_id is required",
		`{"posting_id":"` + id + `"}`:                  "agent_id is required",
		`{"agent_id":"ada","posting_id":"post_0"}`:     "Posting not found",
		`{"agent_id":"eve","posting_id":"` + id + `"}`: "Not authorized to remove this posting",
	} {
		if r := w.want(w.post("/place/v1/board/remove", "", body), 400, ""); r.str("error") != want {
			t.Errorf("%s: %s; want r.str(\"error\") to be %v", body, r.raw, want)
		}
	}
	w.want(w.post("/place/v1/board/remove", "", m{"agent_id": "ada", "posting_id": id}), 200, "")
	if r := w.want(w.get("/place/v1/board/posting/"+id, ""), 404, ""); r.str("error") != "Posting not found" {
		t.Errorf("%s; want r.str(\"error\") to be \"Posting not found\"", r.raw)
	}
}

func TestPostingsExpire(t *testing.T) {
	w := newWorld(t)
	short := w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement", "ttl_hours": 1}), 201, "").str("posting_id")
	long := w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement"}), 201, "")
	expires, err := time.Parse(time.RFC3339, long.str("expires_at"))
	if left := time.Until(expires); err != nil || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("%s; want no error, left to be at least 23*time.Hour, left to be at most 25*time.Hour", long.raw)
	}
	w.clock.pass(61 * time.Minute)
	w.want(w.get("/place/v1/board/posting/"+short, ""), 404, "")
	w.want(w.get("/place/v1/board/posting/"+long.str("posting_id"), ""), 200, "")
	if r := w.want(w.get("/place/v1/board/browse", ""), 200, ""); r.num("count") != 1 {
		t.Errorf("%s; want r.num(\"count\") to be 1", r.raw)
	}
	w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement", "ttl_hours": -1}), 400, "invalid_field")
}

func TestTheLifeOfADeposit(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.prove(keyNo(0), "ada"), w.prove(keyNo(1), "bob")
	content := "# Tea\n\nFirst boil.\n\n## Steep\n\nThree minutes.\n"
	sig, err := mmp.SignContent(keyNo(0), content)
	if err != nil {
		t.Fatal(err)
	}
	body := m{"skill_id": "tea", "name": "Tea", "description": "brewing", "tags": []string{"drink"}, "format": "markdown", "content": content, "content_hash": mmp.HashOf(content).Prefixed(), "signature": sig}
	w.want(w.post("/place/v1/deposit", "", body), 401, "authentication_required")
	r := w.want(w.post("/place/v1/deposit", ada, body), 200, "")
	if notice, _ := r.body["trust_notice"].(map[string]any); r.str("status") != "deposited" || notice["depositor_signed"] != true || notice["verified_by_place"] != false {
		t.Errorf("%s", r.raw)
	}
	p := w.want(w.get("/place/v1/preview/tea?first_lines=3", ""), 200, "")
	if p.str("first_lines") != "# Tea\n\nFirst boil." || p.num("content_size_lines") != 7 || p.str("content_hash") != mmp.HashOf(content).Bare() || p.str("depositor_id") != "ada" || len(p.list("sections")) != 2 {
		t.Errorf("%s", p.raw)
	}
	if c := w.want(w.get("/place/v1/skill_content/tea?owner=ada", bob), 200, ""); c.str("content") != content || c.str("content_hash") != mmp.HashOf(content).Bare() {
		t.Errorf("%s", c.raw)
	}
	w.want(w.post("/place/v1/board/attest", bob, m{"skill_id": "tea", "owner_agent_id": "ada", "claim": "tastes good"}), 200, "")
	w.want(w.post("/place/v1/board/attest", bob, m{"skill_id": "tea", "owner_agent_id": "ada", "claim": "tastes good"}), 422, "duplicate")
	w.want(w.post("/place/v1/board/attest", bob, m{"skill_id": "none", "owner_agent_id": "ada", "claim": "x"}), 422, "skill_not_found")
	w.want(w.post("/place/v1/board/attest", bob, m{"skill_id": "tea", "owner_agent_id": "ada", "claim": "y", "signature": sig}), 422, "signature_invalid")
	w.want(w.post("/place/v1/board/attest", bob, m{"skill_id": "tea"}), 400, "missing_fields")
	if p := w.want(w.get("/place/v1/preview/tea", ""), 200, ""); len(p.list("attestations")) != 1 {
		t.Errorf("%s; want len(p.list(\"attestations\")) to be 1", p.raw)
	}

	body["content"], body["content_hash"], body["signature"] = "# Tea 2\n", "", ""
	w.want(w.do("PUT", "/place/v1/deposit/tea", bob, body), 404, "not_found")
	u := w.want(w.do("PUT", "/place/v1/deposit/tea", ada, body), 200, "")
	if u.str("previous_hash") != mmp.HashOf(content).Bare() || u.str("new_hash") != mmp.HashOf("# Tea 2\n").Bare() {
		t.Errorf("%s", u.raw)
	}
	if prof := w.want(w.get("/place/v1/agent_profile/ada", ""), 200, ""); prof.num("deposit_count") != 1 {
		t.Errorf("%s; want prof.num(\"deposit_count\") to be 1", prof.raw)
	}
	w.want(w.do("DELETE", "/place/v1/deposit/tea", ada, m{}), 400, "reason_required")
	w.want(w.do("DELETE", "/place/v1/deposit/tea", bob, m{"reason": "mine"}), 404, "not_found")
	w.want(w.do("DELETE", "/place/v1/deposit/tea", ada, m{"reason": "old"}), 200, "")
	w.want(w.get("/place/v1/preview/tea", ""), 404, "not_found")

	body["content"] = "# Again\n"
	w.want(w.post("/place/v1/deposit", ada, body), 200, "")
	w.want(w.post("/place/v1/unregister", ada, m{}), 200, "")
	w.want(w.get("/place/v1/skill_content/tea", ""), 404, "not_found")
}

func TestDepositsThatBreakTheRulesAreRejectedWithReasons(t *testing.T) {
	w := newWorld(t)
	ada := w.prove(keyNo(0), "ada")
	forged, err := mmp.SignContent(keyNo(1), "x")
	if err != nil {
		t.Fatal(err)
	}
	for reason, body := range map[string]m{
		"format_not_accepted": {"skill_id": "s", "format": "python", "content": "x"},
		"too_large":           {"skill_id": "s", "content": strings.Repeat("x", 100_001)},
		"not_text":            {"skill_id": "s", "content": "a\x00b"},
		"hash_mismatch":       {"skill_id": "s", "content": "x", "content_hash": mmp.HashOf("y").Bare()},
		"signature_invalid":   {"skill_id": "s", "content": "x", "signature": forged},
		"hop_limit":           {"skill_id": "s", "content": "x", "provenance": m{"origin": "o", "chain": []string{"o", "p", "q", "r"}, "hop_count": 3}},
	} {
		r := w.want(w.post("/place/v1/deposit", ada, body), 422, "deposit_rejected")
		if got := r.list("reasons"); len(got) != 1 || got[0] != reason {
			t.Errorf("%s: %s; want len(got) to be 1, got[0] to be %v", reason, r.raw, reason)
		}
	}
	for i := range 20 {
		w.want(w.post("/place/v1/deposit", ada, m{"skill_id": fmt.Sprint("s", i), "content": "x"}), 200, "")
	}
	w.want(w.post("/place/v1/deposit", ada, m{"skill_id": "more", "content": "x"}), 422, "deposit_rejected")
	for range 33 {
		w.want(w.post("/place/v1/deposit", ada, m{"skill_id": "s1", "content": "x"}), 200, "")
	}
	w.want(w.post("/place/v1/deposit", ada, m{"skill_id": "s1", "content": "x"}), 429, "rate_limited")
}
