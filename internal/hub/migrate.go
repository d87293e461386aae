package hub

import (
	"context"
	"errors"
	"io"

	"parley.internal/internal/hub/config"
	"parley.internal/internal/store"
)

// Migrated is what a move to another database came to.
type Migrated struct {
	To     string `json:"to"`
	Tables int    `json:"tables"`
	Rows   int64  `json:"rows"`
	// Problems are tables that did not arrive as they were.
	Problems []string `json:"problems"`
}

// Migration says what is moved where.
type Migration struct {
	To string
	// Switch has the data folder's settings name the new database.
	Switch bool
	// Progress is told how many rows of a table were read.
	Progress func(table string, rows int64)
}

// Migrate copies the SQLite database of a data folder into an empty PostgreSQL, row by row
// and in one transaction, reads all of it again, and compares the tables by the number and
// the sums of their rows. The source is only read. As long as no hub has been started on
// the new database it can be done again.
func Migrate(ctx context.Context, conf config.Config, m Migration) (out Migrated, err error) {
	folder := Folder(conf.Data)
	if conf.DB != "" {
		return out, errors.New("this hub uses PostgreSQL already; a move to another server is a backup and a restore")
	}
	if !store.IsPostgres(m.To) {
		return out, errors.New("--to is a PostgreSQL address, such as postgres://parley:PASSWORD@db.example.org/parley")
	}
	if !hasDatabase(conf) {
		return out, errors.New("there is no database in " + conf.Data)
	}
	unlock, err := folder.lockSoon() // who moves while somebody writes leaves something behind
	if err != nil {
		return out, err
	}
	defer unlock()
	was, err := copyDatabase(ctx, conf.Database(), m)
	if err != nil {
		return out, err
	}
	is, err := tallyOf(ctx, m.To)
	if err != nil {
		return out, err
	}
	out = Migrated{To: store.Redact(m.To), Tables: len(was), Problems: compareTables(was, is, "the source")}
	for _, t := range was {
		out.Rows += t.rows
	}
	if len(out.Problems) == 0 && m.Switch {
		err = rememberDatabase(folder, m.To)
	}
	return out, err
}

// copyDatabase loads a dump while it is written, and says what was in it.
func copyDatabase(ctx context.Context, from string, m Migration) (map[string]tally, error) {
	db, err := store.Open(ctx, from, store.Options{KeepVersion: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	tallied := newTallier()
	tallied.progress = m.Progress
	r, w := io.Pipe()
	dumped := make(chan error, 1)
	go func() {
		err := db.Dump(ctx, w)
		dumped <- errors.Join(err, w.CloseWithError(err))
	}()
	err = store.Load(ctx, m.To, io.TeeReader(r, tallied), store.Options{AfterLoad: func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM hubs`) // who lived on the source does not live here
		return err
	}})
	_ = r.CloseWithError(err) // so that a dump that nobody reads any more ends
	if failed := <-dumped; err == nil {
		err = failed
	}
	return tallied.tables, err
}

// tallyOf reads all of a database.
func tallyOf(ctx context.Context, target string) (map[string]tally, error) {
	db, err := store.Open(ctx, target, store.Options{KeepVersion: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	now := newTallier()
	err = db.Dump(ctx, now)
	return now.tables, err
}
