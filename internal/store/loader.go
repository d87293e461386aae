package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// loader reads tables and their rows from a dump into one transaction.
type loader struct {
	tx     *Tx
	dec    *json.Decoder
	old    bool // the dump has the first format
	tables []string
	rows   int64
	// What the rows that follow belong to.
	table   string
	columns []column
	insert  string
	// aside are tables whose rows have an older form than the table of today.
	aside []keptTable
}

// run makes the tables as they were when the dump was written, fills them, and
// goes on to the tables of today.
func (l *loader) run(head dumpHead) error {
	known, err := knownMigrations(l.tx.dialect)
	if err != nil {
		return err
	}
	set, err := head.set(known)
	if err != nil {
		return err
	}
	missing := without(known, set)
	there := slices.DeleteFunc(known, func(m migration) bool { return !slices.Contains(set, m.number) })
	applied, err := apply(l.tx, nil, there)
	if err != nil {
		return err
	}
	if l.tables, err = listTables(l.tx); err != nil {
		return err
	}
	if err := l.read(); err != nil {
		return err
	}
	if err := l.finish(); err != nil {
		return err
	}
	if _, err := apply(l.tx, applied, missing); err != nil {
		return err
	}
	return markLoaded(l.tx)
}

// lastOldNumber is the greatest number a migration had when dumps named only that.
const lastOldNumber = 52

// set is which migrations the database had been through that was dumped. The first
// format tells only the greatest number the program knew, while smaller ones were
// added later; tables and columns of those are empty. One changed texts without
// leaving a trace, and can do that again.
func (h dumpHead) set(known []migration) (set []int64, err error) {
	if h.Format == dumpFormat {
		set = h.Migrations
		if len(set) == 0 {
			return nil, fmt.Errorf("%w: it names no migrations", ErrBadDump)
		}
		return set, checkKnown("the backup", set, known)
	}
	if h.Schema > lastOldNumber {
		return nil, checkKnown("the backup", []int64{h.Schema}, nil)
	}
	const finalSigma = 15
	for _, m := range known {
		if m.number <= h.Schema && m.number != finalSigma {
			set = append(set, m.number)
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%w: it names no schema", ErrBadDump)
	}
	return set, nil
}

// read takes all lines after the head.
func (l *loader) read() error {
	for {
		if err := l.tx.ctx.Err(); err != nil {
			return err
		}
		var line json.RawMessage
		if err := l.dec.Decode(&line); err != nil {
			return fmt.Errorf("%w: it ends early after %d rows", ErrBadDump, l.rows)
		}
		end, err := l.line(line)
		if err != nil {
			return err
		}
		if !end {
			continue
		}
		if err := l.dec.Decode(&line); !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: something follows its end", ErrBadDump)
		}
		return nil
	}
}

func (l *loader) line(line json.RawMessage) (end bool, err error) {
	if bytes.HasPrefix(line, []byte("[")) {
		l.rows++
		return false, l.row(line)
	}
	var table dumpTable
	if err := json.Unmarshal(line, &table); err == nil && table.Table != "" {
		return false, l.begin(table)
	}
	var last dumpEnd
	if err := json.Unmarshal(line, &last); err != nil || last.Rows == nil {
		return false, fmt.Errorf("%w: a line that is neither table, row nor end", ErrBadDump)
	}
	if *last.Rows != l.rows {
		return false, fmt.Errorf("%w: %d rows were read, it speaks of %d", ErrBadDump, l.rows, *last.Rows)
	}
	return true, nil
}

// begin prepares for the rows of a table. Names are taken from this schema only: a
// dump is a file from outside.
func (l *loader) begin(t dumpTable) error {
	if !slices.Contains(l.tables, t.Table) {
		return fmt.Errorf("%w: unknown table %q", ErrBadDump, t.Table)
	}
	today, err := listColumns(l.tx, t.Table)
	if err != nil {
		return err
	}
	// Rows that a migration put there are in the dump too.
	if _, err := l.tx.Exec(`DELETE FROM ` + t.Table); err != nil {
		return err
	}
	into := t.Table
	if l.old && olderForm(t.Table, t.Columns, today) {
		kept, err := makeAside(l.tx, t, today)
		if err != nil {
			return err
		}
		l.aside = append(l.aside, kept)
		into, today = kept.name, kept.columns
	}
	l.columns = nil
	for _, name := range t.Columns {
		at := slices.IndexFunc(today, func(c column) bool { return c.name == name })
		if at < 0 {
			return fmt.Errorf("%w: unknown column %s.%q", ErrBadDump, t.Table, name)
		}
		l.columns = append(l.columns, today[at])
	}
	if len(l.columns) == 0 {
		return fmt.Errorf("%w: table %s has no columns", ErrBadDump, t.Table)
	}
	l.table = t.Table
	l.insert = `INSERT INTO ` + into + ` (` + strings.Join(t.Columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(l.columns)-1) + `)`
	return nil
}

func (l *loader) row(line json.RawMessage) error {
	row, err := unpackRow(line)
	if err != nil {
		return err
	}
	if l.table == "" || len(row) != len(l.columns) {
		return fmt.Errorf("%w: a broken row", ErrBadDump)
	}
	for i, v := range row {
		if row[i], err = fit(l.tx.dialect, l.columns[i].kind, v); err != nil {
			return fmt.Errorf("%s.%s: %w", l.table, l.columns[i].name, err)
		}
	}
	if _, err = l.tx.Exec(l.insert, row...); err != nil {
		return fmt.Errorf("table %s: %w", l.table, err)
	}
	return nil
}

// finish gives rows of an older form the one of today, lets counters go on after
// the loaded rows and rebuilds the indexes.
func (l *loader) finish() error {
	for _, kept := range l.aside {
		if err := kept.bringBack(l.tx); err != nil {
			return err
		}
	}
	if l.tx.Dialect() == SQLite {
		return rebuildSearch(l.tx)
	}
	return continueCounters(l.tx, l.tables)
}

// continueCounters lets the numbers PostgreSQL gives go on after those that are there.
func continueCounters(tx *Tx, tables []string) error {
	for _, table := range tables {
		columns, err := listNames(tx, `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND is_identity = 'YES'`, table)
		if err != nil {
			return err
		}
		for _, column := range columns {
			next := `SELECT setval(pg_get_serial_sequence(?, ?), greatest((SELECT coalesce(max(` + column + `), 0) FROM ` + table + `), 1))`
			if _, err := tx.Exec(next, table, column); err != nil {
				return err
			}
		}
	}
	return nil
}

func rebuildSearch(tx *Tx) error {
	indexes, err := listNames(tx, `SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 4) = 'fts_' AND sql LIKE 'CREATE VIRTUAL TABLE%'`)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := tx.Exec(`INSERT INTO ` + index + ` (` + index + `) VALUES ('rebuild')`); err != nil {
			return err
		}
	}
	return nil
}
