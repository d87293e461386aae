package hosts

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/test/placetest"
)

// ours is a place of this hub's own kind.
func ours(t *testing.T) (url string, client *http.Client) {
	t.Helper()
	b := bus.NewLocal()
	p, err := place.New(t.Context(), place.Deps{DB: storetest.SQLite(t), Bus: b, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, 32))}, place.Config{Auth: place.Strict})
	if err != nil {
		t.Fatal(err)
	}
	face := faceplace.New(faceplace.Deps{Place: p, Loopback: true})
	server := httptest.NewServer(face)
	t.Cleanup(func() {
		p.Drain()
		_ = face.Close(context.Background())
		server.Close()
		_ = p.Close(context.Background())
		_ = b.Close()
	})
	return server.URL, server.Client()
}

// hubOf is what a hub has of skills, with one agent that is at the place.
func hubOf(t *testing.T, name, url string, client *http.Client, own *[]skill.Own) (*skill.Skills, placeLine) {
	t.Helper()
	keys, err := mmpagent.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	agent, err := mmpagent.Open(url, mmpagent.Options{Name: name, Keys: keys, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, b := storetest.SQLite(t), bus.NewLocal()
	inbox, err := approval.Open(t.Context(), db, b, approval.Options{Recheck: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s, err := skill.New(skill.Deps{
		DB: db, Inbox: inbox, Owner: func(context.Context) (string, error) { return "owner", nil }, Own: func(string) []skill.Own { return *own },
	}, skill.Config{Front: name})
	if err != nil {
		t.Fatal(err)
	}
	s.Join(skill.Host{Name: name, ID: keys.ID(), Ring: mmp.Keyring{RSA: keys.Ring.RSA}}, "", placeLine{agent})
	t.Cleanup(func() {
		_ = s.Close()
		_ = inbox.Close()
		_ = b.Close()
		_ = agent.Close()
	})
	return s, placeLine{agent}
}

// Ada's agent keeps its public skill on the shelf of a place, of our kind or of today's, and
// Bob's takes it from there: into quarantine, and as Ada's, since her key signed for it.
func TestAShelfOfEachGenerationIsKeptAndTakenFrom(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (string, *http.Client){
		"ours": ours,
		"today": func(t *testing.T) (string, *http.Client) {
			p := placetest.Today(t)
			return p.URL, p.Client()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, client := start(t)
			tea := skill.Own{ID: "tea", Name: "Tea", Summary: "How to brew tea", Tags: []string{"drink"}, Public: true, Content: "# Tea\n"}
			own, none := []skill.Own{tea}, []skill.Own{}
			ada, there := hubOf(t, "ada", url, client, &own)
			bob, bobs := hubOf(t, "bob", url, client, &none)
			stock := func(on bool, want ...string) {
				t.Helper()
				if _, err := ada.Stock(t.Context(), "ada", there, on); err != nil {
					t.Fatal(err)
				}
				lies, err := bobs.Browse(t.Context(), "", 100)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, d := range lies {
					got = append(got, d.DepositorID+" "+d.SkillID+" "+d.ContentHash)
				}
				if !slices.Equal(got, want) {
					t.Errorf("on the shelf is %q, want %q", got, want)
				}
			}
			row := func(text string) string { return there.agent.ID() + " tea " + mmp.HashOf(text).Bare() }
			stock(true, row("# Tea\n"))
			acting := bob.As(identity.Hub())
			got, err := acting.Acquire(t.Context(), "bob", "", there.agent.ID(), "tea")
			if err != nil || got.State != skill.StateQuarantined || got.Level != skill.L1 || !got.Asked || got.Summary != "How to brew tea" || !slices.Equal(got.Tags, []string{"drink"}) {
				t.Errorf("Bob took %+v, %v", got, err)
			}
			if name == "ours" {
				if err := acting.Attest(t.Context(), "bob", "", there.agent.ID(), "tea", "tastes good"); err != nil {
					t.Error(err)
				}
				if _, d, err := acting.Deposit(t.Context(), "bob", "", there.agent.ID(), "tea"); err != nil || len(d.Attestations) != 1 {
					t.Errorf("what Bob said of it: %+v, %v", d, err)
				}
			}
			own[0].Content = "# Better tea\n"
			stock(true, row("# Better tea\n"))
			if _, d, err := acting.Deposit(t.Context(), "bob", "", there.agent.ID(), "tea"); name == "ours" && (err != nil || len(d.Attestations) != 0) {
				t.Errorf("what Bob said of the former text is said of the new one: %+v, %v", d, err)
			}
			own[0].Public = false
			stock(true)
			own[0].Public = true
			stock(true, row("# Better tea\n"))
			stock(false)
		})
	}
}
