package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"parley.internal/internal/store"
	"parley.internal/test/pgtest"
)

// template is an empty, migrated SQLite file, made once per test process:
// migrating anew for every test is most of what many tests would do.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "storetest-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "parley.db")
	db, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// pgTemplate is the same for PostgreSQL.
var pgTemplate = pgtest.NewTemplate(func(url string) error {
	db, err := store.Open(context.Background(), url, store.Options{})
	if err != nil {
		return err
	}
	return db.Close()
})

// File makes an empty, migrated SQLite file that goes with the test, and names it.
func File(t testing.TB) string {
	t.Helper()
	data, err := template()
	if err != nil {
		t.Fatalf("making a database: %v", err)
	}
	path := filepath.Join(pgtest.Folder(t), "parley.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
