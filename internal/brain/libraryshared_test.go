package brain_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"parley.internal/internal/brain"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// shared opens the library of one hub of a cluster, with a folder of its own.
func shared(t *testing.T, db *store.DB, b bus.Bus, files map[string]string) (*brain.Library, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name+".md"), text)
	}
	l, err := brain.OpenSharedLibrary(dir, db, b, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

// watched runs a library's watch; the function waits until want is true.
func watched(t *testing.T, l *brain.Library) (until func(want func() bool)) {
	t.Helper()
	changed := make(chan struct{}, 256)
	cancel := l.Subscribe(func() { changed <- struct{}{} })
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Watch(ctx) })
	t.Cleanup(func() { stop(); wg.Wait(); cancel() })
	return func(want func() bool) {
		t.Helper()
		for !want() {
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatal("it never happened")
			}
		}
	}
}

func prompt(l *brain.Library, name string) string {
	a, err := l.Get(name)
	if err != nil {
		return ""
	}
	return a.Prompt
}

func TestAChangeOnOneHubCountsOnTheOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		local := bus.NewLocal()
		t.Cleanup(func() { _ = local.Close() })
		peer := local.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		one, dir := shared(t, db, local, nil)
		two, _ := shared(t, db, peer, nil)
		untilTwo, untilOne := watched(t, two), watched(t, one)
		ctx := t.Context()

		if _, err := one.Create(ctx, identity.Hub(), "a", []byte(`{"prompt":"first"}`)); err != nil {
			t.Fatal(err)
		}
		untilTwo(func() bool { return prompt(two, "a") == "first" })
		if _, err := two.Update(ctx, identity.Hub(), "a", []byte(`{"prompt":"second"}`)); err != nil {
			t.Fatal(err)
		}
		untilOne(func() bool { return prompt(one, "a") == "second" })
		if _, err := two.Create(ctx, identity.Hub(), "a", []byte(`{}`)); !errors.Is(err, brain.ErrAgentExists) {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Error("the folder was written to", left)
		}
		if err := one.Delete(ctx, identity.Hub(), "a"); err != nil {
			t.Fatal(err)
		}
		untilTwo(func() bool { return len(two.List()) == 0 })
		if err := two.Delete(ctx, identity.Hub(), "a"); !errors.Is(err, brain.ErrNoAgent) {
			t.Error(err)
		}
	})
}

func TestFilesOfTheFolderAreTakenOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		local := bus.NewLocal()
		t.Cleanup(func() { _ = local.Close() })
		one, dir := shared(t, db, local, map[string]string{"a": "from a file", "broken": "---\nmodell: x\n---\n"})
		two, _ := shared(t, db, local, nil)
		if prompt(two, "a") != "from a file" || len(two.List()) != 1 {
			t.Fatalf("the other hub has %v", two.List())
		}
		if e, err := one.Entry("broken"); err != nil || e.Err == nil || e.Agent != nil {
			t.Errorf("a broken file shows %+v, %v", e, err)
		}
		if _, err := one.Update(t.Context(), identity.Hub(), "a", []byte(`{"prompt":"edited"}`)); err != nil {
			t.Fatal(err)
		}
		// The hub starts again with the old file in its folder.
		again, err := brain.OpenSharedLibrary(dir, db, local, slog.New(slog.DiscardHandler))
		if err != nil || prompt(again, "a") != "edited" {
			t.Fatalf("an old file came back: %q %v", prompt(again, "a"), err)
		}
		write(t, filepath.Join(dir, "a.md"), "changed file")
		write(t, filepath.Join(dir, "broken.md"), "mended")
		if err := again.Reload(); err != nil {
			t.Fatal(err)
		}
		if err := two.Reload(); err != nil || prompt(two, "a") != "changed file" || prompt(two, "broken") != "mended" {
			t.Errorf("a changed file was not taken over: %v %v", two.List(), err)
		}
		write(t, filepath.Join(dir, "a.md"), "---\nthinking: deep\n---\nx")
		if err := again.Reload(); err != nil {
			t.Fatal(err)
		}
		if e, _ := again.Entry("a"); e.Err == nil || prompt(again, "a") != "changed file" {
			t.Errorf("a file that broke: %+v", e)
		}
		write(t, filepath.Join(dir, "a.md"), "changed file")
		if err := again.Reload(); err != nil {
			t.Fatal(err)
		}
		if e, _ := again.Entry("a"); e.Err != nil {
			t.Errorf("the mistake stays: %+v", e)
		}
	})
}

func TestTheFirstAgentsComeOnceForAllHubs(t *testing.T) {
	db := storetest.SQLite(t)
	local := bus.NewLocal()
	t.Cleanup(func() { _ = local.Close() })
	for start := range 2 {
		l, _ := shared(t, db, local, nil)
		if err := l.EnsureDefaults(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := 2 - 2*start; len(l.List()) != want {
			t.Fatalf("start %d has %v", start, l.List())
		}
		for _, e := range l.List() {
			if err := l.Delete(t.Context(), identity.Hub(), e.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTwoHubsEditOneAgentAtOnce(t *testing.T) {
	db := storetest.Postgres(t)
	local := bus.NewLocal()
	t.Cleanup(func() { _ = local.Close() })
	one, _ := shared(t, db, local, map[string]string{"a": "x"})
	two, _ := shared(t, db, local, nil)
	var wg sync.WaitGroup
	for l, config := range map[*brain.Library]string{one: `{"max_iterations":7}`, two: `{"description":"said"}`} {
		wg.Go(func() {
			if _, err := l.Update(t.Context(), identity.Hub(), "a", []byte(config)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := one.Reload(); err != nil {
		t.Fatal(err)
	}
	if a, err := one.Get("a"); err != nil || a.MaxIterations != 7 || a.Description != "said" {
		t.Errorf("an edit was lost: %+v %v", a, err)
	}
}
