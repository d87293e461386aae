// Package trailtest holds a package's tests to the actions of the audit trail that are
// its own: each of them must be written at least once while they run.
//
//	func TestMain(m *testing.M) { trailtest.Main(m, "room.") }
//
//	deps := room.Deps{Trail: trailtest.WatchTrail(log), …}
//
// An action that nobody writes is documented in vain, and one that stops being written
// is a hole in the record that no other test sees.
package trailtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/test/archtest"
)

// seen are the actions written in this test process.
var seen sync.Map

// Watch is the recorder, watched; nil keeps nothing.
func Watch(r audit.Recorder) audit.Recorder {
	if r == nil {
		r = audit.Nowhere{}
	}
	return watched{r}
}

// WatchTrail is Watch for a trail that is asked too.
func WatchTrail(t audit.Trail) audit.Trail { return watchedTrail{watched{t}, t} }

type watched struct{ audit.Recorder }

func (w watched) Note(entries ...audit.Entry) {
	look(entries)
	w.Recorder.Note(entries...)
}

func (w watched) Append(ctx context.Context, entries ...audit.Entry) error {
	look(entries)
	return w.Recorder.Append(ctx, entries...)
}

func (w watched) AppendTx(tx *store.Tx, entries ...audit.Entry) error {
	look(entries)
	return w.Recorder.AppendTx(tx, entries...)
}

type watchedTrail struct {
	watched
	trail audit.Trail
}

func (w watchedTrail) Query(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return w.trail.Query(ctx, f)
}

func look(entries []audit.Entry) {
	for _, e := range entries {
		seen.Store(string(e.Action), true)
	}
}

// Main runs the tests, looks for goroutines they left, and for actions with one of the
// beginnings that none of them had written; those with a "!" before them are another
// package's. Some of the tests alone prove nothing.
func Main(m *testing.M, beginnings ...string) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if missing := unwritten(beginnings); code == 0 && all() && len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: no test here had these actions written into the trail: %s\n", strings.Join(missing, ", "))
			code = 1
		}
		os.Exit(code)
	}))
}

// all reports whether every test ran.
func all() bool {
	for _, name := range []string{"test.run", "test.skip", "test.fuzz", "test.list", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

func unwritten(beginnings []string) []string {
	list, err := archtest.Actions(filepath.Join(root(), "internal", "audit", "actions.go"))
	if err != nil {
		return []string{err.Error()}
	}
	var missing []string
	for _, a := range list {
		mine := slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(a.Name, b) }) && !slices.Contains(beginnings, "!"+a.Name)
		if _, written := seen.Load(a.Name); mine && !written {
			missing = append(missing, a.Name)
		}
	}
	return missing
}

// root is the folder of go.mod: tests run in the folder of their package.
func root() string {
	dir := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join(dir, "..")
	}
	return "."
}
