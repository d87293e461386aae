package place_test

import (
	"strings"
	"testing"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// Somebody sits on an agent's id, with a key of his own and everything a place gives
// to those who prove nothing. The agent comes and proves its key.
func TestWhoeverProvedNothingMakesRoomForTheOwner(t *testing.T) {
	for _, auth := range []place.Auth{place.Open, place.TOFU} {
		for name, squat := range map[string]func(w *world) (token string){
			"without a key": func(w *world) string { w.join("ada"); return "" },
			"with a key": func(w *world) string {
				w.want(w.post("/place/v1/register", "", m{"id": "ada", "public_key": keyNo(1).Public().PEM()}), 200, "")
				return ""
			},
			"with a static signature": func(w *world) string {
				return w.want(w.post("/place/v1/register", "", static(w.t, keyNo(1), "ada", "ada")), 200, "").str("session_token")
			},
		} {
			t.Run(string(auth)+" "+name, func(t *testing.T) {
				w := newWorld(t, policy(auth))
				token := squat(w)
				posted := w.want(w.post("/place/v1/board/post", token, m{"agent_id": "ada", "type": "announcement", "skill_summary": "buy"}), 201, "").str("posting_id")
				w.want(w.post("/place/v1/board/needs", token, m{"agent_id": "ada", "needs": []m{{"name": "gold"}}}), 200, "")
				if token != "" {
					w.want(w.post("/place/v1/deposit", token, m{"skill_id": "trap", "content": "# Trap\n", "format": "markdown"}), 200, "")
				}

				owner := w.prove(keyNo(0), "ada")
				if got := w.want(w.get("/place/v1/keys/ada", ""), 200, ""); got.str("key_id") != keyNo(0).Public().KeyID() || got.body["proven"] != true {
					t.Errorf("the owner proved its key and the place shows %s", got.raw)
				}
				if token != "" {
					w.want(w.get("/place/v1/relay/receive?agent_id=ada", token), 401, "invalid_or_expired_token")
				}
				w.want(w.post("/place/v1/heartbeat", "", m{"agent_id": "ada"}), 401, "authentication_required")
				profile := w.want(w.get("/place/v1/agent_profile/ada", owner), 200, "")
				if len(profile.list("needs")) != 0 || profile.num("deposit_count") != 0 {
					t.Errorf("what the squatter left stands as the owner's: %s", profile.raw)
				}
				if r := w.want(w.get("/place/v1/board/posting/"+posted, owner), 200, ""); r.body["proven"] != false {
					t.Errorf("the squatter's posting is shown as a proven agent's: %s", r.raw)
				}
			})
		}
	}
}

// At tofu the key an id came with first stays, until somebody proves another one.
func TestAStrangerDoesNotReplaceTheFirstKeyOfAnId(t *testing.T) {
	w := newWorld(t, policy(place.TOFU))
	first, other := keyNo(0).Public(), keyNo(1).Public()
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": first.PEM()}), 201, "")
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": other.PEM()}), 409, "key_pinned")
	w.want(w.post("/place/v1/register", "", m{"id": "ada", "public_key": other.PEM()}), 409, "key_pinned")
	w.want(w.post("/place/v1/register", "", static(t, keyNo(1), "ada", "ada")), 409, "key_pinned")
	if got := w.want(w.get("/place/v1/keys/ada", ""), 200, ""); got.str("key_id") != first.KeyID() {
		t.Errorf("the first key was replaced: %s", got.raw)
	}
	// The same key, or none, is no change; and a proof is more than a first key.
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": first.PEM()}), 201, "")
	w.join("ada")
	proof := w.challenge(keyNo(1), "ada")
	w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": other.PEM(), "proof": proof}), 201, "")
	if got := w.want(w.get("/place/v1/keys/ada", ""), 200, ""); got.str("key_id") != other.KeyID() || got.body["proven"] != true {
		t.Errorf("the proven key is not shown: %s", got.raw)
	}
}

// An id that is a key's hash is that key's, whoever comes first.
func TestAnIdThatIsAKeysHashIsThatKeysAlone(t *testing.T) {
	policies(t, func(t *testing.T, auth place.Auth) {
		w := newWorld(t, policy(auth))
		victim := keyNo(0).Public()
		for _, id := range []string{victim.InstanceID(), victim.KeyID(), strings.TrimPrefix(victim.KeyID(), "sha256:"), strings.ToUpper(victim.KeyID()[7:])} {
			if r := w.post("/place/v1/register", "", m{"id": id, "public_key": keyNo(1).Public().PEM(), "proof": w.challenge(keyNo(1), id)}); r.status != 409 || r.code() != "key_pinned" {
				t.Errorf("another key was proven for %s: %d %s", id, r.status, r.raw)
			}
			if r := w.post("/place/v1/register", "", static(t, keyNo(1), id, id)); r.status != 409 || r.code() != "key_pinned" {
				t.Errorf("another key's signature was taken for %s: %d %s", id, r.status, r.raw)
			}
			if r := w.post("/place/v1/keys/register", "", m{"agent_id": id, "public_key": keyNo(1).Public().PEM()}); r.status != 409 || r.code() != "key_pinned" {
				t.Errorf("another key was registered for %s: %d %s", id, r.status, r.raw)
			}
		}
		token := w.prove(keyNo(0), victim.InstanceID())
		// The key itself may name a successor.
		rotation, err := mmp.SignRotation(keyNo(0), victim.InstanceID(), keyNo(1).Public())
		if err != nil {
			t.Fatal(err)
		}
		w.want(w.post("/place/v1/keys/register", token, m{"agent_id": victim.InstanceID(), "public_key": keyNo(1).Public().PEM(), "rotation_signature": rotation}), 201, "")
		w.prove(keyNo(1), victim.InstanceID())
	})
}
