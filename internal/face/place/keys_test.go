package place_test

import (
	"encoding/base64"
	"testing"

	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

func TestKeysComeBackByteForByteFromBothRoutes(t *testing.T) {
	w := newWorld(t)
	pem := keyNo(0).Public().PEM() + "\n\n" // another dress of the same key
	r := w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": pem}), 201, "")
	key, err := mmp.ParsePublicKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	if r.str("fingerprint") != key.Fingerprint() || r.str("key_id") != keyNo(0).Public().KeyID() {
		t.Errorf("%s", r.raw)
	}
	got := w.want(w.get("/place/v1/keys/ada", ""), 200, "")
	if got.str("public_key") != pem || got.str("fingerprint") != key.Fingerprint() || got.body["proven"] != false {
		t.Errorf("%s", got.raw)
	}
	w.want(w.post("/place/v1/register", "", m{"id": "bob", "public_key": pem}), 200, "")
	if got := w.want(w.get("/place/v1/keys/bob", ""), 200, ""); got.str("public_key") != pem {
		t.Errorf("%s; want got.str(\"public_key\") to be %v", got.raw, pem)
	}
	if r := w.want(w.get("/place/v1/keys/nobody", ""), 404, ""); r.str("error") != "Public key not found for agent" {
		t.Errorf("%s; want r.str(\"error\") to be \"Public key not found for agent\"", r.raw)
	}
	for body, want := range map[string]string{
		`{"public_key":"x"}`:                  "agent_id is required",
		`{"agent_id":"ada"}`:                  "public_key is required",
		`{"agent_id":"ada","public_key":"x"}`: "public_key must be a PEM RSA public key of 2048 to 8192 bits",
		`{"agent_id":"ada","public_key":"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"}`: "public_key must be a PEM RSA public key of 2048 to 8192 bits",
	} {
		if r := w.want(w.post("/place/v1/keys/register", "", body), 400, ""); r.str("error") != want {
			t.Errorf("%s: %s; want r.str(\"error\") to be %v", body, r.raw, want)
		}
	}
}

func TestAnUnprovenKeyChangeIsAllowedVisibleAndAudited(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	for i := range 2 {
		w.want(w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": keyNo(i).Public().PEM()}), 201, "")
	}
	got := w.want(w.get("/place/v1/keys/ada", ""), 200, "")
	if got.str("previous_fingerprint") != keyNo(0).Public().Fingerprint() || got.str("changed_at") == "" {
		t.Errorf("%s", got.raw)
	}
	if !w.trail.has("place.key_changed") {
		t.Error("not in the hub's trail")
	}
}

func TestAProvenKeyChangesOnlyByTheOldKeysWord(t *testing.T) {
	w := newWorld(t)
	token := w.prove(keyNo(0), "ada")
	next := keyNo(1).Public()
	register := func(token, rotation string) reply {
		return w.post("/place/v1/keys/register", token, m{"agent_id": "ada", "public_key": next.PEM(), "rotation_signature": rotation})
	}
	rotation, err := mmp.SignRotation(keyNo(0), "ada", next)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := mmp.SignRotation(keyNo(1), "ada", next)
	if err != nil {
		t.Fatal(err)
	}
	w.want(register("", ""), 401, "authentication_required")
	w.want(register("", rotation), 409, "key_pinned") // whoever saw it once
	w.want(register(token, ""), 409, "key_pinned")
	w.want(register(token, forged), 409, "key_pinned")
	w.want(register(token, rotation), 201, "")
	w.want(w.get("/place/v1/info", token), 401, "invalid_or_expired_token")
	if got := w.want(w.get("/place/v1/keys/ada", ""), 200, ""); got.str("key_id") != next.KeyID() || got.body["proven"] != true {
		t.Errorf("%s", got.raw)
	}
	w.want(w.post("/place/v1/register", "", static(t, keyNo(0), "ada", "ada")), 409, "key_pinned")
	w.prove(keyNo(1), "ada")
}

func TestAKeyEntryIsStoredOnlyWithTheRightSignatureAndServedVerbatim(t *testing.T) {
	w := newWorld(t)
	hpke, err := mmp.GenerateHPKE()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := mmp.SignEntry(keyNo(0), "ada", hpke, w.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	register := func(entry mmp.SignedEntry) reply {
		return w.post("/place/v1/keys/register", "", m{"agent_id": "ada", "public_key": keyNo(0).Public().PEM(), "entry": entry.Entry, "entry_signature": entry.Signature})
	}
	forged, err := mmp.SignEntry(keyNo(1), "ada", hpke, w.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := mmp.SignEntry(keyNo(0), "bob", hpke, w.clock.now())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]mmp.SignedEntry{
		"another's signature": forged, "another agent": foreign, "no signature": {Entry: entry.Entry},
		"changed": {Entry: base64.StdEncoding.EncodeToString([]byte(`{"agent_id":"ada"}`)), Signature: entry.Signature},
	} {
		t.Run(name, func(*testing.T) { w.want(register(bad), 400, "invalid_entry") })
	}
	w.want(w.get("/place/v1/keys/ada", ""), 404, "")
	w.want(register(entry), 201, "")
	got := w.want(w.get("/place/v1/keys/ada", ""), 200, "")
	if got.str("entry") != entry.Entry || got.str("entry_signature") != entry.Signature || len(got.list("envelopes")) != 2 {
		t.Errorf("%s; want got.str(\"entry\") to be %v, got.str(\"entry_signature\") to be %v, len(got.list(\"envelopes\")) to be 2", got.raw, entry.Entry, entry.Signature)
	}
}
