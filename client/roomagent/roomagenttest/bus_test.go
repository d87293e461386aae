package roomagenttest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/client/roomagent"
	"parley.internal/client/roomagent/roomagenttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAgentsMeetInMemoryUnderTheRealRules(t *testing.T) {
	bus := roomagenttest.New(t, `{"humans":{"mode":"open"},"agents":{"mode":"open"}}`)
	person := bus.Join(t, roomagent.DialOptions{Name: "Ann", Person: true})
	agent := roomagent.New(bus.Join(t, roomagent.DialOptions{Name: "Notes"}))
	heard := make(chan roomagent.Chat, 1)
	agent.OnChat(func(c roomagent.Chat) { heard <- c })
	if err := person.Broadcast(t.Context(), json.RawMessage(`{"__kib_agent":"chat","text":"hello"}`)); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got.Text != "hello" || got.Name != "Ann" {
		t.Errorf("%+v; want got.Text to be \"hello\", got.Name to be \"Ann\"", got)
	}
	var denied *roomagent.DeniedError
	if err := agent.Say(t.Context(), "may I?"); !errors.As(err, &denied) || denied.Code != "act.denied" {
		t.Errorf("an agent that may only watch spoke: %v", err)
	}
}
