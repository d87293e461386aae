package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley.internal/internal/durable"
)

// ErrNotEmpty says that a dump may only be loaded into a new database.
var ErrNotEmpty = errors.New("the database is not empty")

// ErrBadDump says that a stream is not a complete dump.
var ErrBadDump = errors.New("not a complete parley dump")

// Load makes a new database at target from a dump and brings it to this program's
// schema. All of it happens or nothing: after a failure, or when this process is
// killed, the target is as it was. Until somebody has opened the new database with
// Open it may be replaced by another Load, so that a restore that was cut off after
// it can be done again.
func Load(ctx context.Context, target string, r io.Reader, opts Options) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	var head dumpHead
	if err := dec.Decode(&head); err != nil || (head.Format != dumpFormat && head.Format != dumpFormatOld) {
		return fmt.Errorf("%w: it does not begin with %q", ErrBadDump, dumpFormat)
	}
	load := func(tx *Tx) error {
		if err := makeRoom(tx, target); err != nil {
			return err
		}
		if err := (&loader{tx: tx, dec: dec, old: head.Format == dumpFormatOld}).run(head); err != nil || opts.AfterLoad == nil {
			return err
		}
		return opts.AfterLoad(tx)
	}
	if IsPostgres(target) {
		return describe(loadPostgres(ctx, target, opts.withDefaults(), load))
	}
	return describe(loadSQLite(ctx, strings.TrimPrefix(target, "sqlite:"), opts.withDefaults(), load))
}

func loadPostgres(ctx context.Context, target string, opts Options, load func(*Tx) error) error {
	e, err := newPostgres(target, opts)
	if err != nil {
		return err
	}
	return errors.Join(e.alone(ctx, load), e.close())
}

// loadSQLite makes the file beside its place and renames it.
func loadSQLite(ctx context.Context, path string, opts Options, load func(*Tx) error) error {
	if err := checkReplaceable(ctx, path, opts); err != nil {
		return err
	}
	made := path + ".restoring"
	defer removeSQLite(made)
	removeSQLite(made) // one that was killed may have left it
	if err := newFile(made); err != nil {
		return err
	}
	// Nothing of the file is needed unless all of it is there: no log is kept beside it.
	e := &liteEngine{closed: make(chan struct{})}
	if err := e.openWriter(made, "journal_mode(OFF)", "synchronous(OFF)", "cache_size(-65536)"); err != nil {
		return err
	}
	if err := errors.Join(e.alone(ctx, load), e.close()); err != nil {
		return err
	}
	if err := durable.File(made); err != nil {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(path))
}

// checkReplaceable lets only a file pass that holds nothing anybody has used.
func checkReplaceable(ctx context.Context, path string, opts Options) error {
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil
	}
	opts.KeepVersion = true
	db, err := openSQLite(ctx, path, opts)
	if err != nil {
		return err
	}
	err = db.Read(ctx, func(tx *Tx) error {
		_, err := emptyOrUnused(tx, path)
		return err
	})
	return errors.Join(err, db.Close())
}

func removeSQLite(path string) {
	for _, tail := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + tail)
	}
}

// loadedMark is a setting in a database that was loaded and never opened since.
const loadedMark = "store.loaded"

func markLoaded(tx *Tx) error {
	_, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, 'and not used yet')`, loadedMark)
	return err
}

func forgetLoad(tx *Tx) error {
	_, err := tx.Exec(`DELETE FROM settings WHERE name = ?`, loadedMark)
	return err
}

// emptyOrUnused refuses a database that somebody uses, and tells whether one has
// something in it that nobody does.
func emptyOrUnused(tx *Tx, target string) (unused bool, err error) {
	applied, err := appliedMigrations(tx)
	if err != nil || len(applied) == 0 {
		return false, err
	}
	if slices.Contains(applied, 1) { // the first migration makes the settings
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM settings WHERE name = ?`, loadedMark).Scan(&n); err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, fmt.Errorf("%w: %s", ErrNotEmpty, Redact(target))
}

// makeRoom removes what an earlier Load left and nobody used. Tables that no
// migration makes belong to somebody else.
func makeRoom(tx *Tx, target string) error {
	unused, err := emptyOrUnused(tx, target)
	if err != nil || !unused {
		return err
	}
	known, err := knownMigrations(tx.dialect)
	if err != nil {
		return err
	}
	names := []string{"goose_db_version"}
	for _, m := range known {
		names = append(names, m.tables()...)
	}
	for _, table := range names {
		if _, err := tx.Exec(`DROP TABLE IF EXISTS ` + table); err != nil {
			return err
		}
	}
	return nil
}
