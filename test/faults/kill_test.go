package faults_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
	"parley.internal/test/pgtest"
)

// acknowledged is what clients were told is done.
type acknowledged struct {
	mu            sync.Mutex
	made, revoked []string
}

func (a *acknowledged) add(made, revoked string) (total int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if made != "" {
		a.made = append(a.made, made)
	}
	if revoked != "" {
		a.revoked = append(a.revoked, revoked)
	}
	return len(a.made) + len(a.revoked)
}

// work makes tokens and revokes every second one until the hub is gone.
func (a *acknowledged) work(c *hubapi.Client, name string, seen func(total int)) {
	ctx := context.Background()
	for i := 0; ; i++ {
		made, err := hubapi.Call(ctx, c, rest.CreateToken, rest.TokenRequest{Name: fmt.Sprintf("%s-%d", name, i), Scopes: []string{"status:read"}})
		if err != nil {
			return
		}
		seen(a.add(made.ID, ""))
		if i%2 == 0 {
			continue
		}
		if _, err := hubapi.Call(ctx, c, rest.RevokeToken, rest.ByID{ID: made.ID}); err != nil {
			return
		}
		seen(a.add("", made.ID))
	}
}

// check looks for everything that was acknowledged, and at the trail.
func (a *acknowledged) check(t *testing.T, c *hubapi.Client) {
	t.Helper()
	tokens, err := hubapi.Call(t.Context(), c, rest.ListTokens, rest.None{})
	if err != nil {
		t.Fatal(err)
	}
	revoked := map[string]bool{}
	for _, token := range tokens.Tokens {
		revoked[token.ID] = !token.Revoked.IsZero()
	}
	for _, id := range a.made {
		if _, there := revoked[id]; !there {
			t.Errorf("token %s was acknowledged and is lost", id)
		}
	}
	for _, id := range a.revoked {
		if !revoked[id] {
			t.Errorf("the revocation of %s was acknowledged and is lost", id)
		}
	}
	report, err := hubapi.Call(t.Context(), c, rest.VerifyAudit, rest.None{})
	if err != nil || !report.OK || report.Entries < int64(len(a.made)+len(a.revoked)) {
		t.Errorf("the trail: %+v, %v", report, err)
	}
}

func TestKill9LosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"sqlite": nil, "postgres": {"--db", pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			h := hubtest.Start(t, hubtest.Config{Args: args})
			acked := &acknowledged{}
			for round := 1; round <= 2; round++ {
				var clients sync.WaitGroup
				enough := make(chan struct{})
				var once sync.Once
				for i := range 8 {
					c := hubapi.New(h.URL, h.Owner)
					clients.Go(func() {
						acked.work(c, fmt.Sprintf("r%d-c%d", round, i), func(total int) {
							if total >= 150*round {
								once.Do(func() { close(enough) })
							}
						})
					})
				}
				<-enough
				h.Kill9()
				clients.Wait()
				h.Restart()
				acked.check(t, h.Client())
			}
		})
	}
}

// fill puts noise into a new hub's database, so that a backup of it takes a while.
func fill(t *testing.T, data string, megabytes int) {
	t.Helper()
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), filepath.Join(data, "parley.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := bus.NewLocal()
	defer b.Close()
	log := eventlog.New(db, b, slog.New(slog.DiscardHandler))
	noise := make([]byte, 64<<10)
	for range megabytes {
		events := make([]eventlog.Event, 16)
		for i := range events {
			_, _ = rand.Read(noise)
			events[i] = eventlog.Event{Kind: "noise", Data: append([]byte{}, noise...)}
		}
		if _, err := log.Append(t.Context(), nil, "noise", events...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKill9DuringABackupLeavesNoHalfFileInPlace(t *testing.T) {
	t.Parallel()
	dir := pgtest.Folder(t)
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "backup.tar.gz")
	fill(t, data, 24)
	h := hubtest.Start(t, hubtest.Config{Data: data})
	begun := func() bool { info, err := os.Stat(file + ".part"); return err == nil && info.Size() > 0 }

	// The hub dies: the command says so and leaves nothing at all.
	backup := hubtest.Command(t, "backup", "--data", data, "-o", file)
	var said hubtest.Output
	backup.Stderr = &said
	if err := backup.Start(); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the backup begins", begun)
	h.Kill9()
	if err := backup.Wait(); err == nil || !strings.HasPrefix(said.String(), "parley: ") {
		t.Errorf("half a backup ended with %v and %q", err, said.String())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "backup*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// The command dies: what it had is under another name.
	h.Restart()
	backup = hubtest.Command(t, "backup", "--data", data, "-o", file)
	if err := backup.Start(); err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the backup begins", begun)
	_ = backup.Process.Kill()
	_ = backup.Wait()
	if _, err := os.Stat(file); err == nil {
		t.Error("half a backup is in place")
	}

	// The hub is unharmed: a whole backup can be made, and nothing of the dead ones stays with it.
	if out, err := hubtest.Command(t, "backup", "--data", data, "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; want no error", err, out)
	}
	if out, err := hubtest.Command(t, "restore", "--data", filepath.Join(dir, "copy"), file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; want no error", err, out)
	}
	hubtest.Eventually(t, "the hub has removed its dumps", func() bool {
		dumps, _ := filepath.Glob(filepath.Join(data, ".dump-*"))
		return len(dumps) == 0
	})
}
