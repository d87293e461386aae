package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a database as a whole.
var (
	ErrCorrupt     = errors.New("the database is damaged")
	ErrNewer       = errors.New("the database was made by a newer parley")
	ErrFull        = errors.New("the disk is full")
	ErrUnavailable = errors.New("the database cannot be reached")
	// ErrUnsure says that the server went away while it committed: the transaction may count
	// or not, and only who knows what it wrote can find out. It comes with ErrUnavailable.
	ErrUnsure   = errors.New("nobody knows whether it was written")
	ErrReadOnly = errors.New("the database cannot be written")
	ErrClosed   = errors.New("the store is closed")
)

// IsConflict reports whether err is a violated unique constraint.
func IsConflict(err error) bool {
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// describe wraps the failures people must act on in the sentinels above; others
// pass unchanged.
func describe(err error) error {
	if err == nil {
		return nil
	}
	if kind := classify(err); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func classify(err error) error {
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return classifySQLite(lite.Code() & 0xff)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyPostgres(pg.Code)
	}
	var network net.Error
	var dial *pgconn.ConnectError
	if errors.As(err, &dial) || errors.Is(err, driver.ErrBadConn) ||
		(errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)) {
		return ErrUnavailable
	}
	return nil
}

func classifySQLite(code int) error {
	switch code {
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrCorrupt
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return ErrReadOnly
	default:
		return nil
	}
}

func classifyPostgres(code string) error {
	switch {
	case code == "53100":
		return ErrFull
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "53"),
		code == "25P03": // it took this program for hung, see hungTime
		return ErrUnavailable
	case code == "25006":
		return ErrReadOnly
	default:
		return nil
	}
}

// retryable reports whether PostgreSQL asks to run the same transaction again.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}
