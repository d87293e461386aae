package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// dumpFormat names the stream's shape: a head line, then per table a line with
// its name and columns, a line per row, and at the very end a line that counts.
const dumpFormat = "parley-dump-1"

type dumpHead struct {
	Format string `json:"format"`
	Schema int64  `json:"schema"`
}

type dumpTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type dumpEnd struct {
	Rows int64 `json:"rows"`
}

// Dump writes a consistent copy of everything while others go on writing.
func (db *DB) Dump(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := db.Read(ctx, func(tx *Tx) error {
		if err := enc.Encode(dumpHead{Format: dumpFormat, Schema: db.version}); err != nil {
			return err
		}
		return dumpTables(ctx, tx, enc)
	})
	if err != nil {
		return fmt.Errorf("dumping the database: %w", err)
	}
	return out.Flush()
}

func dumpTables(ctx context.Context, tx *Tx, enc *json.Encoder) error {
	tables, err := parentsFirst(tx)
	if err != nil {
		return err
	}
	var rows int64
	for _, table := range tables {
		n, err := dumpOne(ctx, tx, enc, table)
		if err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
		rows += n
	}
	return enc.Encode(dumpEnd{Rows: rows})
}

func dumpOne(ctx context.Context, tx *Tx, enc *json.Encoder, table string) (n int64, err error) {
	columns, err := listColumns(tx, table)
	if err != nil {
		return 0, err
	}
	if err := enc.Encode(dumpTable{Table: table, Columns: columns}); err != nil {
		return 0, err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	err = tx.Each(func(row *sql.Rows) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := row.Scan(into...); err != nil {
			return err
		}
		n++
		return enc.Encode(packRow(values))
	}, `SELECT `+strings.Join(columns, ", ")+` FROM `+table)
	return n, err
}

// packRow writes bytes and floats in a wrapper, so that every value comes back
// with the type it had.
func packRow(values []any) []any {
	row := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []byte:
			row[i] = map[string][]byte{"b": v}
		case float64:
			row[i] = map[string]float64{"f": v}
		default:
			row[i] = v
		}
	}
	return row
}

func listTables(tx *Tx) ([]string, error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`
	if tx.Dialect() == Postgres {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`
	}
	all, err := listNames(tx, query)
	var tables []string
	for _, name := range all {
		if name != "goose_db_version" && !strings.HasPrefix(name, "fts_") {
			tables = append(tables, name)
		}
	}
	return tables, err
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

func listColumns(tx *Tx, table string) ([]string, error) {
	if tx.Dialect() == Postgres {
		return listNames(tx, `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER' ORDER BY ordinal_position`, table)
	}
	return listNames(tx, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
}

func listNames(tx *Tx, query string, args ...any) (names []string, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var name string
		if err := row.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
		return nil
	}, query, args...)
	return names, err
}
