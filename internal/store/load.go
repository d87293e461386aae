package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrNotEmpty says that a dump may only be loaded into a new database.
var ErrNotEmpty = errors.New("the database is not empty")

// ErrBadDump says that a stream is not a complete dump.
var ErrBadDump = errors.New("not a complete parley dump")

// Load makes a new database at target from a dump and brings it to this
// program's schema. On failure the target holds no rows of the dump.
func Load(ctx context.Context, target string, r io.Reader, opts Options) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	var head dumpHead
	if err := dec.Decode(&head); err != nil || head.Format != dumpFormat {
		return fmt.Errorf("%w: it does not begin with %q", ErrBadDump, dumpFormat)
	}
	opts.upTo = head.Schema
	if err := loadRows(ctx, target, dec, opts); err != nil {
		return err
	}
	opts.upTo = 0
	db, err := Open(ctx, target, opts)
	if err != nil {
		return err
	}
	return db.Close()
}

func loadRows(ctx context.Context, target string, dec *json.Decoder, opts Options) error {
	look := opts
	look.KeepVersion = true
	old, err := Open(ctx, target, look)
	if err != nil {
		return err
	}
	version := old.Version()
	if err := old.Close(); err != nil {
		return err
	}
	if version > 0 {
		return fmt.Errorf("%w: %s", ErrNotEmpty, Redact(target))
	}
	db, err := Open(ctx, target, opts)
	if err != nil {
		return err
	}
	done := false
	err = db.Write(ctx, func(tx *Tx) error {
		if done {
			return errors.New("store: a dump can be read only once; load it again")
		}
		done = true
		return (&loader{tx: tx, dec: dec}).run()
	})
	return errors.Join(err, db.Close())
}

// loader reads tables and their rows from a dump into one transaction.
type loader struct {
	tx     *Tx
	dec    *json.Decoder
	insert string
	width  int
	rows   int64
}

func (l *loader) run() error {
	tables, err := listTables(l.tx)
	if err != nil {
		return err
	}
	for {
		var line json.RawMessage
		if err := l.dec.Decode(&line); err != nil {
			return fmt.Errorf("%w: it ends early after %d rows", ErrBadDump, l.rows)
		}
		end, err := l.line(line, tables)
		if err != nil {
			return err
		}
		if end {
			return l.finish(tables)
		}
	}
}

func (l *loader) line(line json.RawMessage, tables []string) (end bool, err error) {
	if bytes.HasPrefix(line, []byte("[")) {
		l.rows++
		return false, l.row(line)
	}
	var table dumpTable
	if err := json.Unmarshal(line, &table); err == nil && table.Table != "" {
		return false, l.table(table, tables)
	}
	var last dumpEnd
	if err := json.Unmarshal(line, &last); err != nil || last.Rows != l.rows {
		return false, fmt.Errorf("%w: %d rows were read, it speaks of %d", ErrBadDump, l.rows, last.Rows)
	}
	return true, nil
}

// table prepares the insert. Names are taken from this schema only: a dump is a
// file from outside.
func (l *loader) table(t dumpTable, tables []string) error {
	if !slices.Contains(tables, t.Table) {
		return fmt.Errorf("%w: unknown table %q", ErrBadDump, t.Table)
	}
	columns, err := listColumns(l.tx, t.Table)
	if err != nil {
		return err
	}
	for _, c := range t.Columns {
		if !slices.Contains(columns, c) {
			return fmt.Errorf("%w: unknown column %s.%q", ErrBadDump, t.Table, c)
		}
	}
	l.width = len(t.Columns)
	if l.width == 0 {
		return fmt.Errorf("%w: table %s has no columns", ErrBadDump, t.Table)
	}
	l.insert = `INSERT INTO ` + t.Table + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", l.width-1) + `)`
	// Rows that a migration put there are in the dump too.
	_, err = l.tx.Exec(`DELETE FROM ` + t.Table)
	return err
}

func (l *loader) row(line json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var row []any
	if err := dec.Decode(&row); err != nil || len(row) != l.width {
		return fmt.Errorf("%w: a broken row", ErrBadDump)
	}
	for i, v := range row {
		var err error
		if row[i], err = unpack(v); err != nil {
			return err
		}
	}
	_, err := l.tx.Exec(l.insert, row...)
	return err
}

func unpack(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Int64()
	case map[string]any:
		return unwrap(v)
	case string, nil:
		return v, nil
	default:
		return nil, fmt.Errorf("%w: a value of type %T", ErrBadDump, v)
	}
}

func unwrap(v map[string]any) (any, error) {
	if text, ok := v["b"].(string); ok {
		return base64.StdEncoding.DecodeString(text)
	}
	if n, ok := v["f"].(json.Number); ok {
		return n.Float64()
	}
	return nil, fmt.Errorf("%w: an unknown kind of value", ErrBadDump)
}

// finish lets counters go on after the loaded rows and rebuilds the indexes.
func (l *loader) finish(tables []string) error {
	if l.tx.Dialect() == SQLite {
		return l.rebuildSearch()
	}
	for _, table := range tables {
		columns, err := listNames(l.tx, `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND is_identity = 'YES'`, table)
		if err != nil {
			return err
		}
		for _, column := range columns {
			next := `SELECT setval(pg_get_serial_sequence(?, ?), greatest((SELECT coalesce(max(` + column + `), 0) FROM ` + table + `), 1))`
			if _, err := l.tx.Exec(next, table, column); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) rebuildSearch() error {
	indexes, err := listNames(l.tx, `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 4) = 'fts_' AND sql LIKE 'CREATE VIRTUAL TABLE%'`)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := l.tx.Exec(`INSERT INTO ` + index + ` (` + index + `) VALUES ('rebuild')`); err != nil {
			return err
		}
	}
	return nil
}
