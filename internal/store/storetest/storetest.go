// Package storetest gives tests a fresh store, on SQLite and on a real
// PostgreSQL, so that every domain proves its SQL on both.
package storetest

import (
	"testing"

	"parley.internal/internal/store"
)

// Each runs the test once per database, each time on an empty, migrated one.
func Each(t *testing.T, run func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { run(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, Postgres(t)) })
}

// SQLite opens a new file that goes with the test.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	return Open(t, File(t))
}

// Postgres opens a new database on the test server.
func Postgres(t testing.TB) *store.DB {
	t.Helper()
	return Open(t, PostgresURL(t))
}

// PostgresURL names a new, empty, migrated database on the test server.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return pgTemplate.URL(t)
}

// Open opens target and closes it when the test ends.
func Open(t testing.TB, target string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), target, store.Options{})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return db
}
