package api_test

import (
	"errors"
	"net/http"
	"testing"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

// may reports whether a request is let through to what it asks for; whether it
// then makes sense is another matter.
func may(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return true
	}
	problem, ok := errors.AsType[*hubapi.Error](err)
	if !ok {
		t.Fatalf("no answer of the hub: %v", err)
	}
	return problem.Status != http.StatusForbidden
}

// A person with "*", the default of a new one, changed everybody's agents and read
// everybody's conversations. Each of these requests reaches beyond one's own things.
func TestReachingBeyondOnesOwnThingsIsGivenByName(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.say(t, r.owner, "parley", "", "/say the walrus is in the bank")
	theirs := must(hubapi.Call(ctx, r.owner, rest.ListConversations, rest.ConversationQuery{}))(t).Conversations[0].ID
	body := map[string]any{"name": "spy", "prompt": "x", "auto_approve": []string{"shell"}, "mode": "always_execute"}
	for _, rt := range []struct {
		method, path string
		body         any
		needs        string
	}{
		{"POST", "/api/agents", body, "agents:manage"},
		{"PUT", "/api/agents/parley", map[string]any{"mode": "always_execute"}, "agents:manage"},
		{"DELETE", "/api/agents/nobody", nil, "agents:manage"},
		{"GET", "/api/agents/parley/file", nil, "agents:manage"},
		{"PUT", "/api/agents/nobody/file", nil, "agents:manage"},
		{"GET", "/api/spend", nil, "agents:manage"},
		{"GET", "/api/conversations/" + theirs, nil, "talk:admin"},
		{"GET", "/api/conversations/" + theirs + "/messages", nil, "talk:admin"},
		{"GET", "/api/conversations/" + theirs + "/tools", nil, "talk:admin"},
		{"GET", "/api/conversations/" + theirs + "/archives", nil, "talk:admin"},
		{"GET", "/api/conversations/" + theirs + "/export", nil, "talk:admin"},
		{"PATCH", "/api/conversations/" + theirs, map[string]any{"title": "x"}, "talk:admin"},
		{"POST", "/api/conversations/" + theirs + "/compact", map[string]any{}, "talk:admin"},
		{"POST", "/api/people", map[string]any{"name": "x y"}, "admin"},
	} {
		for _, scopes := range []string{"*", "talk", "task", "talk:admin", "agents:manage", "admin"} {
			token := must(hubapi.Call(ctx, r.owner, rest.CreateToken, rest.TokenRequest{Principal: "bob", Scopes: []string{scopes}}))(t)
			c := hubapi.WithTransport(r.url, token.Token, r.client)
			want := scopes == rt.needs || scopes == "admin"
			if got := may(t, c.Do(ctx, rt.method, rt.path, nil, rt.body, nil)); got != want {
				t.Errorf("%s %s with %s: let through is %v, want %v", rt.method, rt.path, scopes, got, want)
			}
		}
	}
	everyday := hubapi.WithTransport(r.url, must(hubapi.Call(ctx, r.owner, rest.CreateToken, rest.TokenRequest{Principal: "bob", Scopes: []string{"*"}}))(t).Token, r.client)
	if list := must(hubapi.Call(ctx, everyday, rest.ListConversations, rest.ConversationQuery{}))(t).Conversations; len(list) != 0 {
		t.Errorf("everyday rights list other people's conversations: %+v", list)
	}
}
