package place_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// Visitors tell what another place showed them. Two heads of one size, both signed, are
// kept and told to everybody, and the trail says so. Strangers tell nothing.
func TestVisitorsReportAPlaceThatShowsTwoHistories(t *testing.T) {
	w := newWorld(t, policy(place.TOFU))
	token := w.prove(keyNo(0), "ada")
	heads := func(salt byte) m {
		h := mmp.Head{Size: 7, Root: [32]byte{salt}}
		h.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, 32)))
		return m{"heads": []mmp.Head{h, {PlaceKey: h.PlaceKey, Size: 9, Signature: "made up"}}}
	}
	w.want(w.post("/place/v1/keys/log/seen", "", heads(1)), 401, "authentication_required")
	if r := w.want(w.post("/place/v1/keys/log/seen", token, heads(1)), 200, ""); len(r.list("heads")) != 1 {
		t.Fatalf("one of two heads is signed, and this is told: %s", r.raw)
	}
	if w.trail.has(audit.PlaceTwoHistories) {
		t.Error("one head contradicts nothing")
	}
	if r := w.want(w.post("/place/v1/keys/log/seen", token, heads(2)), 200, ""); len(r.list("heads")) != 2 || !w.trail.has(audit.PlaceTwoHistories) {
		t.Errorf("the proof of two histories is not kept: %s", r.raw)
	}
	w.want(w.post("/place/v1/keys/log/seen", token, m{"heads": 7}), 400, "invalid_json")
}

// The log is for everybody to compare, in every policy; whose keys are in it is not.
func TestTheKeyLogIsServed(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		token := w.prove(keyNo(0), "ada")
		if r := w.want(w.get("/place/v1/keys/log/head", ""), 200, ""); r.num("size") != 1 {
			t.Errorf("a log of one key: %s", r.raw)
		}
		w.prove(keyNo(1), "bob")
		w.want(w.get("/place/v1/keys/log/consistency?from=1&to=2", ""), 200, "")
		for _, bad := range []string{"from=0&to=2", "from=2&to=1", "from=1&to=3", "from=x&to=1", ""} {
			w.want(w.get("/place/v1/keys/log/consistency?"+bad, ""), 400, "invalid_param")
		}
		w.want(w.get("/place/v1/keys/log/history?agent_id=..", token), 400, "invalid_id")
		if r := w.want(w.get("/place/v1/keys/log/history?agent_id=bob", token), 200, ""); len(r.list("bindings")) != 1 {
			t.Errorf("the history of bob: %s", r.raw)
		}
		if auth == place.Strict {
			w.want(w.get("/place/v1/keys/log/history?agent_id=bob", ""), 401, "authentication_required")
		}
	})
}
