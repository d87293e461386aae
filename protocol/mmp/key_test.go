package mmp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
)

func TestPublicKeyRefusesJunk(t *testing.T) {
	w := newWorld(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	smallPEM := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&small.PublicKey)}))
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKIXPublicKey(&ec.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "words": "not a key", "too small": smallPEM, "private": w.Bob,
		"not RSA":      string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ecDER})),
		"two keys":     w.BobSPKI + w.BobSPKI,
		"words behind": w.BobSPKI + "and more",
		"cut":          w.BobSPKI[:200],
		"huge":         w.BobSPKI + strings.Repeat(" ", MaxPEM),
		"wrong label":  strings.ReplaceAll(w.BobSPKI, "PUBLIC KEY", "CERTIFICATE"),
	} {
		if _, err := ParsePublicKey(text); !errors.Is(err, ErrBadKey) {
			t.Errorf("%s: %v; want ErrBadKey", name, err)
		}
	}
	if k, err := ParsePublicKey(w.BobSPKI + "\n\n"); err != nil || k.Fingerprint() == w.BobFingerprint {
		t.Errorf("a further newline is another text of the same key: %v", err)
	}
}

func TestPrivateKeyNamesAWrongPassphrase(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		text, pass string
		want       error
	}{
		"right": {w.BobEncrypted, w.Passphrase, nil}, "none": {w.BobEncrypted, "", ErrPassphraseNeeded},
		"not needed": {w.Bob, "whatever", nil}, "not PEM": {"hello", "", ErrBadKey}, "public": {w.BobSPKI, "", ErrBadKey},
		"other cipher": {strings.Replace(w.BobEncrypted, "AES-256-CBC", "DES-EDE3-CBC", 1), w.Passphrase, ErrBadKey},
		"cut IV":       {strings.Replace(w.BobEncrypted, "AES-256-CBC,", "AES-256-CBC,zz", 1), w.Passphrase, ErrBadKey},
	} {
		if _, err := ParsePrivateKey([]byte(c.text), []byte(c.pass)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
	// Padding fits by chance once in 256; even then the reason is the passphrase.
	for i := range 600 {
		if _, err := ParsePrivateKey([]byte(w.BobEncrypted), []byte{'x', byte(i), byte(i >> 8)}); !errors.Is(err, ErrPassphrase) {
			t.Fatalf("%d: %v; want ErrPassphrase", i, err)
		}
	}
}

func TestLegacyPEMInAllKeySizes(t *testing.T) {
	iv := []byte("0123456789abcdef")
	for size, want := range map[int]int{16: 16, 24: 24, 32: 32} {
		if got := len(legacyKey([]byte("p"), iv, size)); got != want {
			t.Errorf("%d: %d; want %v", size, got, want)
		}
	}
}

func TestBackupsOfBothForms(t *testing.T) {
	w := newWorld(t)
	pass := []byte("correct horse")
	ours, err := EncodeBackup(w.bob, pass)
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := EncodeLegacyBackup(w.bob, pass)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"ours": ours, "legacy": legacy} {
		if k, err := OpenBackup(file, pass); err != nil || !k.Public().Same(w.bob.Public()) {
			t.Errorf("%s: %v; want no error, k.Public().Same(w.bob.Public())", name, err)
		}
		if _, err := OpenBackup(file, []byte("wrong")); !errors.Is(err, ErrPassphrase) {
			t.Errorf("%s, wrong passphrase: %v", name, err)
		}
		if _, err := OpenBackup(file, nil); !errors.Is(err, ErrPassphraseNeeded) {
			t.Errorf("%s, no passphrase: %v", name, err)
		}
	}
	if !bytes.Contains(ours, []byte(`"format":"parley-key-backup-1"`)) || !bytes.Contains(ours, []byte(`"m":65536`)) {
		t.Errorf("%.120s", ours)
	}
	relabelled := bytes.Replace(ours, []byte(w.BobKeyID), []byte(w.ada.Public().KeyID()), 1)
	if _, err := OpenBackup(relabelled, pass); !errors.Is(err, ErrPassphrase) {
		t.Errorf("the key id is not bound: %v", err)
	}
}

func TestBackupCannotAskForAMountainOfWork(t *testing.T) {
	good := backup{
		Format: BackupFormat, KDF: "argon2id", Cipher: "AES-256-GCM", Time: 3, Memory: 65536, Threads: 4,
		Salt: make([]byte, 16), Nonce: make([]byte, 12), Ciphertext: make([]byte, 32),
	}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*backup){
		"time": func(b *backup) { b.Time = 1000 }, "memory": func(b *backup) { b.Memory = 1 << 30 },
		"threads": func(b *backup) { b.Threads = 0 }, "no salt": func(b *backup) { b.Salt = nil },
		"format": func(b *backup) { b.Format = "x" }, "nonce": func(b *backup) { b.Nonce = nil },
	} {
		b := good
		change(&b)
		if err := b.check(); !errors.Is(err, ErrBadKey) {
			t.Errorf("%s: %v; want ErrBadKey", name, err)
		}
	}
}

func TestHPKEKeyFile(t *testing.T) {
	w := newWorld(t)
	file, err := EncodeHPKEKeys(w.ring.HPKE)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseHPKEKeys(file)
	if err != nil || len(keys) != 2 || keys[0].KEM != KEMHybrid || !bytes.Equal(keys[1].Public(), w.ring.HPKE[1].Public()) {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "other kind": w.Bob, "unknown KEM": strings.Replace(string(file), "KEM: X25519", "KEM: X448", 1),
		"cut": strings.Replace(string(file), "KEM: X25519", "KEM: MLKEM768X25519x", 1),
	} {
		if _, err := ParseHPKEKeys([]byte(text)); !errors.Is(err, ErrBadKey) {
			t.Errorf("%s: %v; want ErrBadKey", name, err)
		}
	}
	fresh, err := GenerateHPKE()
	if err != nil || len(fresh) != 2 || fresh[0].KEM != KEMHybrid {
		t.Errorf("%v; want no error, len(fresh) to be 2, fresh[0].KEM to be %v", err, KEMHybrid)
	}
}

func TestStaticProof(t *testing.T) {
	w := newWorld(t)
	s, err := SignIdentity(w.ada, Identity{Name: "A<>&\u2028\"", InstanceID: "ada", Scope: "general", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := "{\"description\":\"\",\"instance_id\":\"ada\",\"name\":\"A<>&\u2028\\\"\",\"scope\":\"general\",\"version\":\"1\"}"
	if string(s.Identity) != want {
		t.Errorf("identity is %s", s.Identity)
	}
	if InstanceOf(s.Identity) != "ada" || InstanceOf(Raw(`{"instance_id":7}`)) != "" || InstanceOf(Raw(`[]`)) != "" {
		t.Error("InstanceOf")
	}
	if err := VerifyIdentity(w.ada.Public(), s); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]Static{
		"other name":        {Raw(strings.Replace(want, "A<", "B<", 1)), s.Signature},
		"escape changed":    {Raw(strings.Replace(want, "<", `\u003c`, 1)), s.Signature},
		"no signature":      {s.Identity, ""},
		"junk signature":    {s.Identity, "!!!"},
		"huge signature":    {s.Identity, strings.Repeat("A", MaxSignatureText+4)},
		"member twice":      {Raw(`{"a":1,"a":1}`), s.Signature},
		"no JSON":           {Raw(`{`), s.Signature},
		"signature trimmed": {s.Identity, s.Signature[4:]},
	} {
		if err := VerifyIdentity(w.ada.Public(), bad); !errors.Is(err, ErrBadSignature) {
			t.Errorf("%s: %v; want ErrBadSignature", name, err)
		}
	}
	wrapped := s
	wrapped.Signature = s.Signature[:60] + "\n" + s.Signature[60:] + "\n"
	if err := VerifyIdentity(w.ada.Public(), wrapped); err != nil {
		t.Errorf("a signature with line breaks: %v", err)
	}
}

func TestChallengeIsBoundToEverything(t *testing.T) {
	w := newWorld(t)
	c := Challenge{PlaceKey: "key", Address: "place.example.org", AgentID: "ada", Nonce: NewNonce()}
	p, err := c.Sign(w.ada)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(w.ada.Public(), p); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]Challenge{
		"place": {"other", c.Address, c.AgentID, c.Nonce}, "address": {c.PlaceKey, "evil.example.org", c.AgentID, c.Nonce},
		"agent": {c.PlaceKey, c.Address, "eve", c.Nonce}, "nonce": {c.PlaceKey, c.Address, c.AgentID, NewNonce()},
		"line break": {"key\nplace.example.org", "ada", "ada", c.Nonce}, "no id": {c.PlaceKey, c.Address, "", c.Nonce},
	} {
		if err := bad.Verify(w.ada.Public(), p); !errors.Is(err, ErrBadSignature) {
			t.Errorf("%s: %v; want ErrBadSignature", name, err)
		}
	}
	if err := c.Verify(w.bob.Public(), p); !errors.Is(err, ErrBadSignature) {
		t.Errorf("key: %v", err)
	}
}

func TestRotationIsBoundToAgentAndNewKey(t *testing.T) {
	w := newWorld(t)
	sig, err := SignRotation(w.ada, "ada", w.bob.Public())
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyRotation(w.ada.Public(), "ada", w.bob.Public(), sig); err != nil {
		t.Error(err)
	}
	if VerifyRotation(w.ada.Public(), "eve", w.bob.Public(), sig) == nil ||
		VerifyRotation(w.ada.Public(), "ada", w.ada.Public(), sig) == nil ||
		VerifyRotation(w.bob.Public(), "ada", w.bob.Public(), sig) == nil {
		t.Error("a rotation fits what it was not made for")
	}
}

func TestKeyEntryIsCheckedAgainstAgentAndKey(t *testing.T) {
	w := newWorld(t)
	s, err := SignEntry(w.bob, "bob", w.ring.HPKE, vectorTime)
	if err != nil {
		t.Fatal(err)
	}
	e, err := VerifyEntry(w.bob.Public(), "bob", s)
	if err != nil || !e.Reads(1) || !e.Reads(2) || len(e.HPKE) != 2 || !e.IssuedAt.Equal(vectorTime) {
		t.Fatalf("%+v, %v; want no error, e.Reads(1), e.Reads(2), len(e.HPKE) to be 2, e.IssuedAt.Equal(vectorTime)", e, err)
	}
	resigned := func(text string) SignedEntry {
		entry := b64([]byte(text))
		sig, err := w.bob.Sign(entryText(entry))
		if err != nil {
			t.Fatal(err)
		}
		return SignedEntry{entry, sig}
	}
	head := `{"agent_id":"bob","envelopes":[1,2],"hpke":`
	tail := `,"issued_at":"` + Stamp(vectorTime) + `","rsa":"` + w.BobKeyID + `"}`
	for name, c := range map[string]struct {
		agent string
		s     SignedEntry
		ok    bool
	}{
		"other agent":     {"eve", s, false},
		"signature":       {"bob", SignedEntry{s.Entry, w.EntrySignature}, false},
		"no signature":    {"bob", SignedEntry{s.Entry, ""}, false},
		"unknown kem":     {"bob", resigned(head + `[{"kem":"NEW","key":"AA=="}]` + tail), true},
		"broken key":      {"bob", resigned(head + `[{"kem":"X25519","key":"AA=="}]` + tail), false},
		"key no text":     {"bob", resigned(head + `[{"kem":"X25519","key":7}]` + tail), false},
		"other rsa":       {"bob", resigned(strings.Replace(head+`[]`+tail, w.BobKeyID, w.ada.Public().KeyID(), 1)), false},
		"no time":         {"bob", resigned(head + `[],"rsa":"` + w.BobKeyID + `"}`), false},
		"not JSON":        {"bob", resigned("hello"), false},
		"too many keys":   {"bob", resigned(head + `[{},{},{},{},{},{},{},{},{}]` + tail), false},
		"RSA only":        {"bob", resigned(head + `[]` + tail), true},
		"future envelope": {"bob", resigned(strings.Replace(head, "[1,2]", "[1,2,3]", 1) + `[]` + tail), true},
	} {
		_, err := VerifyEntry(w.bob.Public(), c.agent, c.s)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrInvalidEntry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none *KeyEntry
	if none.Reads(2) {
		t.Error("no entry reads nothing")
	}
}

func TestGeneratedKeysSignAndVerify(t *testing.T) {
	k, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	sig, err := SignContent(k, "# Skill")
	if err != nil || VerifyContent(k.Public(), "# Skill", sig) != nil || VerifyContent(k.Public(), "# Skil", sig) == nil {
		t.Error("content signature")
	}
	if !strings.HasSuffix(k.Public().PEM(), "-----END PUBLIC KEY-----\n") {
		t.Error("no final newline")
	}
}

func TestATextThatWouldBeAProofIsNotSignedAsASkill(t *testing.T) {
	w := newWorld(t)
	identity, err := SignIdentity(w.ada, Identity{InstanceID: "ada", Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"the answer to a challenge": string(Challenge{PlaceKey: "key", Address: "place.example.org", AgentID: "ada", Nonce: "n"}.text(w.ada.Public().KeyID())),
		"a successor's name":        string(rotationText("ada", w.bob.Public().KeyID())),
		"an identity":               string(identity.Identity),
	} {
		if _, err := SignContent(w.ada, text); !errors.Is(err, ErrNoSkill) {
			t.Errorf("%s was signed as a skill: %v", name, err)
		}
	}
	for _, skill := range []string{"# Tea\n", "---\nname: tea\n---\n{}", "{not json"} {
		if _, err := SignContent(w.ada, skill); err != nil {
			t.Errorf("the skill %q was not signed: %v", skill, err)
		}
	}
}
