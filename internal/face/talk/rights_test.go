package talk_test

import (
	"context"
	"testing"

	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/store"
	wire "parley.internal/protocol/agentfirst"
)

// management is every request that changes what the hub runs for everybody:
// whoever sets a tool server starts a program, and whoever changes an agent
// decides what others' tasks need not ask.
var management = map[string]*wire.ClientMessage{
	"set_provider":     {Message: &wire.ClientMessage_SetProvider{SetProvider: &wire.SetProvider{Name: "x", Config: "{}"}}},
	"delete_provider":  {Message: &wire.ClientMessage_DeleteProvider{DeleteProvider: &wire.DeleteProvider{Name: "x"}}},
	"set_active_model": {Message: &wire.ClientMessage_SetActiveModel{SetActiveModel: &wire.SetActiveModel{Model: "offline"}}},
	"set_local_mcps":   {Message: &wire.ClientMessage_SetLocalMcps{SetLocalMcps: &wire.SetLocalMcps{Mcps: []*wire.McpInfo{{Name: "x", Command: "/no/such/program"}}}}},
	"create_agent":     {Message: &wire.ClientMessage_CreateAgent{CreateAgent: &wire.CreateAgent{Name: "x", Config: `{"auto_approve":["shell"],"mode":"always_execute"}`}}},
	"update_agent":     {Message: &wire.ClientMessage_UpdateAgent{UpdateAgent: &wire.UpdateAgent{Name: "crab", Config: `{"auto_approve":["shell"],"mode":"always_execute"}`}}},
	"delete_agent":     {Message: &wire.ClientMessage_DeleteAgent{DeleteAgent: &wire.DeleteAgent{Name: "nobody"}}},
	"set_enabled":      {Message: &wire.ClientMessage_SetEnabled{SetEnabled: &wire.SetEnabled{Kind: wire.ResourceSkill, Name: "x"}}},
}

// A person with "*", the default of a new one, made agents that run shells
// unasked and started programs on the hub.
func TestManagingAgentsModelsAndToolServersIsGivenByName(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	for scopes, may := range map[string]bool{
		"*": false, "talk": false, "talk:admin": false, "talk:sender:*": false, "task:unattended": false, "agents:manage": true, "admin": true,
	} {
		t.Run(scopes, func(t *testing.T) {
			c := h.mustWS(bearer(h.newToken("alice", scopes).Secret))
			for name, m := range management {
				refused := ask(t, c, m).GetError().GetCode() == uint32(wire.CodeForbidden)
				if refused == may {
					t.Errorf("%s with %s: refused is %v, want %v", name, scopes, refused, !may)
				}
			}
		})
	}
}

// others are the requests that name somebody else's conversation.
func others(handle string) map[string]*wire.ClientMessage {
	return map[string]*wire.ClientMessage{
		"history":   {Message: &wire.ClientMessage_GetConversationHistory{GetConversationHistory: &wire.GetConversationHistory{FilePath: handle}}},
		"delete":    {Message: &wire.ClientMessage_DeleteConversation{DeleteConversation: &wire.DeleteConversation{FilePath: handle}}},
		"send":      {Message: &wire.ClientMessage_Send{Send: &wire.Turn{Agent: "crab", Content: "hi", Sender: new("user")}}},
		"kill":      {Message: &wire.ClientMessage_Kill{Kill: &wire.Kill{Agent: "crab", Sender: "user"}}},
		"compact":   {Message: &wire.ClientMessage_Compact{Compact: &wire.Compact{Agent: "crab", Sender: "user"}}},
		"subscribe": {Message: &wire.ClientMessage_SubscribeEvents{SubscribeEvents: &wire.SubscribeEvents{Sender: "user"}}},
		"cron":      {Message: &wire.ClientMessage_CreateCron{CreateCron: &wire.CreateCron{Agent: "crab", Sender: "user", Schedule: "0 0 * * * *", Skill: "x"}}},
		"title":     {Message: &wire.ClientMessage_SetTitle{SetTitle: &wire.SetTitle{FilePath: handle, Title: "x"}}},
		"export":    {Message: &wire.ClientMessage_Export{Export: &wire.Export{FilePath: handle}}},
		"archives":  {Message: &wire.ClientMessage_ListArchives{ListArchives: &wire.ListArchives{Agent: "crab", Sender: "user"}}},
		"attach":    {Message: &wire.ClientMessage_Attach{Attach: &wire.Attach{Agent: "crab", Sender: "user"}}},
	}
}

// ownerSays has the owner say something and is the conversation's handle.
func (h *hub) ownerSays(text string) string {
	h.t.Helper()
	c := h.dialUnix()
	defer c.close()
	send(h.t, c, stream("crab", text))
	collect(h.t, c)
	list := ask(h.t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{Sender: "user"}}})
	return list.GetConversationList().GetConversations()[0].GetFilePath()
}

// seesOnly fails unless the client sees no conversation but a sender's.
func seesOnly(t *testing.T, c client, sender string) {
	t.Helper()
	list := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{}}})
	for _, got := range list.GetConversationList().GetConversations() {
		if got.GetSender() != sender {
			t.Errorf("a conversation of %q is listed", got.GetSender())
		}
	}
	hits := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Search{Search: &wire.Search{Query: "walrus"}}})
	for _, hit := range hits.GetSearchResult().GetHits() {
		if hit.GetSender() != sender {
			t.Errorf("words of %q are found: %s", hit.GetSender(), hit.GetSnippet())
		}
	}
}

// A person with "*" listed and read everybody's conversations.
func TestOtherPeoplesConversationsAreForTheAdministration(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	handle := h.ownerSays("/say the walrus is in the bank")
	for _, scopes := range []string{"*", "talk", "agents:manage"} {
		t.Run(scopes, func(t *testing.T) {
			c := h.mustWS(bearer(h.newToken("alice", scopes).Secret))
			hello(t, c, "")
			seesOnly(t, c, "alice")
			for name, m := range others(handle) {
				if got := ask(t, c, m).GetError().GetCode(); got != uint32(wire.CodeForbidden) {
					t.Errorf("%s of the owner's conversation: code %d, want %d", name, got, wire.CodeForbidden)
				}
			}
		})
	}
	c := h.mustWS(bearer(h.newToken("bob", "talk:admin").Secret))
	if m := ask(t, c, others(handle)["history"]); len(m.GetConversationHistory().GetMessages()) == 0 {
		t.Errorf("talk:admin, by name, reads it: %v", m)
	}
}

// People whom an older hub let be called "*", "a*" and "user" read other people's
// conversations: names were used as patterns, and "user" is the owner's sender.
func TestPeopleNamedLikePatternsReadOnlyTheirOwn(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	handle := h.ownerSays("/say the walrus is in the bank")
	alice := h.mustWS(bearer(h.newToken("alice", "talk").Secret))
	send(t, alice, stream("crab", "/say a walrus of mine"))
	collect(t, alice)
	for name, sender := range map[string]string{"*": "*", "a*": "a*", "user": "person:id of user"} {
		t.Run(name, func(t *testing.T) {
			check(t, h.db.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO people (id, name, owner, created_at) VALUES (?, ?, 0, 1)`, "id of "+name, name)
				return err
			}))
			c := h.mustWS(bearer(h.newToken(name, "talk").Secret))
			if got := hello(t, c, "").GetHello().GetSender(); got != sender {
				t.Errorf("%q speaks as %q, want %q", name, got, sender)
			}
			send(t, c, stream("crab", "/say hello walrus"))
			collect(t, c)
			seesOnly(t, c, sender)
			for what, m := range others(handle) {
				if got := ask(t, c, m).GetError().GetCode(); got != uint32(wire.CodeForbidden) {
					t.Errorf("%s of the owner's conversation: code %d, want %d", what, got, wire.CodeForbidden)
				}
			}
		})
	}
}
