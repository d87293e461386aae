package place_test

import (
	"regexp"
	"testing"
	"time"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// stamp is a time so far from now.
func stamp(off time.Duration) string { return mmp.Stamp(time.Now().Add(off)) }

func message(id, action, from string) m {
	return m{"id": id, "action": action, "from": from, "timestamp": stamp(0), "payload": m{}}
}

func TestDirectMessagesOfOneSenderAreHeldToTheirRate(t *testing.T) {
	w := newWorld(t, func(_ *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Limits.Peer = 3 })
	for i := range 3 {
		w.want(w.post("/meeting/v1/message", "", message(string(rune('a'+i)), "goodbye", "ada")), 200, "")
	}
	w.want(w.post("/meeting/v1/message", "", message("d", "goodbye", "ada")), 429, "rate_limited")
	w.want(w.post("/meeting/v1/message", "", message("e", "goodbye", "bob")), 200, "")
}

func TestAnIntroductionIsReadBothWaysAndItsProofGivesASession(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth), acceptStatic)
		in := w.want(w.get("/meeting/v1/introduce", ""), 200, "")
		if in.str("action") != "introduce" || in.body["payload"] == nil || in.body["identity"] == nil || in.str("public_key") == "" {
			t.Errorf("%s", in.raw)
		}
		key, err := mmp.ParsePublicKey(in.str("public_key"))
		if err != nil {
			t.Fatal(err)
		}
		peer, err := meeting.ReadIntroduction(in.raw)
		if err != nil || mmp.VerifyIdentity(key, peer.Static) != nil {
			t.Errorf("its signature does not verify: %v", err)
		}
		// A bare introduction with a signed identity, as the second generation sends it.
		body := static(t, keyNo(0), "ada", "ada")
		delete(body, "id")
		delete(body, "name")
		r := w.want(w.post("/meeting/v1/introduce", "", body), 200, "")
		if r.body["identity_verified"] != true || len(r.str("session_token")) != 64 || r.str("from") != "ada" || r.str("compatibility") == "" {
			t.Errorf("%s", r.raw)
		}
		w.want(w.post("/meeting/v1/message", r.str("session_token"), m{"id": "1", "action": "goodbye", "timestamp": stamp(0)}), 200, "")
		w.want(w.post("/meeting/v1/message", r.str("session_token"), message("2", "goodbye", "bob")), 403, "not_your_agent")
		// A message that carries one, without a proof.
		r = w.want(w.post("/meeting/v1/introduce", "", m{
			"id": "3", "action": "introduce", "from": "bob", "timestamp": stamp(0),
			"payload": m{"identity": m{"name": "Bob", "instance_id": "bob"}, "capabilities": []string{"introduce", "goodbye"}},
		}), 200, "")
		if r.body["identity_verified"] != false || r.str("session_token") != "" || r.str("compatibility") != "basic" {
			t.Errorf("%s", r.raw)
		}
		w.want(w.post("/meeting/v1/goodbye", "", m{}), 400, "no_token")
	})
}

func TestMessagesThatAreNotOfNowAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/meeting/v1/message", "/meeting/v1/introduce"} {
		for at, code := range map[string]string{
			stamp(-25 * time.Hour): "timestamp_off", stamp(25 * time.Hour): "timestamp_off", "yesterday": "invalid_field", stamp(-23 * time.Hour): "", stamp(23 * time.Hour): "",
		} {
			say := message(mmp.NewMessageID(), "introduce", "bob")
			say["timestamp"] = at
			want := 200
			if code != "" {
				want = 400
			}
			if r := w.post(path, "", say); r.status != want || r.code() != code {
				t.Errorf("a message of %s at %s: got %d %s, want %d %s", at, path, r.status, r.code(), want, code)
			}
		}
	}
}

func TestMakersAreForTheOperator(t *testing.T) {
	for _, path := range []string{"offer_skill", "accept", "decline"} {
		tofu := newWorld(t, policy(place.TOFU))
		tofu.want(tofu.post("/meeting/v1/"+path, "", m{"skill_id": "x", "to": "bob"}), 403, "operator_only")
		open := newWorld(t, policy(place.Open))
		if r := open.post("/meeting/v1/"+path, "", m{"skill_id": "x", "to": "bob", "in_reply_to": "y"}); r.status != 400 {
			t.Errorf("%s: %d %s; want r.status to be 400", path, r.status, r.raw)
		}
		token := open.prove(keyNo(0), "ada")
		open.want(open.post("/meeting/v1/"+path, token, m{"skill_id": "x", "to": "bob"}), 403, "operator_only")
	}
}

func TestASessionHasOneNameFromStartToEndAndIsInTheHistory(t *testing.T) {
	w := newWorld(t, policy(place.TOFU))
	token := w.prove(keyNo(0), "ada")
	start := func(token string, body m) string {
		t.Helper()
		r := w.want(w.post("/meeting/v1/session/start", token, body), 200, "")
		if len(r.body) != 1 || !sessionID.MatchString(r.str("session_id")) {
			t.Errorf("%s; want len(r.body) to be 1, sessionID.MatchString(r.str(\"session_id\"))", r.raw)
		}
		return r.str("session_id")
	}
	w.want(w.post("/meeting/v1/session/end", token, m{"summary": "x"}), 404, "no_session")
	first := start(token, m{"peer_id": "ada"})
	second := start(token, m{}) // a token says who the peer is; the first one ends
	other := start("", m{"peer_id": "eve"})
	if r := w.want(w.post("/meeting/v1/session/end", token, m{"summary": "Exchanged 2 skills"}), 200, ""); r.str("session_id") != second || len(r.body) != 1 {
		t.Errorf("%s, want %s", r.raw, second)
	}
	w.want(w.post("/meeting/v1/session/end", token, m{}), 404, "no_session")
	w.want(w.post("/meeting/v1/session/end", token, m{"session_id": other}), 404, "no_session")
	r := w.want(w.get("/meeting/v1/history", token), 200, "")
	summary, _ := r.body["summary"].(map[string]any)
	sessions, _ := summary["sessions"].([]any)
	if r.list("interactions") == nil || len(sessions) != 2 {
		t.Fatalf("%s; want r.list(\"interactions\") not to be nil, len(sessions) to be 2", r.raw)
	}
	newest, oldest := sessions[0].(map[string]any), sessions[1].(map[string]any)
	if newest["session_id"] != second || newest["summary"] != "Exchanged 2 skills" || newest["ended_at"] == nil || oldest["session_id"] != first || oldest["ended_at"] == nil || oldest["summary"] != nil {
		t.Errorf("%s", r.raw)
	}
	for _, bad := range []struct {
		body   m
		token  string
		status int
		code   string
	}{
		{m{}, "", 400, "missing_field"},
		{m{"peer_id": "not an id"}, "", 400, "invalid_id"},
		{m{"peer_id": "ada"}, "", 401, "authentication_required"}, // proven: not without its token
		{m{"peer_id": "eve"}, token, 403, "not_your_agent"},
	} {
		if r := w.post("/meeting/v1/session/start", bad.token, bad.body); r.status != bad.status || bad.status != 400 && r.code() != bad.code {
			t.Errorf("%v: %d %s", bad.body, r.status, r.raw)
		}
	}
	strict := newWorld(t, policy(place.Strict))
	strict.want(strict.post("/meeting/v1/session/start", "", m{"peer_id": "eve"}), 401, "authentication_required")
}

var sessionID = regexp.MustCompile(`^session_[0-9a-f]{12}$`)
