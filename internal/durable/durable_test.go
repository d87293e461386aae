package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"parley.internal/internal/durable"
)

// Whether a disk kept its word only a loss of power can show. This shows that
// everything can be flushed, also below a folder, and that what is missing is said.
func TestFilesFoldersAndTreesAreFlushed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(durable.File(file), durable.Folder(filepath.Dir(file)), durable.Tree(dir)); err != nil {
		t.Errorf("flushing what is there: %v", err)
	}
	missing := filepath.Join(dir, "missing")
	for name, flush := range map[string]func(string) error{"file": durable.File, "tree": durable.Tree} {
		if err := flush(missing); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("flushing a %s that is missing: got %v, want that it does not exist", name, err)
		}
	}
}

func TestAFileIsReplacedWholeAndMadeOnlyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := durable.Create(path, []byte("first"), 0o600); err != nil {
		t.Fatalf("making a file that was not there: %v", err)
	}
	if err := durable.Create(path, []byte("second"), 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("making it again: got %v, want that it exists", err)
	}
	if err := durable.Write(path, []byte("third"), 0o640); err != nil {
		t.Fatalf("replacing it: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "third" {
		t.Errorf("the file says %q (%v), want what was written last", text, err)
	}
	if err := durable.Write(filepath.Join(path, "below"), nil, 0o600); err == nil {
		t.Error("a file was written below a file")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %d entries (%v), want the file alone", len(entries), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" {
		t.Errorf("the file's mode is %v (%v), want the one that was asked for", info.Mode(), err)
	}
}
