package nightly_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/hub/nightly"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hub is one of those that could make backups.
func hub(t *testing.T, db *store.DB, folder, name string, work func() error) *nightly.Backups {
	t.Helper()
	leases, err := lease.Join(t.Context(), db, name, lease.Options{TTL: time.Hour}) // few renewals in days of fake time
	if err != nil {
		t.Fatal(err)
	}
	n := &nightly.Backups{
		Folder: folder, Every: 24 * time.Hour, Keep: 3, DB: db, Leases: leases, Logger: slog.New(slog.DiscardHandler),
		Make: func(_ context.Context, w io.Writer) error {
			if err := work(); err != nil {
				return err
			}
			_, err := io.WriteString(w, name)
			return err
		},
		Verify: func(_ context.Context, r io.Reader) error {
			text, err := io.ReadAll(r)
			if err == nil && string(text) != name {
				err = errors.New("it is not what was written")
			}
			return err
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	var runs sync.WaitGroup
	runs.Go(func() { n.Run(ctx) })
	t.Cleanup(func() { // in the bubble: what was begun is ended
		stop()
		runs.Wait()
		_ = leases.Close(context.WithoutCancel(t.Context()))
	})
	return n
}

func backups(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "parley-*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOneBackupADayByOneHubAndTheOldestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, folder := storetest.SQLite(t), t.TempDir()
		var mu sync.Mutex
		made := 0
		count := func() error {
			mu.Lock()
			defer mu.Unlock()
			made++
			return nil
		}
		if err := os.WriteFile(filepath.Join(folder, "parley-notes.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a := hub(t, db, folder, "a", count)
		hub(t, db, folder, "b", count)
		<-time.After(5*24*time.Hour + time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if list := backups(t, folder); made != 6 || len(list) != 3 {
			t.Errorf("after five days two hubs made %d backups, and %v are there; want one a day and the last three", made, list)
		}
		if age := time.Since(a.Last()); age > 2*time.Hour {
			t.Errorf("the last backup is said to be %v old", age)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".new-*")); len(left) != 0 {
			t.Errorf("half backups are left: %v", left)
		}
		if _, err := os.Stat(filepath.Join(folder, "parley-notes.txt")); err != nil {
			t.Errorf("somebody's file is gone: %v", err)
		}
	})
}

func TestABackupThatFailsIsTriedAgainAndCostsNoneOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, folder := storetest.SQLite(t), t.TempDir()
		old := filepath.Join(folder, "parley-1999-12-01T000000.tar.gz")
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		tries := 0
		n := hub(t, db, folder, "a", func() error {
			if tries++; tries < 4 {
				return errors.New("the disk is full")
			}
			return nil
		})
		<-time.After(150 * time.Second)
		if list := backups(t, folder); len(list) != 1 || list[0] != old || n.Failures() != 3 {
			t.Errorf("after %d failures there are %v, want the old one", n.Failures(), list)
		}
		<-time.After(time.Hour)
		if list := backups(t, folder); len(list) != 2 || tries != 4 || !strings.HasPrefix(list[0], old) {
			t.Errorf("after %d tries there are %v, want the old one and a new one", tries, list)
		}
	})
}
