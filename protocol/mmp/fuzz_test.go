package mmp

import (
	"bytes"
	"testing"
)

func FuzzParseEnvelope(f *testing.F) {
	w := newWorld(f)
	f.Add(w.Envelope1[0].Blob)
	for _, v := range w.Envelope2 {
		f.Add(v.Blob)
	}
	f.Add("")
	f.Add(b64([]byte(`{"version":1}`)))
	f.Fuzz(func(t *testing.T, blob string) {
		env, err := ParseEnvelope(blob)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Fatalf("untyped: %v", err)
			}
			return
		}
		if env.Version == 1 {
			_, err = env.Open1(w.bob)
		} else {
			_, err = env.Open2(w.ring, w.incoming())
		}
		if err != nil && ReasonOf(err) == "" {
			t.Fatalf("untyped: %v", err)
		}
	})
}

func FuzzPEM(f *testing.F) {
	w := newWorld(f)
	for _, s := range []string{w.Bob, w.BobPKCS8, w.BobEncrypted, w.BobSPKI, w.BobPKCS1} {
		f.Add([]byte(s))
	}
	hpke, err := EncodeHPKEKeys(w.ring.HPKE)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(hpke)
	f.Add([]byte(`{"format":"parley-key-backup-1","kdf":"argon2id","t":1,"m":8,"p":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := ParsePublicKey(string(text)); err == nil && k.PEM() != string(text) {
			t.Fatal("the text was not kept")
		}
		_, _ = ParsePrivateKey(text, []byte("pass"))
		_, _ = ParseHPKEKeys(text)
		if b, err := parseBackup(text); err == nil {
			_ = b.check()
		}
	})
}

func FuzzKeyEntry(f *testing.F) {
	w := newWorld(f)
	f.Add(decode64(f, w.vectorFile.Entry))
	f.Add([]byte(`{"hpke":[{"kem":"X25519","key":"AA=="}],"issued_at":"2026-01-30"}`))
	f.Fuzz(func(_ *testing.T, raw []byte) { _, _ = parseEntry(raw) })
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,{"d":"\u00e9","c":null}],"a":1.50}`))
	f.Add([]byte(`{"\ud83c\udf0d":1,"a":-0}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		sorted, err := Sorted(raw)
		if err != nil {
			return
		}
		compact, err := Compact(raw)
		if err != nil || len(compact) != len(sorted) {
			t.Fatalf("%q, %v", compact, err)
		}
		if again, err := Sorted(sorted); err != nil || !bytes.Equal(again, sorted) {
			t.Fatalf("%q then %q, %v", sorted, again, err)
		}
	})
}
