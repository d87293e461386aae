package pgtest

import (
	"os"
	"testing"
)

// folderRoom is what the folders of tests that run at the same time may grow to.
const folderRoom = 2 << 30

// Folder is t.TempDir for databases: in memory, if there is room.
func Folder(t testing.TB) string {
	t.Helper()
	base := Memory(folderRoom)
	if base == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(base, "parley-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the test's folder: %v", err)
		}
	})
	return dir
}
