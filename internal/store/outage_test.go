package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley.internal/internal/store"
	"parley.internal/test/pgtest"
)

// A restart of the server failed whatever was written in those two seconds.
func TestAWriteWaitsForAServerThatComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	db, err := store.Open(t.Context(), server.URL(t), store.Options{Outage: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The server goes in the middle of one write, and is away when another begins.
	runs := 0
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO settings (name, value) VALUES ('cut off', 'x')`); err != nil {
			return err
		}
		if runs++; runs > 1 {
			return nil
		}
		server.Kill9()
		if err := db.Read(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(`SELECT 1`).Scan(new(int)) }); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a read while the server is away: %v, want to be told at once", err)
		}
		away, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := db.Write(away, func(*store.Tx) error { return nil }); err == nil {
			t.Error("a write without a server went well")
		}
		server.Restart()
		_, err := tx.Exec(`SELECT 1`)
		return err
	})
	if err != nil || runs != 2 {
		t.Fatalf("after %d runs: %v, want the second to do it", runs, err)
	}
	var rows int
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM settings WHERE name = 'cut off'`).Scan(&rows)
	}); err != nil || rows != 1 {
		t.Errorf("%d rows, %v; want one", rows, err)
	}
	if f := db.Figures(); f.Outages == 0 {
		t.Errorf("%+v counts no outage", f)
	}
}

// Somebody who may not write hears so at once, and not after an outage that is none.
func TestARefusedWriteIsNotTakenForAnOutage(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), pgtest.URL(t), store.Options{Outage: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	refused := errors.New("refused")
	if err := db.Write(t.Context(), func(*store.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v, want the function's own error", err)
	}
	if err := db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(`SELECT nonsense`); return err }); err == nil || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, want the server's error", err)
	}
}

// A hub that was stopped in the middle of a transaction kept the lease it had locked, and
// with it the conversation, for as long as it was stopped.
func TestWhoHangsInATransactionKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	target := pgtest.URL(t)
	open := func() *store.DB {
		db, err := store.Open(t.Context(), target, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	hangs, other := open(), open()
	set := func(tx *store.Tx, value string) error {
		_, err := tx.Exec(`INSERT INTO settings (name, value) VALUES ('wanted', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, value)
		return err
	}
	runs := 0
	err := hangs.Write(t.Context(), func(tx *store.Tx) error {
		if err := set(tx, "mine"); err != nil {
			return err
		}
		if runs++; runs > 1 {
			return nil
		}
		// This is what hanging is, seen from the server: nothing more comes.
		if err := other.Write(t.Context(), func(tx *store.Tx) error { return set(tx, "theirs") }); err != nil {
			t.Errorf("whoever wants the row: %v", err)
		}
		return set(tx, "mine")
	})
	if err != nil || runs != 2 {
		t.Errorf("the one that hung: %v after %d runs, want it to have begun anew", err, runs)
	}
}
