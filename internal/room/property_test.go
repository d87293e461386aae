package room_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// pick draws some capabilities.
func pick(t *rapid.T) []string {
	return rapid.SliceOfDistinct(rapid.SampledFrom(words()), rapid.ID[string]).Draw(t, "words")
}

func words() (out []string) {
	for _, w := range kibitz.Words() {
		out = append(out, string(w))
	}
	return out
}

// stranger is a person of this hub who has the everyday scope.
var stranger = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "other-id", Name: "other"}, Scopes: identity.Expand("rooms")}

// No sequence of what an agent, a guest and a host do lets anybody do or hear
// more than its grant of the moment says, and nobody widens its own.
func TestNoSequenceOfFramesWidensAGrant(t *testing.T) {
	h := alone(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		key := newKey(t)
		p := openTo(key)
		p["agents"].(obj)["keys"] = []obj{{"key": key.Public(), "caps": obj{"perceive": words(), "act": pick(rt)}}}
		id := h.open(fmt.Sprint("room ", n), p)
		host, guest := h.host(id), h.guest(id, "Guest")
		// Somebody of this hub with the scope, whose room it is not.
		other := h.dial(id, &stranger).voice(obj{"name": "Other"})
		bot := h.agent(id, key, obj{"want": obj{"perceive": words(), "act": words()}})
		model := bot.self.Grant
		if got := p["agents"].(obj)["keys"].([]obj)[0]["caps"].(obj)["act"].([]string); len(model.Act) > len(got) {
			rt.Fatalf("want widened the grant: %v of %v", model.Act, got)
		}
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			mark := fmt.Sprint("mark-", n, "-", i)
			switch rapid.SampledFrom([]string{"say", "act", "hear", "grant", "clear", "own", "forge"}).Draw(rt, "step") {
			case "say":
				judge(rt, bot, model.Has(kibitz.SendChat), chat(mark))
			case "act":
				judge(rt, bot, model.Has(kibitz.Act), obj{"t": "send", "c": obj{"k": "app", "data": obj{"__kib_agent": "act", "action": mark}}})
			case "hear":
				guest.say(mark)
				bot.settled()
				if heard := strings.Contains(bot.everything(), mark); heard != model.Has(kibitz.ReadChat) {
					rt.Fatalf("heard %v with %s", heard, model)
				}
			case "grant":
				g := obj{"perceive": pick(rt), "act": pick(rt)}
				host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": g})
				raw := must(marshal(g))(t)
				model = kibitz.Sanitise(raw)
			case "clear":
				host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": nil})
				model = bot.self.Grant
			case "own":
				if _, err := h.SetGrant(t.Context(), stranger, id, bot.self.ID, &kibitz.Grant{}); kibitz.CodeOf(err) != kibitz.HostDenied {
					rt.Fatalf("somebody whose room it is not changed a grant through the API: %v", err)
				}
				if _, err := h.Appoint(t.Context(), stranger, id, "other-id", 0); kibitz.CodeOf(err) != kibitz.HostDenied {
					rt.Fatalf("somebody whose room it is not made themselves a host: %v", err)
				}
				for _, c := range []*client{bot, guest, other} {
					if ack, _ := c.ask(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"perceive": words(), "act": words()}}); ack != nil {
						rt.Fatal("somebody who is no host changed a grant")
					}
				}
			case "forge":
				bot.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "human"}, "want": obj{"perceive": words(), "act": words()}, "kind": "human"})
			}
			host.settled()
			if g := lastOf[*kibitz.Caps](host).Grants[bot.self.ID]; g.String() != model.String() {
				rt.Fatalf("caps say %s, the model %s", g, model)
			}
		}
		for _, c := range []*client{host, guest, bot, other} {
			c.gone()
		}
	})
}

// judge sends something and compares the verdict.
func judge(t *rapid.T, c *client, allowed bool, v obj) {
	if ack, nak := c.ask(v); (ack != nil) != allowed {
		t.Fatalf("%v: allowed %v, answered %+v %+v", v, allowed, ack, nak)
	}
}
