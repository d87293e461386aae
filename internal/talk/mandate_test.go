package talk_test

import (
	"context"
	"encoding/json"
	"testing"

	"parley/internal/brain/tool"
	"parley/internal/identity"
	"parley/internal/talk"
)

// withScopes is somebody who may be any sender and hands these scopes to agents.
func withScopes(scopes ...string) talk.Who {
	who := talk.Admin("person:user")
	who.Mandate = tool.MandateOf(identity.Actor{Via: identity.Via{TokenID: "token-1"}, Scopes: identity.Expand(scopes...)})
	return who
}

// mandates is a tool that remembers what each of its calls may do.
func mandates(calls chan tool.Mandate) *tool.Tool {
	return &tool.Tool{Name: "echo", Class: tool.ReadOnly, Description: "remembers", Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		calls <- c.Mandate
		return tool.Result{Text: "ok"}, nil
	}}
}

// A run acts with what whoever wrote its words has, its delegates too, and a turn of
// which nobody knows who wrote it with nothing.
func TestARunHasTheRightsOfWhoeverWroteIt(t *testing.T) {
	calls := make(chan tool.Mandate, 8)
	h := newHub(t, sqlite(t), withTools(mandates(calls)))
	h.agents.put(t, "twin", "---\ndescription: a twin\ntools: [echo]\n---\nYou are twin.")
	delegated, err := json.Marshal(map[string]any{"tasks": []map[string]string{{"agent": "twin", "message": "/tool echo"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who     talk.Who
		content string
		want    string
	}{
		"a turn":     {withScopes("talk", "fleet", "machine:pc"), "/tool echo", "fleet:call,fleet:read,fleet:sensitive,machine:pc"},
		"a delegate": {withScopes("fleet:read", "talk"), "/tool delegate " + string(delegated), "fleet:read"},
		"nobody":     {talk.Admin("schedule:1"), "/tool echo", ""},
	} {
		run, err := h.Turn(t.Context(), c.who, talk.TurnRequest{Key: crab, Content: c.content})
		if err != nil {
			t.Fatal(err)
		}
		all(t, run)
		got := <-calls
		if got.Scopes.String() != c.want || got.Token != c.who.Mandate.Token {
			t.Errorf("%s acts with %q of token %q, want %q", name, got.Scopes, got.Token, c.want)
		}
	}
}

// Words of somebody with fewer rights do not steer a run that acts with more: they
// become a run of their own.
func TestAWeakerCredentialDoesNotSteerAStrongerRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		steer  talk.Who
		steers bool
	}{
		{"may only talk", withScopes("talk"), false},
		{"may use another machine", withScopes("fleet", "machine:other"), false},
		{"may do the same", withScopes("talk", "fleet"), true},
	} {
		g := newGate()
		h := newHub(t, sqlite(t), withTools(g.tool("slow")))
		run, err := h.Turn(t.Context(), withScopes("talk", "fleet"), talk.TurnRequest{Key: crab, Content: "/tool slow\n/say unsteered"})
		if err != nil {
			t.Fatal(err)
		}
		<-g.called
		steer, err := h.Turn(t.Context(), c.steer, talk.TurnRequest{Key: crab, Content: "/say steered", Mode: talk.Steer})
		if err != nil {
			t.Fatal(err)
		}
		g.open <- struct{}{}
		all(t, run)
		if got := all(t, steer); (len(got.of(talk.Steered)) == 1) != c.steers || got.text() != "steered" {
			t.Errorf("%s: steered %v, want %v; said %q", c.name, len(got.of(talk.Steered)) == 1, c.steers, got.text())
		}
	}
}
