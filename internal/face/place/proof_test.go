package place_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
)

func TestAChallengeGivesATokenOnceForOneIdPlaceAndKey(t *testing.T) {
	w := newWorld(t)
	token := w.prove(keyNo(0), "ada")
	if len(token) != 64 {
		t.Errorf("token %q", token)
	}
	if r := w.want(w.get("/place/v1/agents/ada", token), 200, ""); r.body["proven"] != true || r.body["is_self"] != true || r.str("trust") != "L1" || r.str("key_id") != keyNo(0).Public().KeyID() {
		t.Errorf("%s", r.raw)
	}
	register := func(id string, key *mmp.PrivateKey, proof m) reply {
		return w.post("/place/v1/register", "", m{"id": id, "public_key": key.Public().PEM(), "proof": proof})
	}
	used := w.challenge(keyNo(0), "ada")
	w.want(register("ada", keyNo(0), used), 200, "")
	w.want(register("ada", keyNo(0), used), 401, "invalid_nonce")

	late := w.challenge(keyNo(0), "ada")
	w.clock.pass(61 * time.Second)
	w.want(register("ada", keyNo(0), late), 401, "invalid_nonce")

	w.want(register("bob", keyNo(0), w.challenge(keyNo(0), "ada")), 401, "invalid_nonce")
	w.want(register("bob", keyNo(1), w.challenge(keyNo(0), "bob")), 401, "invalid_signature")

	c := w.want(w.post("/place/v1/challenge", "", m{"agent_id": "bob"}), 200, "")
	other := mmp.FormatPeerKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey))
	elsewhere, err := (mmp.Challenge{PlaceKey: other, Address: c.str("address"), AgentID: "bob", Nonce: c.str("nonce")}).Sign(keyNo(1))
	if err != nil {
		t.Fatal(err)
	}
	w.want(register("bob", keyNo(1), m{"nonce": elsewhere.Nonce, "signature": elsewhere.Signature}), 401, "invalid_signature")
	w.want(register("bob", keyNo(1), m{"nonce": "made-up", "signature": elsewhere.Signature}), 401, "invalid_nonce")
	w.want(w.get("/place/v1/keys/bob", ""), 404, "")
}

func TestAStaticProofIsRefusedAfterAChallenge(t *testing.T) {
	w := newWorld(t)
	body := static(t, keyNo(0), "ada", "ada")
	first := w.want(w.post("/place/v1/register", "", body), 200, "")
	if first.str("session_token") == "" || first.str("fingerprint") != keyNo(0).Public().Fingerprint() || first.str("key_id") != keyNo(0).Public().KeyID() {
		t.Fatalf("%s", first.raw)
	}
	w.want(w.post("/place/v1/register", "", body), 200, "")
	w.prove(keyNo(0), "ada")
	w.want(w.post("/place/v1/register", "", body), 401, "challenge_required")

	refusing := newWorld(t, func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.Static = place.RefuseStatic })
	refusing.want(refusing.post("/place/v1/register", "", body), 401, "challenge_required")
	refusing.prove(keyNo(0), "ada")
}

func TestAProvenIdIsNeverServedWithoutProofInAnyPolicy(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		token := w.prove(keyNo(0), "ada")
		other := w.prove(keyNo(1), "bob")
		w.send("bob", "ada", "secret", other)
		posted := w.want(w.post("/place/v1/board/post", token, m{"type": "announcement"}), 201, "").str("posting_id")

		calls := map[string]func(token string) reply{
			"receive": func(tk string) reply { return w.get("/place/v1/relay/receive?agent_id=ada", tk) },
			"poll":    func(tk string) reply { return w.get("/place/v1/relay/receive?agent_id=ada&wait=1", tk) },
			"lease":   func(tk string) reply { return w.get("/place/v1/relay/receive?agent_id=ada&ack=manual", tk) },
			"peek":    func(tk string) reply { return w.get("/place/v1/relay/peek?agent_id=ada", tk) },
			"status":  func(tk string) reply { return w.get("/place/v1/relay/status?agent_id=ada", tk) },
			"ack": func(tk string) reply {
				return w.post("/place/v1/relay/ack", tk, m{"agent_id": "ada", "ids": []string{"x"}})
			},
			"sent": func(tk string) reply { return w.get("/place/v1/relay/sent?agent_id=ada", tk) },
			"send": func(tk string) reply { return w.post("/place/v1/relay/send", tk, envelope("ada", "bob", "forged")) },
			"idempotent": func(tk string) reply {
				e := envelope("ada", "bob", "forged")
				e["idempotency_key"] = "k"
				return w.post("/place/v1/relay/send", tk, e)
			},
			"post": func(tk string) reply {
				return w.post("/place/v1/board/post", tk, m{"agent_id": "ada", "type": "announcement"})
			},
			"remove": func(tk string) reply {
				return w.post("/place/v1/board/remove", tk, m{"agent_id": "ada", "posting_id": posted})
			},
			"needs": func(tk string) reply {
				return w.post("/place/v1/board/needs", tk, m{"agent_id": "ada", "needs": []m{}})
			},
			"no needs":   func(tk string) reply { return w.do("DELETE", "/place/v1/board/needs", tk, m{"agent_id": "ada"}) },
			"heartbeat":  func(tk string) reply { return w.post("/place/v1/heartbeat", tk, m{"agent_id": "ada"}) },
			"unregister": func(tk string) reply { return w.post("/place/v1/unregister", tk, m{"agent_id": "ada"}) },
			"key": func(tk string) reply {
				return w.post("/place/v1/keys/register", tk, m{"agent_id": "ada", "public_key": keyNo(2).Public().PEM()})
			},
			"same key": func(tk string) reply {
				return w.post("/place/v1/keys/register", tk, m{"agent_id": "ada", "public_key": keyNo(0).Public().PEM()})
			},
			"register": func(tk string) reply { return w.post("/place/v1/register", tk, m{"id": "ada", "name": "Mallory"}) },
			"speak": func(tk string) reply {
				return w.post("/meeting/v1/message", tk, m{"id": "1", "action": "goodbye", "from": "ada", "timestamp": stamp(0)})
			},
		}
		for name, call := range calls {
			t.Run(name, func(t *testing.T) {
				w := *w
				w.t = t
				w.want(call(""), 401, "authentication_required")
				w.want(call("deadbeef"), 401, "invalid_or_expired_token")
				w.want(call(other), 403, "not_your_agent")
			})
		}
		// Nothing of it had an effect.
		if got := blobs(w.receive("ada", token, "")); len(got) != 1 || got[0] != "secret" {
			t.Errorf("queue %v", got)
		}
		if got := blobs(w.receive("bob", other, "")); len(got) != 0 {
			t.Errorf("forged %v", got)
		}
		if r := w.want(w.get("/place/v1/agents/ada", token), 200, ""); r.str("name") != "ada" {
			t.Errorf("%s; want r.str(\"name\") to be \"ada\"", r.raw)
		}
		w.want(w.get("/place/v1/board/posting/"+posted, token), 200, "")
	})
}

func TestABadOrMissingSignatureForAProvenIdIs401InEveryPolicy(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth), acceptStatic)
		w.want(w.post("/place/v1/register", "", static(t, keyNo(0), "ada", "ada")), 200, "")
		w.want(w.post("/place/v1/register", "", m{"id": "ada"}), 401, "authentication_required")
		bad := static(t, keyNo(0), "ada", "ada")
		bad["identity"] = json.RawMessage(`{"instance_id":"ada","name":"changed"}`)
		w.want(w.post("/place/v1/register", "", bad), 401, "invalid_signature")
		w.want(w.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")
		if !w.trail.has("place.refused") {
			t.Error("the refusal is not in the hub's trail")
		}
	})
}

func TestStrictWantsAProofAndSaysWhich(t *testing.T) {
	w := newWorld(t, policy(place.Strict))
	w.want(w.post("/place/v1/register", "", m{"id": "ada"}), 401, "authentication_required")
	bad := static(t, keyNo(0), "ada", "ada")
	bad["identity_signature"] = "AAAA"
	w.want(w.post("/place/v1/register", "", bad), 401, "invalid_signature")
	for _, path := range []string{"/place/v1/agents", "/place/v1/agents/x", "/place/v1/board/browse", "/place/v1/keys/x", "/place/v1/relay/stats", "/place/v1/stats", "/place/v1/audit", "/place/v1/audit/stats", "/place/v1/relay/receive?agent_id=x"} {
		w.want(w.get(path, ""), 401, "authentication_required")
		w.want(w.get(path, "prl_nobody"), 401, "invalid_or_expired_token")
	}
	token := w.prove(keyNo(0), "ada")
	w.want(w.get("/place/v1/agents", token), 200, "")
	w.want(w.post("/place/v1/relay/send", token, envelope("ada", "nobody", "x")), 404, "unknown_recipient")
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "eve", "public_key": keyNo(1).Public().PEM()}), 401, "authentication_required")
}

func TestAnUnfittingSignatureIsNoProofWhereStrangersAreLetIn(t *testing.T) {
	w := newWorld(t, policy(place.TOFU))
	bad := static(t, keyNo(0), "ada", "ada")
	bad["identity"] = json.RawMessage(`{"instance_id":"ada","name":"changed"}`)
	r := w.want(w.post("/place/v1/register", "", bad), 200, "")
	if r.body["identity_verified"] != false || r.str("session_token") != "" {
		t.Errorf("%s; want r.body[\"identity_verified\"] to be false, r.str(\"session_token\") to be \"\"", r.raw)
	}
	// Another's static signature does not replace the first key, also when nobody is
	// there any more. A proof does.
	w.want(w.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")
	w.clock.pass(10 * time.Minute)
	w.want(w.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")
	w.prove(keyNo(1), "ada")
	if !w.trail.has("place.key_changed") {
		t.Error("the change is not in the hub's trail")
	}
}

func TestASignedIdentityThatNamesAnotherIdGivesNoToken(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		r := w.want(w.post("/place/v1/register", "", static(t, keyNo(0), "ada", "somebody-else")), 200, "")
		if r.body["identity_verified"] != true || r.str("session_token") != "" {
			t.Errorf("%s; want r.body[\"identity_verified\"] to be true, r.str(\"session_token\") to be \"\"", r.raw)
		}
		// The id is still free for its owner.
		w.clock.pass(11 * time.Minute)
		w.prove(keyNo(1), "ada")
	})
}

func TestAnIdentityVerifiesAsSentAndSorted(t *testing.T) {
	w := newWorld(t)
	for id, c := range map[string]struct{ sent, signed string }{
		"as-sent": {`{ "version":"1", "instance_id" : "as-sent", "name":"\u00e9\/x" }`, `{"version":"1","instance_id":"as-sent","name":"\u00e9\/x"}`},
		"sorted":  {`{"version":"1","instance_id":"sorted","a":{"z":1,"b":2}}`, `{"a":{"b":2,"z":1},"instance_id":"sorted","version":"1"}`},
	} {
		sig, err := keyNo(0).Sign([]byte(c.signed))
		if err != nil {
			t.Fatal(err)
		}
		r := w.want(w.post("/place/v1/register", "", m{"id": id, "public_key": keyNo(0).Public().PEM(), "identity": json.RawMessage(c.sent), "identity_signature": sig}), 200, "")
		if r.body["identity_verified"] != true || r.str("session_token") == "" {
			t.Errorf("%s: %s; want r.body[\"identity_verified\"] to be true, r.str(\"session_token\") not to be \"\"", id, r.raw)
		}
	}
}

func TestPinsSurviveUnregisteringAndRestartAndForgetIsAudited(t *testing.T) {
	path := storetest.File(t)
	db := storetest.Open(t, path)
	w := openWorld(t, db)
	token := w.prove(keyNo(0), "ada")
	w.want(w.post("/place/v1/unregister", token, m{}), 200, "")
	w.want(w.get("/place/v1/agents", token), 401, "invalid_or_expired_token")
	w.want(w.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")

	again := openWorld(t, db)
	again.want(again.post("/place/v1/register", "", m{"id": "ada"}), 401, "authentication_required")
	again.want(again.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")
	fresh := again.prove(keyNo(0), "ada")

	third := openWorld(t, db)
	third.want(third.get("/place/v1/agents/ada", fresh), 200, "")
	if err := third.place.Forget(t.Context(), operator, "ada"); err != nil {
		t.Fatal(err)
	}
	third.want(third.get("/place/v1/agents", fresh), 401, "invalid_or_expired_token")
	third.prove(keyNo(1), "ada")
	if !third.trail.has("place.pin_released") || third.actions()["key_registration forget"] != 1 {
		t.Errorf("forget is not audited: %v", third.actions())
	}
}

func TestRevocationEndsAnOpenPollWithinASecond(t *testing.T) {
	w := newWorld(t)
	for name, revoke := range map[string]func(token string){
		"by the operator": func(string) {
			if _, err := w.place.RevokeTokens(t.Context(), operator, "ada"); err != nil {
				t.Error(err)
			}
		},
		"by unregistering": func(token string) { w.want(w.post("/place/v1/unregister", token, m{}), 200, "") },
		"by goodbye":       func(token string) { w.want(w.post("/meeting/v1/goodbye", token, m{}), 200, "") },
	} {
		t.Run(name, func(t *testing.T) {
			token := w.prove(keyNo(0), "ada")
			polls := make(chan reply, 1)
			go func() {
				r, err := w.try(context.WithoutCancel(t.Context()), "GET", "/place/v1/relay/receive?wait=60", token, nil)
				if err != nil {
					t.Error(err)
				}
				polls <- r
			}()
			for w.place.Polls() == 0 {
				<-time.After(time.Millisecond)
			}
			began := time.Now()
			revoke(token)
			if r := <-polls; r.status != http.StatusUnauthorized || r.code() != "invalid_or_expired_token" || time.Since(began) > 10*time.Second {
				t.Errorf("%d %s after %s", r.status, r.raw, time.Since(began))
			}
		})
	}
}

func TestTokensSlideEndAndAreEightAtMost(t *testing.T) {
	w := newWorld(t)
	first := w.prove(keyNo(0), "ada")
	for range 23 {
		w.clock.pass(59 * time.Minute)
		w.want(w.get("/place/v1/info", first), 200, "")
	}
	w.clock.pass(55 * time.Minute) // 24 hours are over
	w.want(w.get("/place/v1/info", first), 200, "")
	w.clock.pass(30 * time.Minute)
	w.want(w.get("/place/v1/info", first), 401, "invalid_or_expired_token")
	idle := w.prove(keyNo(0), "ada")
	w.clock.pass(61 * time.Minute)
	w.want(w.get("/place/v1/info", idle), 401, "invalid_or_expired_token")
	var tokens []string
	for range 9 {
		tokens = append(tokens, w.prove(keyNo(0), "ada"))
		w.clock.pass(2 * time.Second)
	}
	w.want(w.get("/place/v1/info", tokens[0]), 401, "invalid_or_expired_token")
	for _, token := range tokens[1:] {
		w.want(w.get("/place/v1/info", token), 200, "")
	}
}

func TestATokenIsHeldToItsRate(t *testing.T) {
	w := newWorld(t, func(_ *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Limits.Token = 5 })
	token := w.prove(keyNo(0), "ada")
	for range 5 {
		w.want(w.get("/place/v1/info", token), 200, "")
	}
	r := w.want(w.get("/place/v1/info", token), 429, "rate_limited")
	if r.header.Get("Retry-After") == "" || r.str("error") != "rate_limited" {
		t.Errorf("%v %s; want r.header.Get(\"Retry-After\") not to be \"\", r.str(\"error\") to be \"rate_limited\"", r.header, r.raw)
	}
	w.want(w.get("/place/v1/info", ""), 200, "")
}

func TestAnAddressIsHeldToItsRateUnlessItIsThisMachine(t *testing.T) {
	w := newWorld(t, func(_ *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Limits.Address, fd.Proxied = 3, true })
	for range 3 {
		w.want(w.get("/place/v1/info", ""), 200, "")
	}
	w.want(w.get("/place/v1/info", ""), 429, "rate_limited")
	near := newWorld(t, func(_ *place.Config, _ *place.Deps, fd *faceplace.Deps) { fd.Limits.Address = 3 })
	for range 5 {
		near.want(near.get("/place/v1/info", ""), 200, "")
	}
}
