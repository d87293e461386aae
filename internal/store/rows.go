package store

import "strings"

// Rows is one statement for many rows at once: its text for 1, 2, 4 … 128 of
// them, so that few texts are prepared and kept, and few calls write many rows.
//
//	var newNotes = store.ManyRows(`INSERT INTO notes (id, text) VALUES `, `(?, ?)`, ``)
//	err := newNotes.Exec(tx, args)
type Rows struct {
	texts [8]string
	width int
}

// ManyRows makes the texts: what stands before the rows, one row, and what
// stands after them. Each row takes as many values as it has question marks.
func ManyRows(before, row, after string) Rows {
	r := Rows{width: strings.Count(row, "?")}
	for k := range r.texts {
		r.texts[k] = before + row + strings.Repeat(", "+row, 1<<k-1) + after
	}
	return r
}

// The SQLite driver looks for each value among all of a statement: more of them
// cost more to find than another statement costs to run.
const mostValues = 64

// Run calls run with as many rows of args at a time as is good for the database.
func (r *Rows) Run(tx *Tx, args []any, run func(query string, args []any) error) error {
	if len(args) == 0 {
		return nil
	}
	for k := len(r.texts) - 1; k >= 0; k-- {
		if tx.Dialect() == SQLite && k > 0 && r.width<<k > mostValues {
			continue
		}
		for n := r.width << k; len(args) >= n; args = args[n:] {
			if err := run(r.texts[k], args[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Exec runs the statement for all rows of args.
func (r *Rows) Exec(tx *Tx, args []any) error {
	return r.Run(tx, args, func(query string, args []any) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}
