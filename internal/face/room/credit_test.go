package room_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"parley.internal/protocol/kibitz"
)

// paid is a policy that asks agents for credits.
func paid(key *kibitz.PrivateKey) obj {
	p := openTo(key)
	p["credits"] = obj{"requireAgentCredits": true, "issuer": []string{"https://mint.example"}, "jwksUri": "https://mint.example/jwks", "kind": "seat.v1"}
	return p
}

func credit(sub string) obj {
	now := time.Now().Unix()
	return obj{"iss": "https://mint.example", "k": "seat.v1", "sub": sub, "iat": now, "nbf": now, "exp": now + 60}
}

func TestCreditsAtTheDoor(t *testing.T) {
	mint, foreign := newIssuer(t, jose.RS256), newIssuer(t, jose.RS256)
	h := newHub(t, withFetch(mint.fetch))
	key := newKey(t)
	id := h.open("r", paid(key))
	human := h.guest(id, "People are untouched")
	if !human.hello.Credits {
		t.Error("hello does not say so")
	}
	now := time.Now().Unix()
	for name, tc := range map[string]struct {
		credit string
		code   kibitz.Code
	}{
		"missing":       {"", kibitz.CreditRequired},
		"malformed":     {"a.b", kibitz.CreditMalformed},
		"bad signature": {foreign.sign(credit("a")), kibitz.CreditBadSignature},
		"issuer":        {mint.sign(with(credit("a"), "iss", "https://evil")), kibitz.CreditIss},
		"kind":          {mint.sign(with(credit("a"), "k", "x")), kibitz.CreditWrongKind},
		"expired":       {mint.sign(with(credit("a"), "exp", now-60)), kibitz.CreditExpired},
		"no sub":        {mint.sign(with(credit("a"), "sub", nil)), kibitz.CreditNoSub},
		"another room":  {mint.sign(with(credit("a"), "room", "elsewhere")), kibitz.CreditWrongRoom},
		"too large":     {strings.Repeat("x", 8193), kibitz.CreditTooLarge},
	} {
		c := h.dial(id, "")
		if l := c.turnedAway(tc.code, obj{"agentAssertion": c.proof(key), "agentCredit": tc.credit}); t.Failed() {
			t.Fatalf("%s: %+v; want not t.Failed()", name, l)
		}
	}
	c := h.dial(id, "")
	c.turnedAway(kibitz.GateMissing, obj{"meta": obj{"role": "agent"}, "agentCredit": mint.sign(credit("a"))})
	bot := h.agent(id, key, obj{"agentCredit": mint.sign(with(credit("bot-1"), "room", id))})
	second := h.dial(id, "")
	second.turnedAway(kibitz.CreditInUse, obj{"agentAssertion": second.proof(key), "agentCredit": mint.sign(credit("bot-1"))})
	other := h.open("other", paid(key))
	third := h.dial(other, "")
	third.turnedAway(kibitz.CreditInUse, obj{"agentAssertion": third.proof(key), "agentCredit": mint.sign(credit("bot-1"))})
	bot.ok(obj{"t": "voice", "on": true, "agentCredit": mint.sign(credit("bot-1"))})
	bot.refused(kibitz.CreditIss, obj{"t": "voice", "on": true, "agentCredit": mint.sign(with(credit("bot-1"), "iss", "x"))})
	h.audit(id, kind("credit", "renewed"))
	bot.send(obj{"t": "leave"})
	bot.closed(1000)
	want(human, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	third.voice(obj{"agentAssertion": third.proof(key), "agentCredit": mint.sign(credit("bot-1"))})
}

func TestCreditsAreDormantWhenOffAndRefuseWithoutKeys(t *testing.T) {
	mint := newIssuer(t, jose.RS256)
	mint.down.Store(true)
	h := newHub(t, withFetch(mint.fetch))
	key := newKey(t)
	h.agent(h.open("off", openTo(key)), key, obj{"agentCredit": "nonsense"})
	id := h.open("on", paid(key))
	c := h.dial(id, "")
	c.turnedAway(kibitz.CreditUnavailable, obj{"agentAssertion": c.proof(key), "agentCredit": mint.sign(credit("a"))})
	if mint.asked.Load() != 1 {
		t.Errorf("asked %d times", mint.asked.Load())
	}
}
