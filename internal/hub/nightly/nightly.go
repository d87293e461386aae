// Package nightly makes backups by itself: one every so often, by one hub of a cluster,
// tried before it counts, and the oldest removed when there are enough.
//
//	n := &nightly.Backups{Folder: "/var/backups/parley", Every: 24 * time.Hour, Keep: 7, …}
//	n.Run(ctx)
//
// When the last one was made stands in the database, so that hubs with folders of their own
// agree about it. A backup that could not be made or does not come back as it was is tried again
// after a while; what was there before stays until there is a better one.
package nightly

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"parley.internal/internal/durable"
	"parley.internal/internal/lease"
	"parley.internal/internal/pause"
	"parley.internal/internal/store"
)

const (
	// look is how often the time is compared, and how soon a failed backup is tried again.
	look = time.Minute
	// leaseName keeps two hubs from making the same backup.
	leaseName = "backup.nightly"
	// setting is when the last good one was made, in Unix microseconds.
	setting = "nightly_backup"
	pattern = "parley-*.tar.gz"
)

// Backups is what is made when, and how.
type Backups struct {
	Folder string
	Every  time.Duration
	Keep   int
	DB     *store.DB
	Leases *lease.Leases
	// Make writes a backup; Verify tells whether one comes back as it was.
	Make   func(context.Context, io.Writer) error
	Verify func(context.Context, io.Reader) error
	Logger *slog.Logger

	last atomic.Int64
	fail atomic.Int64
}

// Last is when the last good backup was made, by any hub; zero if there is none yet.
func (b *Backups) Last() time.Time { return store.Time(b.last.Load()) }

// Failures counts backups that failed here.
func (b *Backups) Failures() int64 { return b.fail.Load() }

// Run makes backups until ctx ends.
func (b *Backups) Run(ctx context.Context) {
	for {
		if err := b.whenDue(ctx); err != nil && ctx.Err() == nil {
			b.fail.Add(1)
			b.Logger.Error("no backup was made", "folder", b.Folder, "error", err)
		}
		if pause.For(ctx, look) != nil {
			return
		}
	}
}

// whenDue makes a backup if it is time for one and no other hub does.
func (b *Backups) whenDue(ctx context.Context) error {
	if due, err := b.due(ctx); err != nil || !due {
		return err
	}
	l, err := b.Leases.Acquire(ctx, leaseName)
	if _, held := errors.AsType[*lease.HeldError](err); held {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Release(context.WithoutCancel(ctx)) }()
	if due, err := b.due(ctx); err != nil || !due { // another hub was faster
		return err
	}
	made := time.Now()
	if err := b.write(ctx, made); err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *store.Tx) error {
		if err := l.Check(tx); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			setting, strconv.FormatInt(store.Micros(made), 10))
		return err
	})
	if err != nil {
		return err
	}
	b.last.Store(store.Micros(made))
	return b.prune()
}

func (b *Backups) due(ctx context.Context) (bool, error) {
	var text string
	err := b.DB.Read(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(`SELECT value FROM settings WHERE name = ?`, setting).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, err
	}
	last, _ := strconv.ParseInt(text, 10, 64) // ours; anything else is no backup
	b.last.Store(last)
	return time.Since(store.Time(last)) >= b.Every, nil
}

// write makes one, tries it, and gives it its name.
func (b *Backups) write(ctx context.Context, made time.Time) (err error) {
	if err := os.MkdirAll(b.Folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.Folder, ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed away when all is well
	if err = b.Make(ctx, f); err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil && b.Verify != nil {
		err = b.Verify(ctx, f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	name := filepath.Join(b.Folder, "parley-"+made.UTC().Format("2006-01-02T150405")+".tar.gz")
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	b.Logger.Info("a backup was made", "file", name)
	return durable.Folder(b.Folder)
}

// prune removes the oldest. Names sort by their time; files of other names are somebody's.
func (b *Backups) prune() error {
	list, err := filepath.Glob(filepath.Join(b.Folder, pattern))
	if err != nil {
		return err
	}
	slices.Sort(list)
	for _, old := range list[:max(0, len(list)-b.Keep)] {
		if err := os.Remove(old); err != nil {
			return fmt.Errorf("an old backup stays: %w", err)
		}
	}
	return nil
}
