package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/pgtest"
)

// fill puts a value of every kind both databases can keep into a new one.
func fill(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 50 {
			if err := set(fmt.Sprint("ключ", i), "<&>\"\n\x01\u2028")(tx); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`INSERT INTO streams (name, last_seq, oldest_seq) VALUES ('s', 1, 1)`)
		for i, blob := range [][]byte{{0, 0xff, 'x'}, {}, {0}, []byte("text")} {
			if err == nil {
				_, err = tx.Exec(`INSERT INTO events (stream, seq, at, kind, data) VALUES (1, ?, 9007199254740993, 'k', ?)`, i, blob)
			}
		}
		for i, number := range []int64{math.MaxInt64, math.MinInt64, 0, -1} {
			if err == nil {
				_, err = tx.Exec(`INSERT INTO place_parcels (num, at, body) VALUES (?, ?, ?)`, i, number, []byte{})
			}
		}
		for i, float := range []float64{0, 1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), 7} {
			if err == nil {
				_, err = tx.Exec(`INSERT INTO rooms (id, title, owner, room_key, version, policy, signed_ver, created_at) VALUES (?, '', '', '', 1, '', ?, 1)`, fmt.Sprint(i), float)
			}
		}
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

// makers name a new database of either kind.
func makers() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "parley.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	}
}

// A dump of either database makes an equal one of either kind.
func TestDumpAndLoadBetweenAllDatabases(t *testing.T) {
	for from, source := range makers() {
		for to, target := range makers() {
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

// refused are dumps that are not what they should be.
func refused(good string) map[string]string {
	return map[string]string{
		"empty":             "",
		"not a dump":        "{}\n",
		"cut":               good[:len(good)/2],
		"no end":            good[:strings.LastIndex(good[:len(good)-1], "\n")+1],
		"more than an end":  good + "[1]\n",
		"a row too few":     strings.Replace(good, `["ключ7",`, `["ключ7","x",`, 1),
		"unknown table":     strings.Replace(good, `"table":"settings"`, `"table":"sqlite_master"`, 1),
		"unknown column":    strings.Replace(good, `"name","value"`, `"name","1) --"`, 1),
		"another kind":      strings.Replace(good, `{"b":""}`, `{"x":""}`, 1),
		"no migrations":     strings.Replace(good, `"migrations":[`, `"other":[`, 1),
		"a row of nothing":  strings.Replace(good, "\n", "\n[1]\n", 1),
		"an end of its own": strings.Replace(good, "\n", "\n{}\n", 1),
	}
}

// nothingIn checks that a failed load has left the target as it was: new.
func nothingIn(t *testing.T, target string) {
	t.Helper()
	if !strings.HasPrefix(target, "postgres") {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(target), "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("a failed load left %v (%v)", left, err)
		}
		return
	}
	pool, err := sql.Open("pgx", target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	var n int
	err = pool.QueryRowContext(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()`).Scan(&n)
	if err != nil || n > 0 {
		t.Errorf("a failed load left %d tables (%v)", n, err)
	}
}

func TestLoadRefusesWhatItCannotTrustAndLeavesNothing(t *testing.T) {
	db := storetest.SQLite(t)
	fill(t, db)
	good := dump(t, db)
	for to, target := range makers() {
		into := target(t)
		for name, text := range refused(good) {
			t.Run(to+"/"+name, func(t *testing.T) {
				if err := store.Load(t.Context(), into, strings.NewReader(text), store.Options{}); !errors.Is(err, store.ErrBadDump) {
					t.Fatalf("got %v, want %v", err, store.ErrBadDump)
				}
				nothingIn(t, into)
			})
		}
		if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); err != nil {
			t.Errorf("%s: after all failures the good dump fails too: %v", to, err)
		}
	}
}

// bystander runs a statement of somebody else.
func bystander(t *testing.T, target, statement string) error {
	t.Helper()
	pool, err := sql.Open("pgx", target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	_, err = pool.ExecContext(t.Context(), statement)
	return err
}

func TestLoadReplacesNothingThatIsInUse(t *testing.T) {
	db := storetest.SQLite(t)
	fill(t, db)
	good := dump(t, db)
	for to, target := range makers() {
		t.Run(to, func(t *testing.T) {
			into := target(t)
			// A restore that was cut off after its database can be done again …
			for range 2 {
				if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); err != nil {
					t.Fatalf("loading where nobody has used what was loaded: %v", err)
				}
			}
			if to == "postgres" { // somebody else's table in the same database stays
				if err := bystander(t, into, `CREATE TABLE theirs (a INTEGER)`); err != nil {
					t.Fatal(err)
				}
				if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); err != nil {
					t.Fatal(err)
				}
				if err := bystander(t, into, `SELECT * FROM theirs`); err != nil {
					t.Errorf("a table of somebody else: %v", err)
				}
			}
			// … until a hub has opened it.
			used := storetest.Open(t, into)
			if err := store.Load(t.Context(), into, strings.NewReader(good), store.Options{}); !errors.Is(err, store.ErrNotEmpty) {
				t.Errorf("loading over a database in use: got %v, want %v", err, store.ErrNotEmpty)
			}
			if n := count(t, used); n != 50 {
				t.Errorf("the database in use has %d settings, want 50", n)
			}
		})
	}
}

func TestLoadRefusesADumpOfANewerProgram(t *testing.T) {
	db := storetest.SQLite(t)
	fill(t, db)
	good := dump(t, db)
	head, rest, _ := strings.Cut(good, "\n")
	for name, text := range map[string]string{
		"a later one":    strings.Replace(good, `"migrations":[`, `"migrations":[99999,`, 1),
		"one in between": strings.Replace(good, `"migrations":[`, `"migrations":[17,`, 1),
		"the old format": `{"format":"parley-dump-1","schema":60}` + "\n" + rest,
	} {
		into := filepath.Join(t.TempDir(), "parley.db")
		err := store.Load(t.Context(), into, strings.NewReader(text), store.Options{})
		if !errors.Is(err, store.ErrNewer) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s (%s): got %v, want one line that says %v", name, head, err, store.ErrNewer)
		}
		nothingIn(t, into)
	}
}

// Text that is not UTF-8, or has a NUL in it, SQLite keeps and PostgreSQL does not.
func TestTextWithOddBytesStaysOrIsRefusedByName(t *testing.T) {
	db := storetest.SQLite(t)
	if err := db.Write(t.Context(), set("odd", "a\xffb\x00c")); err != nil {
		t.Fatal(err)
	}
	text := dump(t, db)
	into := filepath.Join(t.TempDir(), "parley.db")
	if err := store.Load(t.Context(), into, strings.NewReader(text), store.Options{}); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := storetest.Open(t, into).Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT value FROM settings WHERE name = 'odd'`).Scan(&got)
	}); err != nil || got != "a\xffb\x00c" {
		t.Errorf("the text came back as %q, %v", got, err)
	}
	target := pgtest.URL(t)
	err := store.Load(t.Context(), target, strings.NewReader(text), store.Options{})
	if err == nil || !strings.Contains(err.Error(), "settings.value: PostgreSQL cannot keep") {
		t.Errorf("got %v, want a line that names the column", err)
	}
	nothingIn(t, target)
}

// SQLite keeps text where bytes belong, if somebody wrote it so; PostgreSQL gets bytes.
func TestAValueGetsTheTypeOfItsColumnInPostgres(t *testing.T) {
	db := storetest.SQLite(t)
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO events (stream, seq, at, kind, data) VALUES (1, 1, 2.0, x'6b', 'back\slash')`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	target := pgtest.URL(t)
	if err := store.Load(t.Context(), target, strings.NewReader(dump(t, db)), store.Options{}); err != nil {
		t.Fatal(err)
	}
	var at int64
	var kind string
	var data []byte
	if err := storetest.Open(t, target).Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT at, kind, data FROM events`).Scan(&at, &kind, &data)
	}); err != nil || at != 2 || kind != "k" || string(data) != `back\slash` {
		t.Errorf("got %d %q %q, %v", at, kind, data, err)
	}
}
