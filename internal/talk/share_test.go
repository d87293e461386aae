package talk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

// recalls is what an agent is given when it searches its memory.
func (h *hub) recalls(key talk.Key, args string) *talk.Result {
	h.t.Helper()
	return h.turn(talk.TurnRequest{Key: key, Content: "/tool recall " + args}).of(talk.ToolResult)[0].Result
}

func TestAnotherAgentRecallsOnlyWhatIsSharedWithIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		h.agents.put(t, "owl", "---\ntools: [recall]\n---\n")
		owl, bob := talk.Key{Agent: "owl", Sender: "user"}, talk.Key{Agent: "owl", Sender: "bob"}
		h.say("/say the walrus password is swordfish")
		archive, err := h.Compact(t.Context(), anybody, crab, "")
		if err != nil {
			t.Fatal(err)
		}
		h.say("/say the walrus lives at pier four") // in the live window
		const query = `{"query":"walrus"}`
		page := `{"archive_id":"` + archive.ID + `"}`
		unknown := func(when string, key talk.Key) {
			t.Helper()
			if out := h.recalls(key, query); strings.Contains(out.Output, "walrus") || !strings.Contains(out.Output, "nothing found") {
				t.Errorf("%s: %s with %s recalls %q", when, key.Agent, key.Sender, out.Output)
			}
			if out := h.recalls(key, page); !out.IsError || !strings.Contains(out.Output, "there is no archive") {
				t.Errorf("%s: %s with %s is told %q of an archive that is not its own", when, key.Agent, key.Sender, out.Output)
			}
		}
		unknown("before", owl)
		g, err := h.Share(t.Context(), me, memory.Grant{Agent: "crab", ToAgent: "owl"})
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{query, page} {
			out := h.recalls(owl, args)
			if !strings.Contains(out.Output, "swordfish") || !strings.Contains(out.Output, "what crab and user said to each other") || !strings.Contains(out.Output, "somebody else's words") {
				t.Errorf("shared, %s gives %q", args, out.Output)
			}
			if strings.Contains(out.Output, "pier four") {
				t.Errorf("%s shows what is in no archive: %q", args, out.Output)
			}
		}
		unknown("shared with owl for user", bob)
		if err := h.Unshare(t.Context(), me, g.ID); err != nil {
			t.Fatal(err)
		}
		unknown("taken back", owl)
		for _, action := range []string{"talk.shared", "talk.recalled_shared", "talk.unshared"} {
			if !slices.Contains(h.trail.actions(), action) {
				t.Errorf("%s is not in the trail", action)
			}
		}
	})
}

// standing is a directory in which whoever gave something may have lost the right to it.
type standing struct{ gone bool }

func (*standing) Lasting(_ context.Context, who identity.Actor) (identity.Actor, error) {
	return who, nil
}

func (s *standing) Standing(_ context.Context, who identity.Actor) (identity.Actor, error) {
	if s.gone {
		return identity.Actor{}, errors.New("revoked")
	}
	return who, nil
}

func TestSharedMemoryEndsWithItsTimeAndItsGiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		people := &standing{}
		h := newHub(t, sqlite(t), func(_ *hub, d *talk.Deps) { d.People = people })
		defer h.stop()
		h.agents.put(t, "owl", "---\ntools: [recall]\n---\n")
		owl := talk.Key{Agent: "owl", Sender: "user"}
		h.say("/say the walrus password is swordfish")
		if _, err := h.Compact(t.Context(), anybody, crab, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Share(t.Context(), me, memory.Grant{Agent: "crab", ToAgent: "owl", Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		found := func() bool { return strings.Contains(h.recalls(owl, `{"query":"walrus"}`).Output, "swordfish") }
		if !found() {
			t.Error("what is shared is not found")
		}
		people.gone = true
		if found() {
			t.Error("it is found although whoever shared it has lost the right to it")
		}
		people.gone = false
		<-time.After(2 * time.Hour)
		if found() {
			t.Error("it is found after its time")
		}
	})
}

func TestNobodySharesWhatTheyMayNotRead(t *testing.T) {
	h := newHub(t, sqlite(t))
	h.say("/say mine")
	archive, err := h.Compact(t.Context(), anybody, crab, "")
	if err != nil {
		t.Fatal(err)
	}
	bob := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "bob", Name: "bob"}, Scopes: identity.Expand(identity.Talk)}
	for name, c := range map[string]struct {
		g    memory.Grant
		want error
	}{
		"somebody else's memory":  {memory.Grant{Agent: "crab", Sender: "user", ToAgent: "twin", ToSender: "bob"}, talk.ErrForbidden},
		"somebody else's archive": {memory.Grant{Agent: "crab", Archive: archive.ID, ToAgent: "twin"}, talk.ErrNoArchive},
		"a year and a day":        {memory.Grant{Agent: "crab", ToAgent: "twin", Expires: time.Now().Add(400 * 24 * time.Hour)}, talk.ErrBadRequest},
		"a bad name":              {memory.Grant{Agent: "crab", ToAgent: "No Good"}, talk.ErrBadRequest},
	} {
		if _, err := h.Share(t.Context(), bob, c.g); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	g, err := h.Share(t.Context(), me, memory.Grant{Agent: "crab", ToAgent: "twin"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := h.Shares(t.Context(), bob); err != nil || len(list) != 0 {
		t.Errorf("bob sees %v, %v", list, err)
	}
	if err := h.Unshare(t.Context(), bob, g.ID); !errors.Is(err, memory.ErrNoGrant) {
		t.Errorf("bob takes back what is not his: %v", err)
	}
}
