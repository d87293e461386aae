package store_test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

var update = flag.Bool("update", false, "add new migrations to testdata/migrations.sha256")

// files are the migrations of a dialect: name → text.
func files(t *testing.T, dialect string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("migrations", dialect, "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	all := map[string]string{}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}

func number(t *testing.T, name string) int {
	t.Helper()
	digits, _, _ := strings.Cut(name, "_")
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 5 {
		t.Fatalf("%s: the name of a migration begins with five digits and _", name)
	}
	return n
}

// Until 52 each part had numbers of its own. Since then there is one order for all.
func TestMigrationsHaveOneOrderAndAreTheSameForBothDatabases(t *testing.T) {
	names := slices.Sorted(maps.Keys(files(t, "sqlite")))
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(files(t, "postgres")))); diff != "" {
		t.Errorf("each migration is a file of the same name for both databases (-sqlite +postgres):\n%s", diff)
	}
	last := 0
	for _, name := range names {
		n := number(t, name)
		if n == last {
			t.Errorf("%s: the number %d is taken; give it the next that is free", name, n)
		}
		last = n
	}
}

var downPart = regexp.MustCompile(`(?mi)^--\s*\+goose\s+(down|no transaction|envsub)`)

func TestMigrationsOnlyGoForward(t *testing.T) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		for name, text := range files(t, dialect) {
			if !strings.HasPrefix(text, "-- +goose Up\n") || downPart.MatchString(text) {
				t.Errorf("%s/%s: a migration begins with '-- +goose Up' and has no other part: all of its text is run, in one transaction", dialect, name)
			}
		}
	}
}

const sums = "testdata/migrations.sha256"

func readSums(t *testing.T) (list map[string]string, newest int) {
	t.Helper()
	f, err := os.Open(sums)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	list = map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			t.Fatalf("%s: a broken line %q", sums, lines.Text())
		}
		list[name] = sum
		newest = max(newest, number(t, filepath.Base(name)))
	}
	return list, newest
}

// A database records only the number of a migration. If its file changes later,
// databases with that number differ and nobody knows.
func TestACommittedMigrationNeverChanges(t *testing.T) {
	listed, newest := readSums(t)
	now := map[string]string{}
	for _, dialect := range []string{"sqlite", "postgres"} {
		for name, text := range files(t, dialect) {
			now[dialect+"/"+name] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		}
	}
	for name, sum := range listed {
		switch now[name] {
		case sum:
		case "":
			t.Errorf("migrations/%s is gone: databases have been through it; put it back", name)
		default:
			t.Errorf("migrations/%s was changed: databases that have been through it will never see the change. "+
				"Put the file back as it was, and write the change as a new migration with the next number", name)
		}
	}
	var added []string
	for name := range now {
		if listed[name] == "" {
			added = append(added, name)
			if number(t, filepath.Base(name)) <= newest {
				t.Errorf("migrations/%s: its number is not after %05d; a new migration takes the next number", name, newest)
			}
		}
	}
	if !*update || t.Failed() {
		return
	}
	maps.Copy(listed, now)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		fmt.Fprintf(&text, "%s  %s\n", listed[name], name)
	}
	if err := os.WriteFile(sums, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d new ones were added", len(added))
}

// undo takes migrations out of a database: what they made, and the record of them.
func undo(t *testing.T, db *store.DB, statements ...string) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Numbers were given per part: a hub of yesterday has 52 and not 45. That is no
// reason to refuse its database.
func TestMissingMigrationsAreAppliedAlthoughLaterOnesAreThere(t *testing.T) {
	for name, target := range makers() {
		t.Run(name, func(t *testing.T) {
			at := target(t)
			db := storetest.Open(t, at)
			all := db.Migrations()
			fill(t, db)
			undo(t, db, `DELETE FROM goose_db_version WHERE version_id IN (43, 45)`, `DROP TABLE place_meetings`, `DROP TABLE place_parcels`)
			again := storetest.Open(t, at)
			if diff := cmp.Diff(all, again.Migrations()); diff != "" {
				t.Errorf("the set of migrations (-whole +now):\n%s", diff)
			}
			if err := again.Read(t.Context(), func(tx *store.Tx) error {
				var n int
				return tx.QueryRow(`SELECT (SELECT count(*) FROM place_meetings) + (SELECT count(*) FROM place_parcels)`).Scan(&n)
			}); err != nil {
				t.Errorf("a table of the missing migrations: %v", err)
			}
			if n := count(t, again); n != 50 {
				t.Errorf("%d settings are left of 50", n)
			}
		})
	}
}

func TestAnUpgradeThatFailsLeavesTheDatabaseAsItWas(t *testing.T) {
	for name, target := range makers() {
		t.Run(name, func(t *testing.T) {
			at := target(t)
			db := storetest.Open(t, at)
			// 43 can be applied; 45 cannot, because its table is there.
			undo(t, db, `DELETE FROM goose_db_version WHERE version_id IN (43, 45)`, `DROP TABLE place_meetings`)
			if _, err := store.Open(t.Context(), at, store.Options{}); err == nil || !strings.Contains(err.Error(), "00045") {
				t.Fatalf("got %v, want an error that names the migration", err)
			}
			look, err := store.Open(t.Context(), at, store.Options{KeepVersion: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = look.Close() }()
			if set := look.Migrations(); slices.Contains(set, 43) || slices.Contains(set, 45) {
				t.Errorf("after a failed upgrade the record has %v", set)
			}
			if err := look.Read(t.Context(), func(tx *store.Tx) error {
				var n int
				return tx.QueryRow(`SELECT count(*) FROM place_meetings`).Scan(&n)
			}); err == nil {
				t.Error("a table of the failed upgrade is there")
			}
		})
	}
}

// What counts is whether a migration is known, not whether its number is greater.
func TestNewerDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	for name, target := range makers() {
		for _, strange := range []int{17, 99999} {
			t.Run(fmt.Sprint(name, " ", strange), func(t *testing.T) {
				at := target(t)
				db := storetest.Open(t, at)
				yes := map[string]string{"sqlite": "1", "postgres": "true"}[name]
				undo(t, db, fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, %s)`, strange, yes))
				before, _ := os.ReadFile(at)
				for _, opts := range []store.Options{{}, {KeepVersion: true}} {
					_, err := store.Open(t.Context(), at, opts)
					if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), fmt.Sprint(strange)) || strings.Contains(err.Error(), "\n") {
						t.Errorf("got %v, want one line that names %d", err, strange)
					}
				}
				if err := store.Load(t.Context(), at, strings.NewReader(dump(t, storetest.SQLite(t))), store.Options{}); err == nil {
					t.Error("a dump was loaded over it")
				}
				if after, _ := os.ReadFile(at); string(after) != string(before) {
					t.Error("the file was changed")
				}
			})
		}
	}
}

// A newer hub may have changed a shared database under an older one that still runs.
func TestADatabaseThatBecameNewerIsNotDumped(t *testing.T) {
	db := storetest.Postgres(t)
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Dump(t.Context(), &strings.Builder{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("got %v, want %v", err, store.ErrNewer)
	}
}
