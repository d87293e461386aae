package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// unwritable keeps everybody from writing for a while, and returns when it begins.
func unwritable(t *testing.T, db *store.DB, d time.Duration) (over <-chan struct{}) {
	t.Helper()
	began, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if err := db.Write(t.Context(), func(*store.Tx) error {
			close(began)
			<-time.After(d)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	<-began
	return done
}

// Whoever came first after an outage took all the others for dead, and what they ran from
// them.
func TestNobodyIsDeadBecauseTheDatabaseWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		a, b := join(t, db, "a", lease.Options{}), join(t, db, "b", lease.Options{})
		defer closed(t, b)
		mine, err := a.Acquire(t.Context(), "task.1")
		if err != nil {
			t.Fatal(err)
		}
		over := unwritable(t, db, 20*time.Second)
		<-time.After(19 * time.Second)
		if orphans, err := b.Orphans(t.Context(), "task.", 10); err != nil || len(orphans) != 0 {
			t.Errorf("while nobody could say that it lives: %v, %v; want no orphans", orphans, err)
		}
		<-over
		_, err = b.Acquire(t.Context(), "task.1")
		if _, held := errors.AsType[*lease.HeldError](err); !held {
			t.Fatalf("right after the outage: %v, want it held by the hub that has it", err)
		}
		<-time.After(10 * time.Second)
		if err := mine.Verify(t.Context()); err != nil {
			t.Errorf("after the outage: %v", err)
		}
		// One that died in an outage is given up, a lease's time after it.
		over = unwritable(t, db, 20*time.Second)
		a.Abandon()
		<-over
		<-time.After(6 * time.Second)
		if _, err := b.Acquire(t.Context(), "task.1"); err != nil {
			t.Errorf("of a hub that died in the outage: %v, want it free", err)
		}
	})
}
