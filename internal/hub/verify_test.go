package hub_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
)

// madeBackup is a backup of a new hub, with the keys of its agents, and its folder.
func madeBackup(t *testing.T) (file []byte, data string) {
	t.Helper()
	conf, err := config.Load(config.Sources{Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Open(t.Context(), conf, hub.Options{Version: "test", Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	key := filepath.Join(conf.Data, "keys", "place", "clerk.pem")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("the key of clerk"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := h.Backup(t.Context(), &out, []byte("pass")); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), conf.Data
}

// A backup that nobody has tried is a hope. Looking at one finds what would not come
// back, says so, and leaves nothing behind.
func TestABackupIsTriedAndNothingStays(t *testing.T) {
	file, _ := madeBackup(t)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	v, err := hub.VerifyBackup(t.Context(), bytes.NewReader(file), []byte("pass"))
	if err != nil || len(v.Problems) > 0 || v.Keys != "opened" || v.Rows == 0 || v.Files == 0 || !v.Trail.OK {
		t.Errorf("a good backup: %+v, %v", v, err)
	}
	if bytes.Contains(file, []byte("the key of clerk")) {
		t.Error("the key of an agent stands in the backup as it is")
	}
	for name, bad := range damaged(file) {
		v, err := hub.VerifyBackup(t.Context(), bytes.NewReader(bad), []byte("pass"))
		if err == nil && len(v.Problems) == 0 {
			t.Errorf("%s: it passes for a good one", name)
		}
		if err != nil && (!strings.Contains(err.Error(), "backup") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := hub.VerifyBackup(t.Context(), bytes.NewReader(file), []byte("password")); err == nil || !strings.Contains(err.Error(), "the passphrase does not fit") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("looking at backups left %v", left)
	}
}

// damaged are files that were cut, or in which one bit changed. The first ten bytes
// are a head that says nothing about the content.
func damaged(file []byte) map[string][]byte {
	all := map[string][]byte{"nothing": nil, "one byte short": file[:len(file)-1]}
	for i := range 8 {
		at := 10 + i*(len(file)-11)/7
		all["cut at eighth "+string(rune('1'+i))] = file[:at]
		flipped := bytes.Clone(file)
		flipped[at] ^= 0x10
		all["a bit changed at eighth "+string(rune('1'+i))] = flipped
	}
	return all
}

// A restored agent had a new key, and was a stranger to everybody who knew it.
func TestARestoredAgentIsTheSameAgent(t *testing.T) {
	file, data := madeBackup(t)
	into := filepath.Join(t.TempDir(), "again")
	if err := hub.Restore(t.Context(), config.Config{Data: into}, bytes.NewReader(file), hub.Secrets{Passphrase: []byte("pass")}); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(data, "keys", "place", "*"))
	if err != nil || len(keys) < 1 {
		t.Fatalf("the hub has no keys of agents: %v", err)
	}
	for _, key := range keys {
		was, _ := os.ReadFile(key)
		is, err := os.ReadFile(filepath.Join(into, "keys", "place", filepath.Base(key)))
		if err != nil || !bytes.Equal(was, is) {
			t.Errorf("%s did not come back: %v", filepath.Base(key), err)
		}
	}
}
