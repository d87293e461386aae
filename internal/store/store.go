package store

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options tune a store; the zero value is right for a hub.
type Options struct {
	Logger *slog.Logger
	// Readers bounds the read connections (default 8).
	Readers int
	// Writers bounds the write connections of PostgreSQL (default 16).
	Writers int
	// Outage is how long a write waits for a PostgreSQL that is away (default [Outage]).
	Outage time.Duration
	// Reserve is how much room on the disk a file of SQLite keeps for WriteFreeing.
	Reserve int64
	// KeepVersion opens the database without migrating it, for tools that only look.
	KeepVersion bool
	// AfterLoad changes a database that Load made before anybody can see it: what a copy
	// must not share with its original.
	AfterLoad func(*Tx) error
}

const usualReaders, usualWriters = 8, 16

// Connections is how many a hub opens to PostgreSQL at most.
const Connections = usualReaders + usualWriters

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers <= 0 {
		o.Readers = usualReaders
	}
	if o.Writers <= 0 {
		o.Writers = usualWriters
	}
	if o.Outage <= 0 {
		o.Outage = Outage
	}
	return o
}

// manner is how to write: a soft write need not outlive a loss of power, and one that
// frees may use what is kept for a full disk.
type manner struct{ soft, frees bool }

// engine is one database behind the API.
type engine interface {
	write(ctx context.Context, how manner, fn func(*Tx) error) error
	read(ctx context.Context, fn func(*Tx) error) error
	ping(ctx context.Context) error
	close() error
}

// DB is an open store.
type DB struct {
	engine  engine
	dialect Dialect
	url     string
	applied []int64
}

// Figures are what a store counts.
type Figures struct {
	// InUse and Idle are connections to PostgreSQL; Waits counts who waited for one, and
	// Waited is how long they did, together.
	InUse, Idle int
	Waits       int64
	Waited      time.Duration
	// Again counts transactions that were run again, by why: a conflict, or an outage.
	Conflicts, Outages int64
}

// Figures reads what was counted; SQLite, which has one writer and no server, counts nothing.
func (db *DB) Figures() (f Figures) {
	e, ok := db.engine.(*pgEngine)
	if !ok {
		return f
	}
	s := e.pool.Stats()
	return Figures{InUse: s.InUse, Idle: s.Idle, Waits: s.WaitCount, Waited: s.WaitDuration, Conflicts: e.conflicts.Load(), Outages: e.outages.Load()}
}

// Open opens the database that target names, migrates it and returns it.
// A target is "postgres://…", "sqlite:PATH" or just a path.
func Open(ctx context.Context, target string, opts Options) (*DB, error) {
	opts = opts.withDefaults()
	if IsPostgres(target) {
		return openPostgres(ctx, target, opts)
	}
	return openSQLite(ctx, strings.TrimPrefix(target, "sqlite:"), opts)
}

// IsPostgres tells what kind of database a target names.
func IsPostgres(target string) bool {
	return strings.HasPrefix(target, "postgres://") || strings.HasPrefix(target, "postgresql://")
}

// Write runs fn in a transaction and returns nil only once it is durable.
// fn may run more than once and must not wait for anything but tx. An error of
// fn undoes its changes and is returned as it is.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return describe(db.engine.write(ctx, manner{}, fn))
}

// WriteSoft is Write without waiting for the disk: what was written outlives the
// death of this process, but the last of it may be gone after a loss of power or
// a crash of the database server. What is written after it never outlives it.
func (db *DB) WriteSoft(ctx context.Context, fn func(*Tx) error) error {
	return describe(db.engine.write(ctx, manner{soft: true}, fn))
}

// WriteFreeing is Write, or WriteSoft, for what makes room. On a full disk it still
// works, for a good while, where the database has a reserve.
func (db *DB) WriteFreeing(ctx context.Context, soft bool, fn func(*Tx) error) error {
	return describe(db.engine.write(ctx, manner{soft: soft, frees: true}, fn))
}

// Read runs fn on a read-only snapshot.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	return describe(db.engine.read(ctx, fn))
}

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return describe(db.engine.ping(ctx)) }

// Dialect tells which database this is.
func (db *DB) Dialect() Dialect { return db.dialect }

// Migrations are the numbers of the schema changes the database has been through.
func (db *DB) Migrations() []int64 { return slices.Clone(db.applied) }

// Missing counts the schema changes of this program that it has not.
func (db *DB) Missing() (int, error) {
	known, err := knownMigrations(db.dialect)
	return len(without(known, db.applied)), err
}

// Close waits for writes under way and closes the database.
func (db *DB) Close() error { return db.engine.close() }

// String names the database without its password.
func (db *DB) String() string { return Redact(db.url) }

// Redact removes the password from a database URL.
func Redact(target string) string {
	if !IsPostgres(target) {
		return target
	}
	u, err := url.Parse(target)
	if err != nil {
		return "postgres://…"
	}
	return fmt.Sprintf("postgres://%s%s", u.Host, u.Path)
}

// Check reads the whole database and reports damage.
func (db *DB) Check(ctx context.Context) error {
	return db.Read(ctx, func(tx *Tx) error {
		if db.dialect == Postgres {
			var one int
			return tx.QueryRow(`SELECT 1`).Scan(&one)
		}
		var verdict string
		if err := tx.QueryRow(`PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" {
			return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
		}
		return nil
	})
}
