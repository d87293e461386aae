package place_test

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
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

// Two operators have peered their places, and agents of one write to agents of the other.
// Then the other operator begins a second history, with a key of their own for Bob. The
// first place compares, as it does all the time: the second history does not continue the
// first one, so that the swapped key is never handed out, the operator's page names the
// reason, and the trail has the proof.
func TestAnOperatorWhoSwapsAKeyIsCaughtByAPeeredPlace(t *testing.T) {
	here, honest, swapped := federated(t, 1), federated(t, 2), federated(t, 2)
	now := honest
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.server.Config.Handler.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	if _, err := here.place.AddPeer(t.Context(), operator, place.Peer{Name: "there", URL: front.URL, Key: honest.place.PlaceKey()}); err != nil {
		t.Fatal(err)
	}
	honest.peer("here", here)
	swapped.peer("here", here)
	ada := here.prove(keyNo(0), "ada")
	honest.prove(keyNo(1), "bob")
	swapped.prove(keyNo(2), "carol")
	swapped.prove(keyNo(2), "bob") // the operator's own key
	here.round()
	here.want(here.get("/place/v1/keys/bob@there", ada), 200, "")

	now = swapped
	here.want(here.get("/place/v1/keys/bob@there", ada), 502, "two_histories")
	here.round()
	here.want(here.get("/place/v1/keys/bob@there", ada), 502, "two_histories")
	peers, err := here.place.Peers(t.Context(), operator)
	if err != nil || len(peers) != 1 || !strings.Contains(peers[0].Problem, "two histories") {
		t.Errorf("the operator is told %+v, %v", peers, err)
	}
	if !here.trail.has(audit.PlaceTwoHistories) {
		t.Error("the trail does not say so")
	}
	// The honest history, grown meanwhile, is followed on.
	now = honest
	honest.prove(keyNo(2), "dora")
	if r := here.get("/place/v1/keys/bob@there", ada); r.status != 502 {
		t.Errorf("a place that has shown two histories is believed again: %s", r.raw)
	}
}

// A log that only grows is followed without a word, and what it said before is forgotten.
func TestAPeeredPlacesLogIsFollowed(t *testing.T) {
	here, there := pair(t)
	ada := here.prove(keyNo(0), "ada")
	there.prove(keyNo(1), "bob")
	here.round()
	there.prove(keyNo(2), "carol")
	here.round()
	here.want(here.get("/place/v1/keys/carol@there", ada), 200, "")
	if r := here.want(here.get("/place/v1/keys/log/seen", ada), 200, ""); len(r.list("heads")) != 1 {
		t.Errorf("of a log that grew twice is kept %s", r.raw)
	}
	peers, err := here.place.Peers(t.Context(), operator)
	if err != nil || peers[0].Problem != "" {
		t.Errorf("an honest place is accused: %+v, %v", peers, err)
	}
}
