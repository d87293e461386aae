package identity_test

import (
	"context"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) {
	trailtest.Main(m, "token.", "person.", "page.", "passkey.", "link.", "device.")
}

// trail records audit entries in memory.
type trail struct {
	audit.Nowhere
	entries []audit.Entry
}

func (r *trail) AppendTx(_ *store.Tx, entries ...audit.Entry) error {
	r.entries = append(r.entries, entries...)
	return nil
}

// world is a directory with its owner.
type world struct {
	*identity.Directory
	db    *store.DB
	owner identity.Actor
	// secret is the owner's token.
	secret string
}

// open starts a directory on db that ends with the test.
func open(t *testing.T, db *store.DB, b bus.Bus, opts identity.Options) *identity.Directory {
	t.Helper()
	opts.Audit = trailtest.Watch(opts.Audit)
	dir, err := identity.Open(t.Context(), db, b, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Errorf("closing the directory: %v", err)
		}
	})
	return dir
}

func newBus(t *testing.T) *bus.Local {
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func newWorld(t *testing.T, db *store.DB) *world { return newWorldWith(t, db, identity.Options{}) }

// patient rechecks rarely, for tests that let months go by.
var patient = identity.Options{Recheck: 24 * time.Hour}

func newWorldWith(t *testing.T, db *store.DB, opts identity.Options) *world {
	t.Helper()
	return newWorldOn(t, db, newBus(t), opts)
}

func newWorldOn(t *testing.T, db *store.DB, b bus.Bus, opts identity.Options) *world {
	t.Helper()
	w := &world{db: db, Directory: open(t, db, b, opts)}
	first, err := w.Bootstrap(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	w.secret = first.Secret
	w.owner = w.mustAuthenticate(t, first.Secret)
	return w
}

func (w *world) mustAuthenticate(t *testing.T, secret string) identity.Actor {
	t.Helper()
	s, err := w.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatalf("authenticating: %v", err)
	}
	return s
}

func (w *world) token(t *testing.T, by identity.Actor, req identity.TokenRequest) identity.Issued {
	t.Helper()
	issued, err := w.CreateToken(t.Context(), by, req)
	if err != nil {
		t.Fatalf("creating a token: %v", err)
	}
	return issued
}

// each runs a test with a world on both databases.
func each(t *testing.T, run func(t *testing.T, w *world)) {
	storetest.Each(t, func(t *testing.T, db *store.DB) { run(t, newWorld(t, db)) })
}

// must is a value that could be had.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantReason(t *testing.T, err error, want identity.Reason) {
	t.Helper()
	if got := identity.ReasonOf(err); got != want {
		t.Errorf("refused with %q (%v), want %q", got, err, want)
	}
}

func exec(t *testing.T, db *store.DB, query string, args ...any) {
	t.Helper()
	err := db.Write(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
