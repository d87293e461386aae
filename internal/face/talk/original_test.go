package talk_test

import (
	"strings"
	"testing"

	facetalk "parley.internal/internal/face/talk"
	wire "parley.internal/protocol/agentfirst"
)

// What clients of the original protocol write to manage a hub: a provider without its
// kind, a model by the name that list_models gave, and whether an agent thinks.
func TestTheOriginalManagementRequestsAreUnderstood(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix() // it says no hello
	m := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListModels{ListModels: &wire.ListModels{}}})
	list := m.GetModelList().GetModels()
	if len(list) != 1 || list[0].GetKind() != wire.ProviderKind(1) {
		t.Fatalf("the built-in model is told as %v", m)
	}
	m = ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetActiveModel{SetActiveModel: &wire.SetActiveModel{Model: list[0].GetName()}}})
	if m.GetPong() == nil {
		t.Errorf("the name that list_models gave: %v", m)
	}
	m = ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListProviders{ListProviders: &wire.ListProviders{}}})
	if config := m.GetProviderList().GetProviders()[0].GetConfig(); !strings.Contains(config, `"kind":"openai"`) {
		t.Errorf("the built-in provider is told as %s", config)
	}
	m = ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_CreateAgent{CreateAgent: &wire.CreateAgent{Name: "deep", Config: `{"prompt":"You are deep.","thinking":true}`}}})
	if !m.GetAgentInfo().GetThinking() {
		t.Errorf("an agent that thinks: %v", m)
	}
	m = ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_UpdateAgent{UpdateAgent: &wire.UpdateAgent{Name: "deep", Config: `{"thinking":false}`}}})
	if m.GetAgentInfo() == nil || m.GetAgentInfo().GetThinking() {
		t.Errorf("an agent that does not think any more: %v", m)
	}
	hello(t, c, "")
	m = ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListModels{ListModels: &wire.ListModels{}}})
	if kind := m.GetModelList().GetModels()[0].GetKind(); kind != 0 {
		t.Errorf("an extended client is told %v and knows that the model is built in", kind)
	}
}
