package place_test

import (
	"context"
	"errors"
	"testing"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
)

// everyday is a person with the everyday scope alone.
func everyday(id string) place.Visitor {
	return place.Visitor{Actor: identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: id, Name: id}, Scopes: identity.Expand("*")}}
}

// Whoever had the everyday scope "place" ran the place: released the keys of other people's
// agents, took their postings down, ended their sessions, trusted keys and added peers.
func TestAnEverydayPersonReachesTheirOwnAgentsAtThePlaceAndNoOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, _ := open(t, db, place.Config{Federation: true}, func(d *place.Deps) {
			d.AgentsOf = func(_ context.Context, person string) ([]string, error) {
				return map[string][]string{"alice": {"ada"}}[person], nil
			}
		})
		ada, carol := prove(t, p, "ada"), prove(t, p, "carol")
		send(t, p, ada, "ada", "carol", "hello")
		post := func(who place.Visitor) string {
			out, err := p.Post(t.Context(), who, &board.PostRequestBody{AgentID: who.Agent, Type: board.PostOffer, SkillName: "tea", TTL: mmp.DefaultPostingTTL})
			if err != nil {
				t.Fatal(err)
			}
			return out.PostingID
		}
		posting := post(carol)
		for _, name := range []string{"alice", "bob"} {
			reachesNothingOfCarol(t, p, everyday(name), posting)
			runsNothing(t, p, everyday(name))
		}
		alice := everyday("alice")
		if pins, err := p.Pins(t.Context(), alice, 10); err != nil || len(pins) != 1 || pins[0].Agent != "ada" {
			t.Errorf("alice sees the keys %+v (%v), expected that of her agent alone", pins, err)
		}
		if _, err := p.RemovePosting(t.Context(), alice, post(ada), ""); err != nil {
			t.Errorf("alice takes down what her agent posted: %v", err)
		}
		if n, err := p.RevokeTokens(t.Context(), alice, "ada"); err != nil || n != 1 {
			t.Errorf("alice ended %d sessions of her agent (%v), expected one", n, err)
		}
		if err := p.Forget(t.Context(), alice, "ada"); err != nil {
			t.Errorf("alice releases the key of her agent: %v", err)
		}
		if pins, err := p.Pins(t.Context(), operator, 10); err != nil || len(pins) != 1 || pins[0].Agent != "carol" || pins[0].Sessions != 1 {
			t.Errorf("the operator sees %+v (%v), expected carol with her session", pins, err)
		}
	})
}

// reachesNothingOfCarol tries what is about an agent that is not the visitor's.
func reachesNothingOfCarol(t *testing.T, p *place.Place, who place.Visitor, posting string) {
	t.Helper()
	name := who.Actor.Person.Name
	for _, agent := range []string{"carol", "ada", ""} { // that she posted it does not make her whoever says so
		if agent == "ada" && name == "alice" {
			continue
		}
		if _, err := p.RemovePosting(t.Context(), who, posting, agent); !errors.Is(err, mmp.ErrRemoveNotAuthorized) {
			t.Errorf("%s takes carol's posting down as %q: %v", name, agent, err)
		}
	}
	for _, agent := range []string{"carol", "nobody"} { // both look the same
		if err := p.Forget(t.Context(), who, agent); !errors.Is(err, mmp.ErrKeyNotFound) {
			t.Errorf("%s releases the key of %s: %v", name, agent, err)
		}
		if _, err := p.RevokeTokens(t.Context(), who, agent); !errors.Is(err, mmp.ErrAgentNotFound) {
			t.Errorf("%s ends the sessions of %s: %v", name, agent, err)
		}
		if _, err := p.QueueStatus(t.Context(), who, agent); !errors.Is(err, mmp.ErrNotYourAgent) {
			t.Errorf("%s looks at the queue of %s: %v", name, agent, err)
		}
	}
	if queues, err := p.Queues(t.Context(), who, 10); err != nil || len(queues) != 0 {
		t.Errorf("%s sees the queues %+v (%v), expected none", name, queues, err)
	}
}

// runsNothing tries what is the hub's.
func runsNothing(t *testing.T, p *place.Place, who place.Visitor) {
	t.Helper()
	ctx := t.Context()
	_, trust := p.Trust(ctx, who, "carol", "")
	_, trusted := p.Trusted(ctx, who)
	_, graph := p.Graph(ctx, who, 10)
	_, peers := p.Peers(ctx, who)
	_, add := p.AddPeer(ctx, who, place.Peer{Name: "x", URL: "https://place.example.org"})
	for what, err := range map[string]error{
		"trust a key": trust, "see whom people trust": trusted, "trust a key no more": p.Untrust(ctx, who, mmp.HashOf("x").Prefixed()), "see who writes to whom": graph,
		"see the peers": peers, "add a peer": add, "remove a peer": p.RemovePeer(ctx, who, "x"), "renew the salt": p.RenewSalt(ctx, who),
	} {
		if !errors.Is(err, mmp.ErrOperatorOnly) {
			t.Errorf("an everyday person may not %s: %v", what, err)
		}
	}
}
