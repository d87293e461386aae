package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A dump is lines of JSON: a head, then per table a line with its name and columns
// and a line per row, and at the very end a line that counts. The head of the first
// format had one number for the schema instead of the migrations.
const (
	dumpFormat    = "parley-dump-2"
	dumpFormatOld = "parley-dump-1"
)

type dumpHead struct {
	Format     string  `json:"format"`
	Migrations []int64 `json:"migrations,omitempty"`
	Schema     int64   `json:"schema,omitempty"`
}

type dumpTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

type dumpEnd struct {
	Rows *int64 `json:"rows"`
}

// Dump writes a consistent copy of everything while others go on writing.
func (db *DB) Dump(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := db.Read(ctx, func(tx *Tx) error {
		head, err := dumpHeadOf(tx)
		if err != nil {
			return err
		}
		if err := enc.Encode(head); err != nil {
			return err
		}
		return dumpTables(ctx, tx, enc)
	})
	if err != nil {
		return fmt.Errorf("dumping the database: %w", err)
	}
	return out.Flush()
}

// dumpHeadOf looks at the database of this moment: a newer hub may have changed a
// shared one since it was opened, and what it has now this program cannot dump.
func dumpHeadOf(tx *Tx) (dumpHead, error) {
	known, err := knownMigrations(tx.dialect)
	if err != nil {
		return dumpHead{}, err
	}
	applied, err := appliedMigrations(tx)
	if err == nil {
		err = checkKnown("it", applied, known)
	}
	return dumpHead{Format: dumpFormat, Migrations: applied}, err
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
	return enc.Encode(dumpEnd{Rows: &rows})
}

func dumpOne(ctx context.Context, tx *Tx, enc *json.Encoder, table string) (n int64, err error) {
	columns, err := listColumns(tx, table)
	if err != nil {
		return 0, err
	}
	names := columnNames(columns)
	if err := enc.Encode(dumpTable{Table: table, Columns: names}); err != nil {
		return 0, err
	}
	values := make([]any, len(names))
	into := make([]any, len(names))
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
		packed, err := packRow(values)
		if err != nil {
			return err
		}
		n++
		return enc.Encode(packed)
	}, `SELECT `+strings.Join(names, ", ")+` FROM `+table)
	return n, err
}
