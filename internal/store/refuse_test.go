package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/pgtest"
)

func TestDamagedFileIsRefusedAndLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	junk := []byte(strings.Repeat("this is no database. ", 100))
	if err := os.WriteFile(path, junk, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), path, store.Options{})
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("got %v", err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(junk) {
		t.Error("the file was changed")
	}
}

func TestDamagedInsideIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	db, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The schema's own page is overwritten behind the file's head.
	copy(file[100:4096], strings.Repeat("\xff", 3996))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), path, store.Options{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableDatabaseSaysSoWithoutThePassword(t *testing.T) {
	_, err := store.Open(t.Context(), "postgres://me:s3cret@127.0.0.1:1/parley?connect_timeout=2", store.Options{})
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestMissingFolderIsSaid(t *testing.T) {
	_, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "no", "parley.db"), store.Options{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestTwoHubsMayMigrateAtOnce(t *testing.T) {
	target := pgtest.URL(t)
	errs := make(chan error, 4)
	for range 4 {
		go func() {
			db, err := store.Open(t.Context(), target, store.Options{})
			if err == nil {
				err = db.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	storetest.Open(t, target)
}
