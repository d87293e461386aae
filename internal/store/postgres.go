package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"parley.internal/internal/pause"
)

// A conflicting transaction is tried again this often before its caller hears of it.
const maxRetries = 10

// Outage is how long a write waits for a server that is away: longer than a restart takes,
// and not so long that people would rather be told.
const Outage = 5 * time.Second

const outagePause = 100 * time.Millisecond

// hungTime, in milliseconds, is when the server gives up a hub that stopped in the middle of a
// transaction: the rows it had locked, leases among them, could not be taken over by
// others for as long as it hung. No transaction waits for anything but the database.
const hungTime = "4000"

// pgEngine is PostgreSQL, which groups commits by itself.
type pgEngine struct {
	pool     *sql.DB
	patience time.Duration
	binds    sync.Map // query text with ? → with $1, $2 …
	// conflicts and outages count transactions that were run again.
	conflicts, outages atomic.Int64
}

func openPostgres(ctx context.Context, target string, opts Options) (*DB, error) {
	e, err := newPostgres(target, opts)
	if err != nil {
		return nil, err
	}
	applied, err := migrate(ctx, Postgres, opts, e.read, e.alone)
	if err != nil {
		_ = e.pool.Close()
		return nil, fmt.Errorf("opening %s: %w", Redact(target), describe(err))
	}
	return &DB{engine: e, dialect: Postgres, url: target, applied: applied}, nil
}

// newPostgres connects when it is first needed.
func newPostgres(target string, opts Options) (*pgEngine, error) {
	conf, err := pgx.ParseConfig(target)
	if err != nil {
		return nil, fmt.Errorf("reading the database URL %s: %w", Redact(target), errors.New("it is not a PostgreSQL URL"))
	}
	conf.RuntimeParams["synchronous_commit"] = "on"
	conf.RuntimeParams["application_name"] = "parley"
	conf.RuntimeParams["idle_in_transaction_session_timeout"] = hungTime
	e := &pgEngine{pool: stdlib.OpenDB(*conf), patience: opts.Outage}
	e.pool.SetMaxOpenConns(opts.Readers + opts.Writers)
	e.pool.SetMaxIdleConns(opts.Readers + opts.Writers)
	return e, nil
}

// migrationLock keeps two hubs that start at once from migrating at once.
const migrationLock = 0x7061726c6579

// alone runs fn in a transaction while no other hub migrates.
func (e *pgEngine) alone(ctx context.Context, fn func(*Tx) error) error {
	return e.try(ctx, nil, func(tx *Tx) error {
		if _, err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, int64(migrationLock)); err != nil {
			return err
		}
		return fn(tx)
	})
}

func (e *pgEngine) write(ctx context.Context, how manner, fn func(*Tx) error) error {
	if how.soft {
		hard := fn
		fn = func(tx *Tx) error {
			if _, err := tx.Exec(`SET LOCAL synchronous_commit TO off`); err != nil {
				return err
			}
			return hard(tx)
		}
	}
	began := time.Now()
	for attempt := 1; ; {
		err := e.try(ctx, nil, fn)
		switch {
		case err == nil:
			return nil
		case retryable(err) && attempt < maxRetries:
			attempt++
			e.conflicts.Add(1)
		case !away(err) || errors.Is(err, ErrUnsure) || time.Since(began) > e.patience || pause.For(ctx, outagePause) != nil:
			return err
		default:
			e.outages.Add(1)
		}
	}
}

func (e *pgEngine) read(ctx context.Context, fn func(*Tx) error) error {
	return e.try(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
}

func (e *pgEngine) try(ctx context.Context, opts *sql.TxOptions, fn func(*Tx) error) error {
	err := e.run(ctx, opts, fn)
	if lost(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// lost reports whether the server went away in the middle of a transaction.
func lost(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed)
}

func (e *pgEngine) run(ctx context.Context, opts *sql.TxOptions, fn func(*Tx) error) error {
	tx, err := e.pool.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(&Tx{ctx: ctx, dialect: Postgres, on: pgTx{tx, e}}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if away(err) {
			return fmt.Errorf("%w: %w", ErrUnsure, err)
		}
		return err
	}
	return nil
}

// away reports whether the server cannot be reached, or went in the middle.
func away(err error) bool { return lost(err) || errors.Is(classify(err), ErrUnavailable) }

func (e *pgEngine) ping(ctx context.Context) error { return e.pool.PingContext(ctx) }

func (e *pgEngine) close() error { return e.pool.Close() }

// pgTx rebinds placeholders on the way to the driver.
type pgTx struct {
	tx *sql.Tx
	e  *pgEngine
}

func (t pgTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.tx.ExecContext(ctx, t.e.rebind(query), args...)
}

func (t pgTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, t.e.rebind(query), args...)
}

func (t pgTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, t.e.rebind(query), args...)
}

func (t pgTx) script(ctx context.Context, text string) error {
	_, err := t.tx.ExecContext(ctx, text)
	return err
}

func (e *pgEngine) rebind(query string) string {
	if known, ok := e.binds.Load(query); ok {
		return known.(string)
	}
	bound := rebind(query)
	e.binds.Store(query, bound)
	return bound
}

// rebind numbers the placeholders, leaving quoted text alone.
func rebind(query string) string {
	var b strings.Builder
	n, quoted := 0, false
	for i := range len(query) {
		c := query[i]
		if c == '\'' {
			quoted = !quoted
		}
		if c != '?' || quoted {
			b.WriteByte(c)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}
