package talk_test

import (
	"context"
	"encoding/json"
	"testing"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
)

// withScopes is somebody who may be any sender and hands these scopes to agents.
func withScopes(scopes ...string) identity.Actor {
	who := anybody
	who.TokenID, who.Scopes = "token-1", identity.Expand(append(scopes, identity.TalkAdmin)...)
	return who
}

// mandates is a tool that remembers what each of its calls may do.
func mandates(calls chan identity.Actor) *tool.Tool {
	return &tool.Tool{Name: "echo", Class: tool.ReadOnly, Description: "remembers", Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		calls <- c.Actor
		return tool.Result{Text: "ok"}, nil
	}}
}

// A run acts with what whoever wrote its words has, its delegates too, and a turn of
// which nobody knows who wrote it with nothing.
func TestARunHasTheRightsOfWhoeverWroteIt(t *testing.T) {
	calls := make(chan identity.Actor, 8)
	h := newHub(t, sqlite(t), withTools(mandates(calls)))
	h.agents.put(t, "twin", "---\ndescription: a twin\ntools: [echo]\n---\nYou are twin.")
	delegated, err := json.Marshal(map[string]any{"tasks": []map[string]string{{"agent": "twin", "message": "/tool echo"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who     identity.Actor
		content string
		want    string
	}{
		"a turn":     {withScopes("talk", "fleet", "machine:pc"), "/tool echo", "fleet:call,fleet:read,fleet:sensitive,machine:pc"},
		"a delegate": {withScopes("fleet:read", "talk"), "/tool delegate " + string(delegated), "fleet:read"},
		"nobody":     {anybody, "/tool echo", ""},
	} {
		run, err := h.Turn(t.Context(), c.who, talk.TurnRequest{Key: crab, Content: c.content})
		if err != nil {
			t.Fatal(err)
		}
		all(t, run)
		got := <-calls
		if got.Scopes.String() != c.want || got.TokenID != c.who.TokenID {
			t.Errorf("%s acts with %q of token %q, want %q", name, got.Scopes, got.TokenID, c.want)
		}
	}
}

// Words of somebody with fewer rights do not steer a run that acts with more: they
// become a run of their own.
func TestAWeakerCredentialDoesNotSteerAStrongerRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		steer  identity.Actor
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
