package place_test

import (
	"strings"
	"testing"
	"time"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

func TestOneEnqueueOneDequeueAndNeverContent(t *testing.T) {
	w := newWorld(t)
	w.join("ada")
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": keyNo(0).Public().PEM()}), 201, "")
	w.want(w.post("/place/v1/board/post", "", m{"agent_id": "ada", "type": "announcement", "skill_name": "UNSPEAKABLE"}), 201, "")
	w.send("ada", "bob", "VERYSECRET", "")
	w.want(w.get("/place/v1/relay/peek?agent_id=bob", ""), 200, "")
	w.receive("bob", "", "")
	want := map[string]int{"registration register": 1, "key_registration register": 1, "bulletin post": 1, "relay enqueue": 1, "relay dequeue": 1}
	got := w.actions()
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d, want %d", k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	raw := string(w.get("/place/v1/audit", "").raw)
	for _, secret := range []string{"VERYSECRET", "UNSPEAKABLE", "BEGIN"} {
		if strings.Contains(raw, secret) {
			t.Errorf("the audit holds %s", secret)
		}
	}
	for _, e := range w.entries("&type=relay") {
		if e["content_hash"] != mmp.HashOf("VERYSECRET").Prefixed() || e["size_bytes"] != 10.0 || len(e["participants"].([]any)) != 2 {
			t.Errorf("%v", e)
		}
	}
}

func TestTheAuditIsFilteredAndCutAndSummedByHour(t *testing.T) {
	w := newWorld(t)
	w.join("ada")
	for range 5 {
		w.send("ada", "bob", "x", "")
	}
	w.clock.pass(time.Hour)
	middle := w.clock.now()
	w.clock.pass(time.Second)
	w.send("eve", "bob", "yy", "")
	if n := len(w.entries("&type=relay")); n != 6 {
		t.Errorf("%d relay entries", n)
	}
	if n := len(w.entries("&type=registration")); n != 1 {
		t.Errorf("%d registrations", n)
	}
	if n := len(w.entries("&agent_id=eve")); n != 1 {
		t.Errorf("%d of eve", n)
	}
	if n := len(w.entries("&since=" + mmp.Stamp(middle))); n != 1 {
		t.Errorf("%d since then", n)
	}
	last := w.want(w.get("/place/v1/audit?limit=2", ""), 200, "")
	if last.num("count") != 2 || last.str("note") == "" {
		t.Errorf("%s; want last.num(\"count\") to be 2, last.str(\"note\") not to be \"\"", last.raw)
	}
	if e, _ := last.list("entries")[1].(map[string]any); e["size_bytes"] != 2.0 {
		t.Errorf("the newest is not last: %s", last.raw)
	}
	for _, bad := range []string{"?since=yesterday", "?limit=-1", "?limit=x"} {
		w.want(w.get("/place/v1/audit"+bad, ""), 400, "invalid_param")
	}
	for _, hours := range []string{"1", "2", "24", "48"} {
		r := w.want(w.get("/place/v1/audit/stats?hours="+hours, ""), 200, "")
		hourly, _ := r.body["hourly"].(map[string]any)
		summary, _ := r.body["summary"].(map[string]any)
		if len(hourly) != atoi(hours) || summary["total_relays"] != 6.0 || summary["total_bytes_relayed"] != 7.0 || summary["total_registrations"] != 1.0 {
			t.Errorf("%s hours: %s", hours, r.raw)
		}
	}
	now, _ := w.want(w.get("/place/v1/audit/stats?hours=1", ""), 200, "").body["hourly"].(map[string]any)
	if h, _ := now[board.HourKey(w.clock.now())].(map[string]any); h["relay_count"] != 1.0 || h["unique_agents"] != 2.0 || h["total_bytes"] != 2.0 {
		t.Errorf("%v; want h[\"relay_count\"] to be 1.0, h[\"unique_agents\"] to be 2.0, h[\"total_bytes\"] to be 2.0", now)
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

func TestAnonymisedIdsAreStableAndChangeWithTheSalt(t *testing.T) {
	w := newWorld(t, policy(place.Open), func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.Anonymize = true })
	w.send("ada", "bob", "x", "")
	w.send("ada", "cy", "x", "")
	name := func(i int) string {
		s, _ := w.entries("&type=relay")[i]["participants"].([]any)[0].(string)
		return s
	}
	first := name(0)
	if !strings.HasPrefix(first, "anon_") || len(first) != 17 || name(1) != first {
		t.Errorf("%q and %q", first, name(1))
	}
	if err := w.place.RenewSalt(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	if name(0) == first || name(0) != name(1) {
		t.Errorf("after renewing: %q", name(0))
	}
}

func TestWhoMaySeeWhatOfTheAudit(t *testing.T) {
	w := newWorld(t, policy(place.TOFU))
	ada := w.prove(keyNo(0), "ada")
	w.send("ada", "bob", "x", ada)
	strangers := w.entries("&type=relay")[0]["participants"].([]any)
	if !strings.HasPrefix(strangers[0].(string), "anon_") || strangers[1] != "bob" {
		t.Errorf("a stranger sees %v", strangers)
	}
	own := w.want(w.get("/place/v1/audit?type=relay", ada), 200, "").list("entries")[0].(map[string]any)
	if own["participants"].([]any)[0] != "ada" {
		t.Errorf("its owner sees %v", own)
	}
	strict := newWorld(t, policy(place.Strict))
	a, b := strict.prove(keyNo(0), "ada"), strict.prove(keyNo(1), "bob")
	strict.send("ada", "bob", "x", a)
	strict.want(strict.get("/place/v1/audit", ""), 401, "authentication_required")
	strict.want(strict.get("/place/v1/audit?agent_id=bob", a), 403, "not_your_agent")
	for _, e := range strict.want(strict.get("/place/v1/audit", b), 200, "").list("entries") {
		entry, _ := e.(map[string]any)
		if entry["event_type"] == "registration" && entry["agent_id"] != "bob" {
			t.Errorf("bob sees %v", entry)
		}
	}
}
