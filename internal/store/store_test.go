package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

func set(name, value string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, ?)`, name, value)
		return err
	}
}

// softWrite changes between both kinds, alone and in one batch.
func softWrite(t *testing.T, db *store.DB) {
	for i := range 3 {
		if err := db.WriteSoft(t.Context(), set(fmt.Sprint("soft", i), "")); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), set(fmt.Sprint("hard", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.WriteSoft(t.Context(), set("soft0", "")); !store.IsConflict(err) {
		t.Errorf("a conflict is %v", err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			write := db.Write
			if i%2 == 0 {
				write = db.WriteSoft
			}
			if err := write(t.Context(), set(fmt.Sprint("mixed", i), "")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, db); n != 26 {
		t.Errorf("%d rows", n)
	}
}

func count(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM settings`).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// The contract: what every database behind this API must do.
func TestContract(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T, db *store.DB)
	}{
		{"a write is there for the next read", writeThenRead},
		{"an error undoes its own write and nobody else's", errorUndoesOnlyItself},
		{"a conflict is recognised", conflictIsRecognised},
		{"a panic reaches its caller and harms nobody", panicReachesCaller},
		{"a cancelled caller has no effect", cancelledCaller},
		{"readers see one snapshot", snapshot},
		{"readers cannot write", readersCannotWrite},
		{"many writers all succeed", manyWriters},
		{"a soft write is seen like any other", softWrite},
		{"a write waits for the disk, a soft one does not", writesWaitForTheDisk},
		{"closed is closed", closedIsClosed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { storetest.Each(t, c.run) })
	}
}

// A program that is killed loses nothing either way, so that only the database's own
// word tells whether a loss of power would.
func writesWaitForTheDisk(t *testing.T, db *store.DB) {
	ask, hard, soft := `PRAGMA synchronous`, "2", "1"
	if db.Dialect() == store.Postgres {
		ask, hard, soft = `SHOW synchronous_commit`, "on", "off"
	}
	for _, c := range []struct {
		what  string
		write func(context.Context, func(*store.Tx) error) error
		want  string
	}{{"the first write", db.Write, hard}, {"a soft write", db.WriteSoft, soft}, {"a write after a soft one", db.Write, hard}} {
		var got string
		if err := c.write(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(ask).Scan(&got) }); err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s commits with %s = %s, want %s", c.what, ask, got, c.want)
		}
	}
}

func writeThenRead(t *testing.T, db *store.DB) {
	if err := db.Write(t.Context(), set("a?b", "it's")); err != nil {
		t.Fatal(err)
	}
	var value string
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT value FROM settings WHERE name = ? AND value <> '?'`, "a?b").Scan(&value)
	}); err != nil || value != "it's" {
		t.Fatalf("%q, %v; want no error, \"it's\"", value, err)
	}
}

func errorUndoesOnlyItself(t *testing.T, db *store.DB) {
	sorry := errors.New("sorry")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				if err := set(fmt.Sprint(i), "x")(tx); err != nil {
					return err
				}
				if i%2 == 1 {
					return sorry
				}
				return nil
			})
			if (i%2 == 1) != errors.Is(err, sorry) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := count(t, db); n != 50 {
		t.Errorf("%d rows", n)
	}
}

func conflictIsRecognised(t *testing.T, db *store.DB) {
	if err := db.Write(t.Context(), set("a", "1")); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), set("a", "2")); !store.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if store.IsConflict(errors.New("other")) {
		t.Error("any error is a conflict")
	}
}

func panicReachesCaller(t *testing.T, db *store.DB) {
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was lost")
			}
		}()
		_ = db.Write(t.Context(), func(tx *store.Tx) error {
			_ = set("a", "1")(tx)
			panic("boom")
		})
	}()
	if err := db.Write(t.Context(), set("b", "2")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func cancelledCaller(t *testing.T, db *store.DB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Write(ctx, set("a", "1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func snapshot(t *testing.T, db *store.DB) {
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		var before, after int
		if err := tx.QueryRow(`SELECT count(*) FROM settings`).Scan(&before); err != nil {
			return err
		}
		if err := db.Write(t.Context(), set("new", "1")); err != nil {
			return err
		}
		if err := tx.QueryRow(`SELECT count(*) FROM settings`).Scan(&after); err != nil {
			return err
		}
		if before != 0 || after != 0 {
			t.Errorf("a reader saw %d, then %d rows", before, after)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func readersCannotWrite(t *testing.T, db *store.DB) {
	if err := db.Read(t.Context(), set("a", "1")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func manyWriters(t *testing.T, db *store.DB) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 10 {
				if err := db.Write(t.Context(), set(fmt.Sprintf("%d/%d", i, j), "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, db); n != 640 {
		t.Errorf("%d rows", n)
	}
}

func closedIsClosed(t *testing.T, db *store.DB) {
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), set("a", "1")); err == nil {
		t.Error("a write after Close")
	}
	if err := db.Read(t.Context(), func(*store.Tx) error { return nil }); err == nil {
		t.Error("a read after Close")
	}
}
