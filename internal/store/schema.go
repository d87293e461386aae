package store

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// listTables names the tables that hold something of their own: neither the record
// of migrations nor search indexes.
func listTables(tx *Tx) ([]string, error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`
	if tx.Dialect() == Postgres {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`
	}
	all, err := listNames(tx, query)
	return slices.DeleteFunc(all, func(name string) bool {
		return name == "goose_db_version" || strings.HasPrefix(name, "fts_")
	}), err
}

func hasTable(tx *Tx, name string) (bool, error) {
	query := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`
	if tx.Dialect() == Postgres {
		query = `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?`
	}
	var n int
	err := tx.QueryRow(query, name).Scan(&n)
	return n > 0, err
}

// parentsFirst orders the tables so that a row never comes before one it refers to.
func parentsFirst(tx *Tx) (ordered []string, err error) {
	tables, err := listTables(tx)
	if err != nil {
		return nil, err
	}
	query := `SELECT "table" FROM pragma_foreign_key_list(?)`
	if tx.Dialect() == Postgres {
		query = `SELECT u.table_name FROM information_schema.table_constraints c JOIN information_schema.constraint_column_usage u
			ON u.constraint_schema = c.constraint_schema AND u.constraint_name = c.constraint_name
			WHERE c.constraint_type = 'FOREIGN KEY' AND c.table_schema = current_schema() AND c.table_name = ?`
	}
	seen := map[string]bool{}
	var visit func(table string) error
	visit = func(table string) error {
		if seen[table] {
			return nil
		}
		seen[table] = true
		parents, err := listNames(tx, query, table)
		for _, parent := range parents {
			err = errors.Join(err, visit(parent))
		}
		ordered = append(ordered, table)
		return err
	}
	for _, table := range tables {
		err = errors.Join(err, visit(table))
	}
	return ordered, err
}

// column is one that can be written: generated ones are left out.
type column struct{ name, kind string }

func listColumns(tx *Tx, table string) (columns []column, err error) {
	query := `SELECT name, type FROM pragma_table_info(?) ORDER BY cid`
	if tx.Dialect() == Postgres {
		query = `SELECT column_name, data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER' ORDER BY ordinal_position`
	}
	err = tx.Each(func(row *sql.Rows) error {
		var c column
		err := row.Scan(&c.name, &c.kind)
		c.kind = strings.ToLower(c.kind)
		columns = append(columns, c)
		return err
	}, query, table)
	return columns, err
}

func columnNames(columns []column) (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

func listNames(tx *Tx, query string, args ...any) (names []string, err error) {
	err = tx.Each(Into(&names), query, args...)
	return names, err
}
