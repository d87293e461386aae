package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"parley/internal/durable"
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
