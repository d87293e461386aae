package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// kindsOf are values of a column's type that differ from row to row. The first ones
// are what a hub writes in a table of one row.
var kindsOf = map[string][]string{
	"TEXT": {"'a'", "''", "'O''Brien <&> \"' || char(10) || char(8232)", "'" + strings.Repeat("ж", 3000) + "'", "'[]'"},
	"BIGINT": {
		"1", fmt.Sprint(int64(math.MaxInt64)), fmt.Sprint(int64(math.MinInt64 + 1)), "9007199254740993", "0",
	},
	"BLOB":             {"x'00ff'", "x''", "x'00'", "CAST('text' AS BLOB)", "zeroblob(4096)"},
	"DOUBLE PRECISION": {"1.5", "9e999", "-9e999", "5e-324", "7.0"},
}

// fillEveryTable gives each table rows with values of every kind, as far as its keys
// and checks allow. A new table needs nothing here: it is found and filled.
func fillEveryTable(t *testing.T, db *store.DB) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		tables, err := names(tx, ownTables)
		if err != nil {
			return err
		}
		for _, table := range tables {
			kinds, err := names(tx, `SELECT type FROM pragma_table_info(?)`, table)
			if err != nil {
				return err
			}
			keys, err := names(tx, `SELECT pk FROM pragma_table_info(?)`, table)
			if err != nil {
				return err
			}
			for i := range 5 {
				if _, err := tx.Exec(`INSERT OR IGNORE INTO ` + table + ` VALUES (` + strings.Join(row(kinds, keys, i), ", ") + `)`); err != nil {
					return fmt.Errorf("%s: %w", table, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func row(kinds, keys []string, i int) (values []string) {
	for at, kind := range kinds {
		if kind == "INTEGER" { // the number SQLite gives a row
			values = append(values, fmt.Sprint(i+1))
			continue
		}
		value := kindsOf[kind][i]
		if keys[at] != "0" && kind == "TEXT" {
			value = fmt.Sprintf("'key %d'", i)
		}
		values = append(values, value)
	}
	return values
}

func names(tx *store.Tx, query string, args ...any) (list []string, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, rows.Err()
}

// Each table, each row, each value: out of either database, into either.
func TestEveryRowOfEveryTableComesBackBetweenAllDatabases(t *testing.T) {
	first := storetest.SQLite(t)
	fillEveryTable(t, first)
	was := contentOf(t, first)
	for table, rows := range was {
		if len(rows.values) == 0 {
			t.Errorf("the table %s is empty: this test has to feed it", table)
		}
	}
	text := dump(t, first)
	for from, source := range makers() {
		middle := source(t)
		if err := store.Load(t.Context(), middle, strings.NewReader(text), store.Options{}); err != nil {
			t.Fatalf("sqlite to %s: %v", from, err)
		}
		there := dump(t, storetest.Open(t, middle))
		for to, target := range makers() {
			t.Run(from+" to "+to, func(t *testing.T) {
				into := target(t)
				if err := store.Load(t.Context(), into, strings.NewReader(there), store.Options{}); err != nil {
					t.Fatal(err)
				}
				is := contentOf(t, storetest.Open(t, into))
				for table, rows := range was {
					if diff := cmp.Diff(rows.lines(t, rows.columns), is[table].lines(t, rows.columns)); diff != "" {
						t.Errorf("%s (-was +is):\n%s", table, diff)
					}
				}
			})
		}
	}
}
