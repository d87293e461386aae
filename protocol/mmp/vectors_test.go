package mmp

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
)

// testdata/vectors.json was made once by testdata/vectors.py, an implementation on
// another language's libraries: PyPI's cryptography for RSA, AES-GCM, X25519 and
// ML-KEM, with HPKE and the hybrid combiner written out from their papers. The
// other direction: run this with -mmp.vectors FILE and give FILE to
// `vectors.py check`.
var writeVectors = flag.String("mmp.vectors", "", "write what this implementation makes to a file")

type vectorFile struct {
	Ada               string       `json:"ada"`
	Bob               string       `json:"bob"`
	BobPKCS8          string       `json:"bob_pkcs8"`
	BobEncrypted      string       `json:"bob_encrypted"`
	Passphrase        string       `json:"passphrase"`
	BobSPKI           string       `json:"bob_spki"`
	BobPKCS1          string       `json:"bob_pkcs1_public"`
	BobFingerprint    string       `json:"bob_fingerprint"`
	BobPKCS1Print     string       `json:"bob_pkcs1_fingerprint"`
	BobKeyFingerprint string       `json:"bob_key_fingerprint"`
	BobKeyID          string       `json:"bob_key_id"`
	X25519            []byte       `json:"x25519"`
	HybridSeed        []byte       `json:"hybrid_seed"`
	Entry             string       `json:"entry"`
	EntrySignature    string       `json:"entry_signature"`
	IdentityPretty    string       `json:"identity_pretty"`
	IdentityAsSent    string       `json:"identity_as_sent"`
	IdentitySorted    string       `json:"identity_sorted"`
	Challenge         string       `json:"challenge"`
	PlaceKey          string       `json:"place_key"`
	PlaceSignature    string       `json:"place_signature"`
	Rotation          string       `json:"rotation"`
	Envelope1         []vectorBlob `json:"envelope1"`
	Envelope2         []vectorBlob `json:"envelope2"`
	Identity          string       `json:"identity,omitempty"`
	IdentitySignature string       `json:"identity_signature,omitempty"`
}

type vectorBlob struct {
	Suite string `json:"suite,omitempty"`
	Plain string `json:"plain"`
	Blob  string `json:"blob"`
}

// world is two agents with keys that never change, so that no test waits for one
// to be made.
type world struct {
	vectorFile
	ada, bob *PrivateKey
	ring     Keyring // bob's
	entry    *KeyEntry
}

var vectorTime = time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	if err := json.Unmarshal(data, &w.vectorFile); err != nil {
		t.Fatal(err)
	}
	w.ada, w.bob = mustKey(t, w.Ada), mustKey(t, w.Bob)
	hybrid, err := newHPKEKey(KEMHybrid, w.HybridSeed)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := newHPKEKey(KEMX25519, w.X25519)
	if err != nil {
		t.Fatal(err)
	}
	w.ring = Keyring{RSA: w.bob, HPKE: []HPKEKey{hybrid, plain}}
	w.entry, err = VerifyEntry(w.bob.Public(), "bob", SignedEntry{w.vectorFile.Entry, w.EntrySignature})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustKey(t testing.TB, text string) *PrivateKey {
	t.Helper()
	k, err := ParsePrivateKey([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) incoming() Incoming {
	return Incoming{Me: "bob", From: "ada", Type: "note", SenderKey: w.ada.Public(), Now: vectorTime}
}

// only is bob's entry cut down to one kind of key; none for RSA alone.
func (w *world) only(kem KEM) *KeyEntry {
	e := *w.entry
	e.HPKE = nil
	for _, p := range w.entry.HPKE {
		if p.KEM == kem {
			e.HPKE = []HPKEPublic{p}
		}
	}
	return &e
}

func TestVectorsEnvelope1Opens(t *testing.T) {
	w := newWorld(t)
	for _, v := range w.Envelope1 {
		env, err := ParseEnvelope(v.Blob)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := env.Open1(w.bob)
		if err != nil || string(plain) != v.Plain {
			t.Errorf("got %.40q, %v; want %.40q", plain, err, v.Plain)
		}
	}
}

func TestVectorsEnvelope2OpensInEverySuite(t *testing.T) {
	w := newWorld(t)
	suites := map[string]bool{}
	for _, v := range w.Envelope2 {
		env, err := ParseEnvelope(v.Blob)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := env.Open2(w.ring, w.incoming())
		if err != nil || string(opened.Plain) != v.Plain {
			t.Fatalf("%s: %v; want no error, string(opened.Plain) to be %v", v.Suite, err, v.Plain)
		}
		suites[env.Algorithm] = true
	}
	if len(suites) != 3 {
		t.Errorf("suites: %v", suites)
	}
}

func TestVectorsKeysAndFingerprints(t *testing.T) {
	w := newWorld(t)
	spki, err := ParsePublicKey(w.BobSPKI)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1, err := ParsePublicKey(w.BobPKCS1)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{
		"SPKI text":      {spki.Fingerprint(), w.BobFingerprint},
		"PKCS#1 text":    {pkcs1.Fingerprint(), w.BobPKCS1Print},
		"DER":            {spki.KeyFingerprint(), w.BobKeyFingerprint},
		"DER of PKCS#1":  {pkcs1.KeyFingerprint(), w.BobKeyFingerprint},
		"key id":         {spki.KeyID(), w.BobKeyID},
		"id of PKCS#1":   {pkcs1.KeyID(), w.BobKeyID},
		"id of private":  {w.bob.Public().KeyID(), w.BobKeyID},
		"our PEM":        {w.bob.Public().PEM(), w.BobSPKI},
		"our key file":   {string(EncodePrivateKey(w.bob)), w.Bob},
		"kept text":      {pkcs1.PEM(), w.BobPKCS1},
		"instance id":    {spki.InstanceID(), w.BobKeyID[7:23]},
		"PKCS#8 reads":   {mustKey(t, w.BobPKCS8).Public().KeyID(), w.BobKeyID},
		"id round trips": {mustHash(t, w.BobKeyID).Prefixed(), w.BobKeyID},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
	if !spki.Same(pkcs1) || spki.Same(w.ada.Public()) || spki.Same(nil) {
		t.Error("Same confuses keys")
	}
}

func mustHash(t *testing.T, s string) Hash {
	t.Helper()
	h, err := ParseHash(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestVectorsLegacyEncryptedKey(t *testing.T) {
	w := newWorld(t)
	k, err := ParsePrivateKey([]byte(w.BobEncrypted), []byte(w.Passphrase))
	if err != nil || !k.Public().Same(w.bob.Public()) {
		t.Fatal(err)
	}
}

func TestVectorsStaticIdentityInBothOrders(t *testing.T) {
	w := newWorld(t)
	for name, sig := range map[string]string{"as sent": w.IdentityAsSent, "sorted": w.IdentitySorted} {
		if err := VerifyIdentity(w.ada.Public(), Static{Raw(w.IdentityPretty), sig}); err != nil {
			t.Errorf("%s: %v; want no error", name, err)
		}
		if err := VerifyIdentity(w.bob.Public(), Static{Raw(w.IdentityPretty), sig}); err == nil {
			t.Errorf("%s: fits another key", name)
		}
	}
}

func TestVectorsChallengeAndRotation(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	a := ChallengeAnswer{Nonce: "nonce-1", ExpiresAt: At(at), PlaceKey: w.PlaceKey, Address: "place.example.org", PlaceSignature: w.PlaceSignature}
	if err := a.Verify("ada", "place.example.org", at); err != nil {
		t.Errorf("the place's own proof: %v", err)
	}
	c := a.For("ada")
	if err := c.Verify(w.ada.Public(), Proof{"nonce-1", w.Challenge}); err != nil {
		t.Error(err)
	}
	if err := VerifyRotation(w.ada.Public(), "ada", w.bob.Public(), w.Rotation); err != nil {
		t.Error(err)
	}
}

// TestVectorsWrite is the other direction; what it writes is for vectors.py.
func TestVectorsWrite(t *testing.T) {
	w := newWorld(t)
	out := w.vectorFile
	for i, v := range out.Envelope1 {
		blob, err := Seal1(w.bob.Public(), []byte(v.Plain))
		if err != nil {
			t.Fatal(err)
		}
		if len(blob) != Size1(w.bob.Public(), len(v.Plain)) {
			t.Errorf("size of %d bytes was foretold wrongly", len(v.Plain))
		}
		out.Envelope1[i].Blob = blob
	}
	kems := map[string]KEM{SuiteHybrid: KEMHybrid, SuiteX25519: KEMX25519, SuiteOAEP: ""}
	for i, v := range out.Envelope2 {
		h := Header{From: "ada", To: "bob", ID: NewMessageID(), Type: "note", Time: vectorTime}
		blob, err := Seal2(w.ada, w.bob.Public(), w.only(kems[v.Suite]), h, []byte(v.Plain))
		if err != nil {
			t.Fatal(err)
		}
		out.Envelope2[i].Blob = blob
	}
	encrypted, err := EncodeLegacyBackup(w.bob, []byte(w.Passphrase))
	if err != nil {
		t.Fatal(err)
	}
	proof, err := SignIdentity(w.ada, Identity{Name: "Ada & <Söhne>\u2028", InstanceID: "ada", Scope: "general"})
	if err != nil {
		t.Fatal(err)
	}
	entry, err := SignEntry(w.bob, "bob", w.ring.HPKE, vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	out.BobEncrypted, out.Identity, out.IdentitySignature = string(encrypted), string(proof.Identity), proof.Signature
	out.Entry, out.EntrySignature = entry.Entry, entry.Signature
	if *writeVectors == "" {
		return
	}
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*writeVectors, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func decode64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
