package store

import (
	"context"
	"database/sql"
)

// Dialect tells the two databases apart where their SQL differs.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// querier is what a transaction runs its statements on.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	// script runs a text of several statements without placeholders.
	script(ctx context.Context, text string) error
}

// Tx is one transaction, valid only inside the function it was given to.
type Tx struct {
	ctx     context.Context
	dialect Dialect
	on      querier
}

// Context is the context of the transaction.
func (tx *Tx) Context() context.Context { return tx.ctx }

// Dialect tells which database this is, for the few queries that must differ.
func (tx *Tx) Dialect() Dialect { return tx.dialect }

// Exec runs a statement and returns how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	res, err := tx.on.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a query; close the rows before the function returns.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	return tx.on.QueryContext(tx.ctx, query, args...)
}

// QueryRow runs a query for one row.
func (tx *Tx) QueryRow(query string, args ...any) *sql.Row {
	return tx.on.QueryRowContext(tx.ctx, query, args...)
}

// Each calls scan for every row of a query and closes the rows.
func (tx *Tx) Each(scan func(row *sql.Rows) error, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Row is one row of an answer: of *sql.Rows, or *sql.Row.
type Row interface{ Scan(dest ...any) error }

// Into is for Each: it makes a list of a query's only column.
//
//	err := tx.Each(store.Into(&ids), `SELECT id FROM notes`)
//
// What the list held before is dropped, since a transaction may run again.
func Into[T any](list *[]T) func(row *sql.Rows) error {
	return IntoBy(list, func(row Row) (v T, err error) {
		err = row.Scan(&v)
		return v, err
	})
}

// IntoBy is Into for rows that scan reads.
func IntoBy[T any](list *[]T, scan func(Row) (T, error)) func(row *sql.Rows) error {
	*list = (*list)[:0:0]
	return func(row *sql.Rows) error {
		v, err := scan(row)
		*list = append(*list, v)
		return err
	}
}

// ForUpdate is the suffix that locks the selected rows until the transaction
// ends. SQLite has one writer and needs none.
func (tx *Tx) ForUpdate() string {
	if tx.dialect == Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// ForShare is the suffix that keeps the selected rows from changing until the
// transaction ends, while others may read them too.
func (tx *Tx) ForShare() string {
	if tx.dialect == Postgres {
		return " FOR SHARE"
	}
	return ""
}
