package upgrade_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/internal/release"
	"parley.internal/internal/upgrade"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// archived writes an archive of a release.
func archived(t *testing.T, path string, files map[string]string) {
	t.Helper()
	out, err := os.Create(path)
	check(t, err)
	zipped := gzip.NewWriter(out)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		check(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		check(t, err)
	}
	check(t, errors.Join(w.Close(), zipped.Close(), out.Close()))
}

// world is a hub with the version 1.0.0 in a folder, and a release 1.1.0.
type world struct {
	t                   *testing.T
	plan                upgrade.Plan
	steps               []string
	unready, unreadable string // versions that do not get up, or cannot read the backup
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t}
	public, private, err := ed25519.GenerateKey(nil)
	check(t, err)
	w.plan = upgrade.Plan{
		Release: filepath.Join(dir, "release"), Keys: []ed25519.PublicKey{public}, Platform: "linux-amd64", Version: "1.0.0",
		Home: filepath.Join(dir, "lib"), Data: filepath.Join(dir, "data"), BackupFile: filepath.Join(dir, "backup.tar.gz"),
		Hub: w, Say: func(string, ...any) {},
	}
	for _, folder := range []string{w.plan.Release, w.plan.Home, w.plan.Data} {
		check(t, os.Mkdir(folder, 0o700))
	}
	w.write(filepath.Join(w.plan.Home, "parley"), "1.0.0")
	w.write(filepath.Join(w.plan.Data, "parley.db"), "rows of 1.0.0")
	w.write(filepath.Join(w.plan.Data, "parley.db-wal"), "and more")
	archived(t, filepath.Join(w.plan.Release, "parley-1.1.0-linux-amd64.tar.gz"), map[string]string{
		"parley-1.1.0-linux-amd64/parley": "1.1.0", "parley-1.1.0-linux-amd64/endpoints/programs.json": "{}",
	})
	w.write(filepath.Join(w.plan.Release, "parley-endpoint-linux-amd64"), "an endpoint")
	check(t, release.SignFolder(w.plan.Release, private))
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	check(w.t, os.WriteFile(path, []byte(text), 0o700))
}

func (w *world) read(path string) string {
	w.t.Helper()
	text, err := os.ReadFile(path)
	check(w.t, err)
	return string(text)
}

func (w *world) did(step string) error { w.steps = append(w.steps, step); return nil }

func (w *world) Backup(_ context.Context, file string) error {
	w.write(file, "the backup")
	return w.did("backup")
}

func (w *world) Try(_ context.Context, program, _ string) error {
	if w.read(program) == w.unreadable {
		return errors.New("no")
	}
	return w.did("try " + w.read(program))
}

func (w *world) Stop(context.Context) error { return w.did("stop") }

// Start is a program that changes the database as soon as it runs, ready or not.
func (w *world) Start(context.Context) error {
	running := w.read(filepath.Join(w.plan.Home, "parley"))
	if running != "1.0.0" {
		w.write(filepath.Join(w.plan.Data, "parley.db"), "changed by "+running)
		check(w.t, os.Remove(filepath.Join(w.plan.Data, "parley.db-wal")))
	}
	return w.did("start " + running)
}

func (w *world) Ready(context.Context) error {
	if w.read(filepath.Join(w.plan.Home, "parley")) == w.unready {
		return errors.New("not ready")
	}
	return w.did("ready")
}

func (w *world) wantSteps(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.steps, want) {
		w.t.Errorf("it went %q, want %q", w.steps, want)
	}
}

// asBefore says that program and data are those of the old version.
func (w *world) asBefore() {
	w.t.Helper()
	for path, want := range map[string]string{"lib/parley": "1.0.0", "data/parley.db": "rows of 1.0.0", "data/parley.db-wal": "and more"} {
		if got := w.read(filepath.Join(w.plan.Home, "..", path)); got != want {
			w.t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if _, err := os.Stat(w.plan.Home + ".new"); err == nil {
		w.t.Error("the new program was left unpacked")
	}
}

func TestAnUpgradeIsBackedUpTriedAndReady(t *testing.T) {
	w := newWorld(t)
	check(t, w.plan.Run(t.Context()))
	w.wantSteps("backup", "try 1.1.0", "stop", "start 1.1.0", "ready")
	if got := w.read(filepath.Join(w.plan.Home, "parley")); got != "1.1.0" {
		t.Errorf("the program is %s", got)
	}
	if got := w.read(filepath.Join(w.plan.Home, "endpoints", "programs.json")); got != "{}" {
		t.Errorf("what comes beside it is %q", got)
	}
	for _, left := range []string{w.plan.Home + ".old", w.plan.Home + ".new", filepath.Join(w.plan.Data, "before-upgrade")} {
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s was left", left)
		}
	}
}

// A newer program had changed the database before it failed, and the older one refused it.
func TestAProgramThatDoesNotGetUpGivesWayToTheOldOne(t *testing.T) {
	w := newWorld(t)
	w.unready = "1.1.0"
	if err := w.plan.Run(t.Context()); !errors.Is(err, upgrade.ErrRolledBack) {
		t.Fatalf("it ends with %v", err)
	}
	w.wantSteps("backup", "try 1.1.0", "stop", "start 1.1.0", "stop", "start 1.0.0", "ready")
	w.asBefore()
}

func TestNothingIsTouchedByAReleaseThatIsNoUpgrade(t *testing.T) {
	stranger, strangersKey, err := ed25519.GenerateKey(nil)
	check(t, err)
	for name, c := range map[string]struct {
		spoil func(w *world)
		want  string
		steps []string
	}{
		"an older one":     {func(w *world) { w.plan.Version = "1.2.0" }, "not newer", nil},
		"the same":         {func(w *world) { w.plan.Version = "1.1.0" }, "not newer", nil},
		"another system":   {func(w *world) { w.plan.Platform = "linux-arm64" }, "nothing for linux-arm64", nil},
		"another's key":    {func(w *world) { w.plan.Keys = []ed25519.PublicKey{stranger} }, "not signed", nil},
		"a changed file":   {func(w *world) { w.write(filepath.Join(w.plan.Release, "parley-1.1.0-linux-amd64.tar.gz"), "x") }, "not the file", nil},
		"an unread backup": {func(w *world) { w.unreadable = "1.1.0" }, "does not read", []string{"backup"}},
		"one that leads elsewhere": {func(w *world) {
			archived(w.t, filepath.Join(w.plan.Release, "parley-1.1.0-linux-amd64.tar.gz"), map[string]string{"parley-1.1.0-linux-amd64/../../evil": "x"})
			check(w.t, release.SignFolder(w.plan.Release, strangersKey))
			w.plan.Keys = []ed25519.PublicKey{stranger}
		}, "leads elsewhere", nil},
	} {
		w := newWorld(t)
		c.spoil(w)
		if err := w.plan.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		w.wantSteps(c.steps...)
		w.asBefore()
	}
}
