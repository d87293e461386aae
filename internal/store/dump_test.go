package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/test/pgtest"
)

func fill(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 50 {
			if err := set(fmt.Sprint("ключ", i), "<&>\"\n\x01")(tx); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`INSERT INTO streams (name, last_seq, oldest_seq) VALUES ('s', 1, 1)`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO events (stream, seq, at, kind, data) VALUES (1, 1, 9007199254740993, 'k', ?)`, []byte{0, 0xff, 'x'})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dump(t *testing.T, db *store.DB) string {
	t.Helper()
	var b bytes.Buffer
	if err := db.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A dump of either database makes an equal one of either kind.
func TestDumpAndLoadBetweenAllDatabases(t *testing.T) {
	makers := map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "parley.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	}
	for from, source := range makers {
		for to, target := range makers {
			t.Run(from+" to "+to, func(t *testing.T) {
				db := storetest.Open(t, source(t))
				fill(t, db)
				first := dump(t, db)
				into := target(t)
				if err := store.Load(t.Context(), into, strings.NewReader(first), store.Options{}); err != nil {
					t.Fatal(err)
				}
				again := storetest.Open(t, into)
				if diff := cmp.Diff(sorted(first), sorted(dump(t, again))); diff != "" {
					t.Error(diff)
				}
				checkCountersGoOn(t, again)
			})
		}
	}
}

// checkCountersGoOn: a new row must not collide with a loaded one.
func checkCountersGoOn(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO streams (name, last_seq, oldest_seq) VALUES ('next', 0, 1)`)
		return err
	})
	if err != nil {
		t.Errorf("after loading: %v", err)
	}
}

// sorted makes dumps comparable: rows have no order.
func sorted(dump string) map[string]int {
	lines := map[string]int{}
	for line := range strings.Lines(dump) {
		lines[line]++
	}
	return lines
}

func TestDumpWhileOthersWriteIsConsistent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				// Two rows in one transaction: a dump has both or neither.
				_ = db.Write(t.Context(), func(tx *store.Tx) error {
					return errors.Join(set(fmt.Sprint("left", i), "x")(tx), set(fmt.Sprint("right", i), "x")(tx))
				})
			}
		}()
		for range 5 {
			copied := dump(t, db)
			if a, b := strings.Count(copied, `["left`), strings.Count(copied, `["right`); a != b {
				t.Errorf("%d and %d rows", a, b)
			}
		}
		close(stop)
		<-done
	})
}

func TestLoadRefusesWhatItCannotTrust(t *testing.T) {
	db := storetest.SQLite(t)
	fill(t, db)
	good := dump(t, db)
	cases := map[string]string{
		"empty":          "",
		"not a dump":     "{}\n",
		"cut":            good[:len(good)/2],
		"no end":         good[:strings.LastIndex(good[:len(good)-1], "\n")+1],
		"a row too few":  strings.Replace(good, `["ключ7",`, `["ключ7","x",`, 1),
		"unknown table":  strings.Replace(good, `"table":"settings"`, `"table":"sqlite_master"`, 1),
		"unknown column": strings.Replace(good, `"name","value"`, `"name","1) --"`, 1),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "parley.db")
			if err := store.Load(t.Context(), into, strings.NewReader(text), store.Options{}); !errors.Is(err, store.ErrBadDump) {
				t.Fatalf("got %v", err)
			}
			if n := count(t, storetest.Open(t, into)); n != 0 {
				t.Errorf("%d rows were left", n)
			}
		})
	}
	t.Run("not empty", func(t *testing.T) {
		into := filepath.Join(t.TempDir(), "parley.db")
		if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("newer", func(t *testing.T) {
		future := strings.Replace(good, `"schema":`, `"schema":9`, 1)
		err := store.Load(t.Context(), filepath.Join(t.TempDir(), "parley.db"), strings.NewReader(future), store.Options{})
		if !errors.Is(err, store.ErrNewer) {
			t.Errorf("got %v", err)
		}
	})
}
