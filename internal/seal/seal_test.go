package seal

import (
	"bytes"
	"errors"
	"testing"
)

func TestOnlyThePassphraseOpensWhatWasSealed(t *testing.T) {
	secret, pass := []byte("the keys"), []byte("correct horse")
	file, err := Seal(secret, pass)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Open(file, pass); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("what was sealed comes back as %q, %v", got, err)
	}
	if bytes.Contains(file, secret) {
		t.Error("the file shows the secret")
	}
	if _, err := Open(file, []byte("correct horsf")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if _, err := Open(file, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("no passphrase: %v", err)
	}
	if _, err := Seal(secret, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("sealing without a passphrase: %v", err)
	}
}

// Whatever byte was changed: no secret comes out, and no endless work begins.
func TestAChangedFileDoesNotOpen(t *testing.T) {
	file, err := Seal([]byte("the keys"), []byte("pass"))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "cut": file[:len(file)/2], "no head": []byte(`{"sealed":"AAAA"}`), "another thing": []byte(`{"head":{"format":"x"}}`),
		"too dear":    bytes.Replace(file, []byte(`"m":65536`), []byte(`"m":4294967295`), 1),
		"too long":    bytes.Replace(file, []byte(`"t":3`), []byte(`"t":4000000`), 1),
		"no threads":  bytes.Replace(file, []byte(`"p":4`), []byte(`"p":0`), 1),
		"cheaper":     bytes.Replace(file, []byte(`"t":3`), []byte(`"t":2`), 1),
		"a flipped 0": bytes.Replace(file, []byte(`"sealed":"`), []byte(`"sealed":"AA`), 1),
	} {
		if got, err := Open(bad, []byte("pass")); err == nil || got != nil {
			t.Errorf("%s: opened as %q", name, got)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"head":{"format":"parley-sealed-1","kdf":"argon2id","t":1,"m":8,"p":1,"salt":"AAAAAAAAAAA=","cipher":"XChaCha20-Poly1305","nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},"sealed":""}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		if got, err := Open(file, []byte("x")); err == nil {
			t.Errorf("%q opens as %q", file, got)
		}
	})
}
