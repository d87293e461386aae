package files_test

import (
	"errors"
	"testing"
	"time"

	"parley.internal/internal/files"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestWhatNobodyUsedIsGoneAfterADay(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s := open(t, db, files.Limits{})
		alice := person("alice")
		unused, used := put(t, s, alice, png(10, 1)), put(t, s, alice, png(10, 2))
		if _, err := s.HoldFor(t.Context(), alice, files.Conversation("c"), used.Digest); err != nil {
			t.Fatal(err)
		}
		// A day later.
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE file_holds SET until_at = ? WHERE until_at > 0`, store.Micros(time.Now().Add(-time.Minute)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get(t.Context(), alice, unused.Digest); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("a file that was used nowhere for a day: %v; want it gone at once", err)
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := parts(t, db); n != 1 {
			t.Errorf("%d parts after the sweep; want only the file that a conversation holds", n)
		}
		if _, _, err := s.Get(t.Context(), alice, used.Digest); err != nil {
			t.Errorf("the file that is in use: %v", err)
		}
	})
}
