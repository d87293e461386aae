package place_test

import (
	"encoding/json"
	"maps"
	"testing"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// public is everything that anybody can read about the agent of keyNo(2), which
// introduces itself at its home: the introduction, and its line in the directory.
func public(t *testing.T) (id string, in reply, entry mmp.SignedEntry) {
	t.Helper()
	home := newWorld(t)
	in = home.want(home.get("/meeting/v1/introduce", ""), 200, "")
	id = in.str("from")
	if id != keyNo(2).Public().InstanceID() {
		t.Fatalf("the agent introduces itself as %q, want the id its key gives", id)
	}
	return id, in, mmp.SignedEntry{Entry: in.str("entry"), Signature: in.str("entry_signature")}
}

// copied is the registration that a stranger makes of it.
func copied(id string, in reply) m {
	return m{"id": id, "name": "Mallory", "public_key": in.str("public_key"), "identity": in.body["identity"], "identity_signature": in.str("identity_signature")}
}

// signatures are all that the introduction holds, in whatever member.
func signatures(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if s, ok := value.(string); ok && (name == "identity_signature" || name == "entry_signature") {
				out = append(out, s)
			}
			out = append(out, signatures(value)...)
		}
	case []any:
		for _, one := range v {
			out = append(out, signatures(one)...)
		}
	}
	return out
}

// An agent introduces itself in public. A stranger copies all of it and goes to a
// place as that agent.
func TestAPublishedSignatureProvesNothingAtAnyPlace(t *testing.T) {
	id, in, _ := public(t)
	policies(t, func(t *testing.T, auth place.Auth) {
		for _, accept := range []bool{false, true} {
			opts := []option{policy(auth)}
			if accept {
				opts = append(opts, acceptStatic)
			}
			w := newWorld(t, opts...)
			r := w.post("/place/v1/register", "", copied(id, in))
			if auth == place.Strict && r.status != 401 {
				t.Errorf("registering with a copied introduction: got %d, want 401: %s", r.status, r.raw)
			}
			if r.str("session_token") != "" || r.body["identity_verified"] == true {
				t.Errorf("a stranger with a copied introduction was taken for its agent: %s", r.raw)
			}
			body := copied(id, in)
			delete(body, "id")
			if r := w.post("/meeting/v1/introduce", "", body); r.str("session_token") != "" || r.body["identity_verified"] == true {
				t.Errorf("a stranger that introduces itself with a copied introduction was taken for its agent: %s", r.raw)
			}
			if r := w.get("/place/v1/agents/"+id, ""); r.status == 200 && (r.body["proven"] != false || r.str("trust") != "L2") {
				t.Errorf("what a stranger registered is shown as proven: %s", r.raw)
			}
			// The owner of the key is not kept out by any of it.
			w.prove(keyNo(2), id)
		}
	})
}

// The same stranger, where the agent is known: nothing of what is public opens its
// queue, takes its messages, or changes its key.
func TestNothingPublicOpensAKnownAgentsQueueOrChangesItsKey(t *testing.T) {
	id, in, entry := public(t)
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		owner, sender := w.prove(keyNo(2), id), w.prove(keyNo(1), "bob")
		w.send("bob", id, "for the owner", sender)

		w.want(w.post("/place/v1/register", "", copied(id, in)), 401, "")
		for _, sig := range signatures(in.body) {
			static := copied(id, in)
			static["identity_signature"] = sig
			w.want(w.post("/place/v1/register", "", static), 401, "")

			nonce := w.want(w.post("/place/v1/challenge", "", m{"agent_id": id}), 200, "").str("nonce")
			answered := m{"id": id, "public_key": in.str("public_key"), "proof": m{"nonce": nonce, "signature": sig}}
			w.want(w.post("/place/v1/register", "", answered), 401, "invalid_signature")

			key := m{"agent_id": id, "public_key": keyNo(0).Public().PEM(), "rotation_signature": sig}
			w.want(w.post("/place/v1/keys/register", "", key), 409, "key_pinned")
		}
		same := m{"agent_id": id, "public_key": in.str("public_key"), "entry": entry.Entry, "entry_signature": entry.Signature}
		w.want(w.post("/place/v1/keys/register", "", same), 401, "authentication_required")
		w.want(w.get("/place/v1/relay/receive?agent_id="+id, ""), 401, "authentication_required")
		w.want(w.get("/place/v1/relay/peek?agent_id="+id, ""), 401, "authentication_required")
		w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": id, "ids": []string{"x"}}), 401, "authentication_required")

		if got := blobs(w.receive(id, owner, "")); len(got) != 1 || got[0] != "for the owner" {
			t.Errorf("the owner received %v, want the one message that was sent to it", got)
		}
	})
}

// A signature that only its place has seen lets old clients in, and nothing more:
// whoever sees it can use it, so it is nobody's proof.
func TestAStaticSignatureIsLetInUnproven(t *testing.T) {
	for _, auth := range []place.Auth{place.Open, place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) {
			w := newWorld(t, policy(auth), acceptStatic)
			body := static(t, keyNo(0), "ada", "ada")
			token := w.want(w.post("/place/v1/register", "", body), 200, "").str("session_token")
			if token == "" {
				t.Fatal("an old client got no session for its signature")
			}
			bob := w.prove(keyNo(1), "bob")
			if r := w.want(w.get("/place/v1/agents/ada", token), 200, ""); r.body["proven"] != false || r.str("trust") != "L2" {
				t.Errorf("an agent that only showed a static signature is shown as proven: %s", r.raw)
			}
			if r := w.want(w.get("/place/v1/keys/ada", token), 200, ""); r.body["proven"] != false {
				t.Errorf("the key of a static signature is shown as proven: %s", r.raw)
			}
			posted := w.want(w.post("/place/v1/board/post", token, m{"type": "announcement"}), 201, "").str("posting_id")
			w.send("ada", "bob", "hello", token)
			r := w.receive("bob", bob, "")
			if msg, _ := r.list("messages")[0].(map[string]any); msg["sender_proven"] != false {
				t.Errorf("a message sent in a static session says sender_proven: %s", r.raw)
			}
			// The owner comes with a challenge: what copies of its signature had opened
			// ends, and no such signature counts again.
			owner := w.prove(keyNo(0), "ada")
			w.want(w.get("/place/v1/relay/receive?agent_id=ada", token), 401, "invalid_or_expired_token")
			w.want(w.post("/place/v1/register", "", body), 401, "challenge_required")
			if r := w.want(w.get("/place/v1/agents/ada", owner), 200, ""); r.body["proven"] != true || r.str("trust") != "L1" {
				t.Errorf("the owner is not shown as proven after its challenge: %s", r.raw)
			}
			if r := w.want(w.get("/place/v1/board/posting/"+posted, owner), 200, ""); r.body["proven"] != false {
				t.Errorf("what was posted before anybody proved the key is shown as the owner's: %s", r.raw)
			}
		})
	}
}

func TestStrictRefusesStaticSignaturesUnlessItIsTold(t *testing.T) {
	body := static(t, keyNo(0), "ada", "ada")
	bare := maps.Clone(body)
	delete(bare, "id")
	usual := newWorld(t, policy(place.Strict))
	usual.want(usual.post("/place/v1/register", "", body), 401, "challenge_required")
	usual.want(usual.post("/meeting/v1/introduce", "", bare), 401, "challenge_required")
	trusting := newWorld(t, policy(place.TOFU), func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.Static = place.RefuseStatic })
	trusting.want(trusting.post("/place/v1/register", "", body), 401, "challenge_required")
}

// Old clients that verify an introduction still can: the purpose is a part of what
// is signed.
func TestAnIntroductionSaysWhatItIsSignedFor(t *testing.T) {
	_, in, _ := public(t)
	identity, _ := in.body["identity"].(map[string]any)
	if identity["signed_for"] != "introduction" {
		t.Errorf("the published identity does not say what it is signed for: %v", identity)
	}
	delete(identity, "signed_for") // a stranger makes a proof of it
	stripped, err := json.Marshal(identity)
	if err != nil {
		t.Fatal(err)
	}
	if mmp.VerifyIdentity(keyNo(2).Public(), mmp.Static{Identity: stripped, Signature: in.str("identity_signature")}) == nil {
		t.Error("the signature still fits when the purpose is taken out")
	}
}
