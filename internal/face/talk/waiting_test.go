package talk_test

import (
	"strings"
	"testing"
	"time"

	"parley.internal/internal/approval"
	facetalk "parley.internal/internal/face/talk"
	"parley.internal/internal/identity"
	wire "parley.internal/protocol/agentfirst"
)

// A gateway's sender had the agent remember something and saw nothing for five minutes:
// the owner was asked, and the gateway's client knows no event that says so.
func TestAPlainClientIsToldInTextWhenSomethingWaits(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	must(h.agents.Put(t.Context(), identity.Hub(), "gate", []byte("---\ntools: [remember, compact]\n---\n")))(t)
	c := h.dialUnix()
	send(t, c, stream("gate", "/tool remember {\"name\":\"tea\",\"text\":\"green\"}\n/tool compact {}\n/say done", func(m *wire.Turn) { m.Sender = new("tg:1") }))
	results, thought := 0, ""
	for !strings.Contains(thought, "compact") {
		m := receive(t, c)
		if m.GetStream().GetToolResult() != nil {
			results++
		}
		thought += m.GetStream().GetThinking().GetContent()
	}
	if results != 1 || !strings.Contains(thought, "waits until a person allows compact") {
		t.Fatalf("after %d results the client is told %q; remembering needs nobody, compacting does", results, thought)
	}
	list := must(h.inbox.List(t.Context(), approval.Filter{Principal: "tg:1", States: []approval.State{approval.StatePending}}))(t)
	must(h.inbox.Cancel(t.Context(), list[0].ID, "never mind"))(t)
	text, all := collect(t, c)
	for _, m := range all {
		thought += m.GetStream().GetThinking().GetContent()
	}
	if text != "done" || !strings.Contains(thought, "[compact: cancelled]") {
		t.Errorf("the answer is %q, and the client is told %q", text, thought)
	}
}

// A gateway that only knows send waited in silence, and gave up.
func TestAPlainSendIsAnsweredInTextWhenSomethingWaits(t *testing.T) {
	h := newHub(t, facetalk.Limits{SendWait: time.Millisecond}, facetalk.TCPOptions{})
	must(h.agents.Put(t.Context(), identity.Hub(), "gate", []byte("---\ntools: [compact]\n---\n")))(t)
	c := h.dialUnix()
	send(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Send{Send: &wire.Turn{Agent: "gate", Content: "/tool compact {}\n/say done", Sender: new("tg:1")}}})
	if text := receive(t, c).GetResponse().GetContent(); !strings.Contains(text, "gate waits until a person allows compact") {
		t.Fatalf("the client is answered %q; want that the agent waits for a person", text)
	}
	_ = c.Close()
	list := must(h.inbox.List(t.Context(), approval.Filter{Principal: "tg:1", States: []approval.State{approval.StatePending}}))(t)
	if len(list) != 1 {
		t.Fatalf("%d questions wait once the client has left; want that the run goes on", len(list))
	}
	must(h.inbox.Cancel(t.Context(), list[0].ID, "never mind"))(t)
	other := h.dialUnix()
	send(t, other, stream("gate", "/say next", func(m *wire.Turn) { m.Sender = new("tg:1") }))
	if text, _ := collect(t, other); text != "next" {
		t.Errorf("the next turn says %q; want that it follows the one that waited", text)
	}
}
