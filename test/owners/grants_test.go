//go:build linux

package owners_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// grant has somebody share a folder and gives the grant's id.
func (h *hub) grant(token string, args ...string) string {
	h.t.Helper()
	out, code := h.parley(token, append([]string{"workspace", "grant", "--json"}, args...)...)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 {
		h.t.Fatalf("parley workspace grant %v: %v: %s", args, err, out)
	}
	return made.ID
}

// A folder is shared by its owner alone, and what is reached is that folder and no more: not
// the one beside it, not what a link in it leads to, and nothing once it was taken back.
func TestAnAgentReachesExactlyTheFolderThatWasShared(t *testing.T) {
	h := start(t)
	alice, bob := h.person("alice"), h.person("bob", "task:unattended")
	hers := h.home("alice", alice)
	h.home("bob", bob)
	for name, text := range map[string]string{"garden/plan.txt": "plan of the garden", "books/list.txt": "list of books", "diary.txt": "diary of alice"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(hers, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(hers, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"garden/out": "../diary.txt", "garden/up": "..", "garden/keys": h.Path("keys")} {
		if err := os.Symlink(to, filepath.Join(hers, link)); err != nil {
			t.Fatal(err)
		}
	}
	garden, books := filepath.Join(hers, "garden"), filepath.Join(hers, "books")
	try := func() string {
		seen, _ := h.parley(bob, "task", "submit", "--mode", "always_execute", "--watch", "--json", strings.Join([]string{
			"file_read " + garden + "/plan.txt", "file_read " + garden + "/out", "file_read " + garden + "/up/diary.txt", "file_read " + hers + "/diary.txt",
			"file_read " + garden + "/../diary.txt", "file_list " + hers, "file_list " + garden + "/keys",
			"shell cat " + garden + "/plan.txt " + garden + "/out " + garden + "/up/diary.txt " + hers + "/diary.txt; ls " + garden + "/keys/; echo of bob > " + garden + "/bob.txt; true",
			"shell cat " + books + "/list.txt; echo of bob > " + books + "/bob.txt; true",
		}, "\n"))
		return seen + h.model.Sent()
	}
	if seen := try(); strings.Contains(seen, "plan of the garden") || strings.Contains(seen, "list of books") {
		t.Fatalf("nothing is shared yet: %s", seen)
	}
	if out, code := h.parley(bob, "workspace", "grant", "bob", "--folder", garden); code == 0 {
		t.Errorf("bob shares what is not his: %s", out)
	}
	id := h.grant(alice, "bob", "--folder", "garden")
	h.grant(alice, "bob", "--folder", "books", "--read-only")
	seen := try()
	for _, shared := range []string{"plan of the garden", "list of books"} {
		if !strings.Contains(seen, shared) {
			t.Errorf("bob's agent does not find the %s, which alice shared: %s", shared, seen)
		}
	}
	if strings.Contains(seen, "diary of alice") || strings.Contains(seen, "hub.key") {
		t.Errorf("bob's agent reached more than was shared: %s", seen)
	}
	if text, err := os.ReadFile(filepath.Join(garden, "bob.txt")); err != nil || string(text) != "of bob\n" {
		t.Errorf("the garden may be changed: %q %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(books, "bob.txt")); err == nil {
		t.Error("the books were shared for reading, and bob's agent wrote among them")
	}
	if out, code := h.parley(alice, "workspace", "revoke", id); code != 0 {
		t.Fatalf("alice takes the garden back: %s", out)
	}
	if err := os.WriteFile(filepath.Join(garden, "plan.txt"), []byte("new secret of the garden"), 0o600); err != nil {
		t.Fatal(err)
	}
	if seen := try(); strings.Contains(seen, "new secret of the garden") {
		t.Errorf("alice took the garden back, and bob's agent still reads it: %s", seen)
	}
}
