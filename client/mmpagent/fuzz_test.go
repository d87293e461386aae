package mmpagent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func FuzzPeersFile(f *testing.F) {
	f.Add([]byte(`{"peers":{"place bob":{"key_id":"sha256:x","envelope_2":true}},"seen":{"k":{"relay":"r"}}}`))
	f.Add([]byte(`{"peers":null,"seen":{"` + "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 id" + `":{"at":"2026-01-01T00:00:00Z"}}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "peers.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := OpenPeers(path)
		if err != nil {
			return
		}
		if err := p.Save(); err != nil {
			t.Fatal(err)
		}
		again, err := OpenPeers(path)
		if err != nil || len(again.All()) != len(p.All()) {
			t.Fatalf("%q: %d peers, then %d (%v)", text, len(p.All()), len(again.All()), err)
		}
	})
}

func FuzzErrorBody(f *testing.F) {
	f.Add(401, 7, []byte(`{"error":"x","code":"key_pinned","message":"m","retry_after":3}`))
	f.Add(500, 0, []byte(`not json`))
	f.Fuzz(func(t *testing.T, status, wait int, body []byte) {
		err := readError(status, body, wait)
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != status || e.Error() == "" {
			t.Fatalf("%v", err)
		}
	})
}
