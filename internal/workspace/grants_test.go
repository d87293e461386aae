package workspace_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/workspace"
	"parley.internal/test/trailtest"
)

// folk are people whose word can be taken back.
type folk struct{ ended map[string]bool }

func (f folk) Person(_ context.Context, name string) (identity.Person, error) {
	if name != "alice" && name != "bob" && name != "carol" {
		return identity.Person{}, identity.ErrNotFound
	}
	return identity.Person{ID: name, Name: name}, nil
}

func (f folk) Standing(_ context.Context, a identity.Actor) (identity.Actor, error) {
	if f.ended[a.TokenID] {
		return identity.Actor{}, identity.ErrRefused
	}
	return a, nil
}

func (f folk) Lasting(_ context.Context, a identity.Actor) (identity.Actor, error) { return a, nil }

func actor(name string, scopes ...string) identity.Actor {
	return identity.Actor{
		Person: identity.Principal{Kind: identity.KindPerson, ID: name, Name: name}, Via: identity.Via{TokenID: "token of " + name}, Scopes: identity.Expand(append(scopes, "*")...),
	}
}

// shares is alice's garden, beside a diary that is nobody else's business.
func shares(t *testing.T, db *store.DB) (*workspace.Grants, folk, string) {
	t.Helper()
	spaces, _ := newSpaces(t)
	hers := spaces.Dir(workspace.Person("alice"), "")
	for _, dir := range []string{"garden/beds", "diary"} {
		if err := os.MkdirAll(filepath.Join(hers, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	people := folk{ended: map[string]bool{}}
	return &workspace.Grants{DB: db, Spaces: spaces, People: people, Trail: trailtest.Watch(nil), Log: slog.New(slog.DiscardHandler)}, people, hers
}

func (f folk) end(who identity.Actor) { f.ended[who.TokenID] = true }

func paths(t *testing.T, g *workspace.Grants, who identity.Actor) (out []string) {
	t.Helper()
	folders, err := g.For(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		out = append(out, f.Path)
	}
	return out
}

func TestAGrantIsForOnePersonAndOneFolderUntilItEnds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g, people, hers := shares(t, db)
		alice, bob, carol := actor("alice"), actor("bob"), actor("carol")
		if got := paths(t, g, bob); got != nil {
			t.Errorf("before anything is shared, bob's agents use %v", got)
		}
		made, err := g.Give(t.Context(), alice, "bob", "garden", true, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := paths(t, g, bob); len(got) != 1 || got[0] != filepath.Join(hers, "garden") {
			t.Errorf("bob's agents use %v, expected alice's garden", got)
		}
		if got := paths(t, g, carol); got != nil {
			t.Errorf("carol was given nothing, and her agents use %v", got)
		}
		if list, err := g.List(t.Context(), carol); err != nil || len(list) != 0 {
			t.Errorf("carol sees the grant of others: %+v (%v)", list, err)
		}
		if err := g.TakeBack(t.Context(), carol, made.ID); !errors.Is(err, workspace.ErrNoGrant) {
			t.Errorf("carol takes back what is not hers: %v, expected that it is not there", err)
		}
		if list, err := g.List(t.Context(), actor("carol", "admin")); err != nil || len(list) != 1 {
			t.Errorf("the administration sees %+v (%v), expected the grant", list, err)
		}
		if err := g.TakeBack(t.Context(), alice, made.ID); err != nil {
			t.Fatal(err)
		}
		if got := paths(t, g, bob); got != nil {
			t.Errorf("alice took it back, and bob's agents still use %v", got)
		}
		if _, err := g.Give(t.Context(), alice, "bob", "", false, time.Time{}); err != nil {
			t.Fatal(err)
		}
		people.end(alice)
		if got := paths(t, g, bob); got != nil {
			t.Errorf("what alice shared it with has ended, and bob's agents still use %v", got)
		}
	})
}

func TestAGrantEndsAtItsTime(t *testing.T) {
	g, _, _ := shares(t, storetest.SQLite(t))
	made, err := g.Give(t.Context(), actor("alice"), "bob", "garden", false, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	err = g.DB.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE workspace_grants SET until_at = ? WHERE id = ?`, store.Micros(time.Now().Add(-time.Second)), made.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(t, g, actor("bob")); got != nil {
		t.Errorf("its time is over, and bob's agents still use %v", got)
	}
}

func TestOnlyOnesOwnFolderCanBeShared(t *testing.T) {
	g, _, hers := shares(t, storetest.SQLite(t))
	his := g.Spaces.Dir(workspace.Person("bob"), "")
	for link, to := range map[string]string{"garden/out": "../diary", "link": "garden", "his": his, "root": "/"} {
		if err := os.Symlink(to, filepath.Join(hers, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"..", "../person-bob", "/", "/etc", hers, "link", "his", "root", "garden/out", "link/beds", "nothing", "garden/../../x"} {
		if _, err := g.Give(t.Context(), actor("alice"), "carol", folder, false, time.Time{}); !errors.Is(err, workspace.ErrBadGrant) {
			t.Errorf("alice shares %q: %v, expected a refusal", folder, err)
		}
	}
	for to, until := range map[string]time.Time{"alice": {}, "nobody": {}, "bob": time.Now().Add(-time.Hour)} {
		if _, err := g.Give(t.Context(), actor("alice"), to, "garden", false, until); !errors.Is(err, workspace.ErrBadGrant) {
			t.Errorf("alice shares her garden with %s until %v: %v, expected a refusal", to, until, err)
		}
	}
}

// Whoever owns a folder that was shared can put a link in its place, or have their agent do
// it: to another folder of theirs, to somebody else's, to the hub's keys.
func TestALinkInPlaceOfASharedFolderLeadsNowhere(t *testing.T) {
	g, _, hers := shares(t, storetest.SQLite(t))
	if _, err := g.Give(t.Context(), actor("alice"), "bob", "garden/beds", false, time.Time{}); err != nil {
		t.Fatal(err)
	}
	folders, err := g.For(t.Context(), actor("bob"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the folder that was shared: %v %v", folders, err)
	}
	diary := filepath.Join(hers, "diary")
	for link, to := range map[string]string{diary: diary, "diary": diary, g.Spaces.Owners(): g.Spaces.Owners()} {
		if err := errors.Join(os.RemoveAll(filepath.Join(hers, "garden")), os.MkdirAll(filepath.Join(to, "beds"), 0o700), os.Symlink(link, filepath.Join(hers, "garden"))); err != nil {
			t.Fatal(err)
		}
		if root, err := folders[0].Open(); err == nil {
			_ = root.Close()
			t.Errorf("the folder that was shared leads to %s now, by the link %s", to, link)
		}
		if got := paths(t, g, actor("bob")); got != nil {
			t.Errorf("bob's agents use %v, expected nothing while a link is on the way", got)
		}
	}
}
