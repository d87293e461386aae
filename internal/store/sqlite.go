package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// liteEngine is SQLite: one session writes (see writer), some read.
type liteEngine struct {
	writePool, readPool *sql.DB
	writer              *writer
	tidy                *checkpointer
	readers             chan *session
	size                int
	closed              chan struct{}
}

func openSQLite(ctx context.Context, path string, opts Options) (*DB, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	e := &liteEngine{size: opts.Readers, closed: make(chan struct{})}
	applied, err := e.open(ctx, path, opts)
	if err != nil {
		_ = e.close()
		return nil, fmt.Errorf("opening %s: %w", path, describe(err))
	}
	return &DB{engine: e, dialect: SQLite, url: "sqlite:" + path, applied: applied}, nil
}

// checkFile refuses a file that is not a SQLite database before the driver can
// touch it.
func checkFile(path string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return newFile(path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if n < len(head) || !bytes.Equal(head, []byte("SQLite format 3\x00")) {
		return fmt.Errorf("%w: %s is not a SQLite file; restore a backup with 'parley restore'", ErrCorrupt, path)
	}
	return nil
}

// newFile makes the database for its owner only; the driver would let others
// read it, and its log files take over the rights of the database.
func newFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return f.Close()
}

func liteDSN(path string, pragmas ...string) string {
	q := url.Values{}
	for _, p := range append([]string{"busy_timeout(10000)", "foreign_keys(ON)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

func (e *liteEngine) open(ctx context.Context, path string, opts Options) ([]int64, error) {
	err := e.openWriter(path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-65536)", "wal_autocheckpoint(16000)")
	if err != nil {
		return nil, err
	}
	applied, err := migrate(ctx, SQLite, opts, e.look, e.alone)
	if err != nil {
		return nil, err
	}
	main, err := newSession(ctx, e.writePool)
	if err != nil {
		return nil, err
	}
	tidyPool, err := sql.Open("sqlite", liteDSN(path, "synchronous(FULL)", "cache_size(-1024)"))
	if err != nil {
		return nil, errors.Join(err, main.close())
	}
	tidyPool.SetMaxOpenConns(1)
	e.tidy = startCheckpointer(tidyPool)
	e.writer = startWriter(main, e.tidy, reserve{path: path + "-reserve", size: opts.Reserve})
	return applied, e.openReaders(path)
}

func (e *liteEngine) openWriter(path string, pragmas ...string) (err error) {
	if e.writePool, err = sql.Open("sqlite", liteDSN(path, pragmas...)); err != nil {
		return err
	}
	e.writePool.SetMaxOpenConns(1)
	return nil
}

// alone runs fn in a transaction before anybody else uses the database.
func (e *liteEngine) alone(ctx context.Context, fn func(*Tx) error) error {
	return e.whole(ctx, "BEGIN IMMEDIATE", fn)
}

// look is alone for those who do not write: it waits for nobody.
func (e *liteEngine) look(ctx context.Context, fn func(*Tx) error) error {
	return e.whole(ctx, "BEGIN", fn)
}

func (e *liteEngine) whole(ctx context.Context, begin string, fn func(*Tx) error) (err error) {
	s, err := newSession(ctx, e.writePool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.run(begin); err != nil {
		return err
	}
	if err := fn(&Tx{ctx: ctx, dialect: SQLite, on: s}); err != nil {
		_ = s.run("ROLLBACK")
		return err
	}
	if err := s.run("COMMIT"); err != nil {
		_ = s.run("ROLLBACK")
		return err
	}
	return nil
}

// openReaders leaves the pool empty: a reader is connected when it is first needed.
func (e *liteEngine) openReaders(path string) error {
	var err error
	e.readPool, err = sql.Open("sqlite", liteDSN(path, "query_only(ON)", "cache_size(-16384)"))
	if err != nil {
		return err
	}
	e.readPool.SetMaxOpenConns(e.size)
	e.readers = make(chan *session, e.size)
	for range e.size {
		e.readers <- nil
	}
	return nil
}

func (e *liteEngine) write(ctx context.Context, how manner, fn func(*Tx) error) error {
	return e.writer.do(ctx, how, fn)
}

func (e *liteEngine) read(ctx context.Context, fn func(*Tx) error) error {
	s, err := e.borrow(ctx)
	if err != nil {
		return err
	}
	defer func() { e.readers <- s }()
	if s == nil {
		if s, err = newSession(ctx, e.readPool); err != nil {
			return err
		}
	}
	// Statements run without the caller's context: cancelling one in the middle
	// would interrupt the connection, and our reads are short.
	if err := s.run("BEGIN"); err != nil {
		return err
	}
	defer func() { _ = s.run("ROLLBACK") }()
	return fn(&Tx{ctx: context.WithoutCancel(ctx), dialect: SQLite, on: s})
}

func (e *liteEngine) borrow(ctx context.Context) (*session, error) {
	select {
	case s := <-e.readers:
		select {
		case <-e.closed:
			e.readers <- s
			return nil, ErrClosed
		default:
			return s, nil
		}
	case <-e.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *liteEngine) ping(ctx context.Context) error {
	return e.read(ctx, func(tx *Tx) error {
		var one int
		return tx.QueryRow("SELECT 1").Scan(&one)
	})
}

func (e *liteEngine) close() error {
	select {
	case <-e.closed:
		return nil
	default:
		close(e.closed)
	}
	var errs []error
	if e.tidy != nil {
		errs = append(errs, e.tidy.stop(), e.writer.stop())
	}
	if e.readers != nil {
		for range e.size {
			if s := <-e.readers; s != nil {
				errs = append(errs, s.close())
			}
		}
	}
	for _, pool := range []*sql.DB{e.readPool, e.writePool} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}
