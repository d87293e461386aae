package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the database up to this program's schema and returns its
// version. It refuses one from the future without touching it.
func migrate(ctx context.Context, conn *sql.DB, dialect Dialect, opts Options) (int64, error) {
	provider, err := newProvider(conn, dialect)
	if err != nil {
		return 0, err
	}
	known := newest(provider)
	version, err := currentVersion(ctx, conn, dialect, provider)
	if err != nil {
		return 0, err
	}
	if version > known {
		return version, fmt.Errorf("%w: its schema is version %d, this program knows %d; use the newer program or restore a backup", ErrNewer, version, known)
	}
	if opts.KeepVersion {
		return version, nil
	}
	if opts.upTo > known {
		return version, fmt.Errorf("%w: the dump has schema %d, this program knows %d", ErrNewer, opts.upTo, known)
	}
	if opts.upTo > 0 {
		known = opts.upTo
	}
	if _, err := provider.UpTo(ctx, known); err != nil {
		return version, fmt.Errorf("migrating the database: %w", err)
	}
	return known, nil
}

func newProvider(conn *sql.DB, dialect Dialect) (*goose.Provider, error) {
	dir, err := fs.Sub(migrations, "migrations/"+string(dialect))
	if err != nil {
		return nil, err
	}
	kind := goose.DialectSQLite3
	if dialect == Postgres {
		kind = goose.DialectPostgres
	}
	return goose.NewProvider(kind, conn, dir, goose.WithVerbose(false))
}

func newest(p *goose.Provider) int64 {
	var version int64
	for _, source := range p.ListSources() {
		version = max(version, source.Version)
	}
	return version
}

// currentVersion reads the version without creating goose's table, so that a
// database which is refused stays as it was.
func currentVersion(ctx context.Context, conn *sql.DB, dialect Dialect, p *goose.Provider) (int64, error) {
	exists := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`
	if dialect == Postgres {
		exists = `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'goose_db_version'`
	}
	var n int
	if err := conn.QueryRowContext(ctx, exists).Scan(&n); err != nil {
		return 0, describe(err)
	}
	if n == 0 {
		return 0, nil
	}
	return p.GetDBVersion(ctx)
}
