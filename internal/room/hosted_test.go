package room_test

import (
	"context"
	"sync"
	"testing"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// hosted connects an agent the hub answers for.
func (h *hub) hosted(id string, by room.Hosted) *client {
	h.t.Helper()
	c := &client{t: h.t, h: h, room: id}
	c.cond = sync.NewCond(&c.mu)
	c.connection = must(h.Enter(context.Background(), room.Entry{Room: id, Link: c, Origin: origin, Actor: &me, Hosted: &by}))(h.t)
	c.nonce = want[*kibitz.Hello](c).Nonce
	h.t.Cleanup(c.gone)
	return c
}

func TestAnAgentOfTheHubNeedsNoProofAndGetsNoMore(t *testing.T) {
	h := alone(t)
	id := h.open("r", openTo())
	host := h.host(id)
	bot := h.hosted(id, room.Hosted{Agent: "agent:kibitzer", Backend: "anthropic", Egress: true})
	bot.voice(obj{"name": "Kibitzer", "meta": obj{"role": "human", "backend": "none of your business"}, "want": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}})
	host.settled()
	m := lastOf[*kibitz.Roster](host).Members[1]
	if m.Kind != kibitz.Agent || m.Backend != "anthropic" || !m.Egress || !m.Proven || m.Host || bot.self.Grant.String() != "read-chat" {
		t.Errorf("%+v %+v", m, bot.self)
	}
	bot.refused(kibitz.ActDenied, chat("not yet"))
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"act": []string{"send-chat"}}})
	bot.say("now")
	e := h.entries(id, "admitted")
	if last := e[len(e)-1]; last.Actor != "agent:kibitzer" || last.Detail != "hosted" {
		t.Errorf("%+v; want last.Actor to be \"agent:kibitzer\", last.Detail to be \"hosted\"", last)
	}
	if _, err := h.SetPolicy(t.Context(), me, id, []byte(`{"humans":{"mode":"open"},"agents":{"mode":"none"}}`), 0); err != nil {
		t.Fatal(err)
	}
	if k := want[*kibitz.Kick](bot); k.Code != kibitz.KeyRevoked {
		t.Errorf("%+v; want k.Code to be %v", k, kibitz.KeyRevoked)
	}
	again := h.hosted(id, room.Hosted{Agent: "agent:kibitzer"})
	again.send(obj{"t": "voice", "on": true})
	if l := want[*kibitz.Lobby](again); l.Code != kibitz.GateNoAgents {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.GateNoAgents)
	}
}
