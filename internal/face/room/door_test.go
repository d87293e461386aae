package room_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

func TestAnAgentEntersByItsOwnKeyOnItsOwnConnection(t *testing.T) {
	h := newHub(t)
	key, other := newKey(t), newKey(t)
	id := h.open("r", openTo(key))
	h.open("elsewhere", openTo(key))
	origin := must(kibitz.Origin(h.server.URL))(t)
	now := time.Now()
	sign := func(k *kibitz.PrivateKey, room, fp string, at time.Time) string {
		return must(kibitz.SignAssertion(k, room, fp, at))(t)
	}
	for _, tc := range []struct {
		name  string
		proof func(c *client) string
		code  kibitz.Code
	}{
		{"no proof", func(*client) string { return "" }, kibitz.GateMissing},
		{"another key", func(c *client) string { return c.proof(other) }, kibitz.GateUnlisted},
		{"tampered", func(c *client) string { return "x" + c.proof(key) }, kibitz.GateUnlisted},
		{"another room", func(c *client) string { return sign(key, "elsewhere", c.fp(), now) }, kibitz.GateWrongRoom},
		{"another origin", func(c *client) string {
			return sign(key, id, kibitz.ChannelFingerprint("https://evil.example", id, c.nonce), now)
		}, kibitz.GateNotBound},
		{"replayed from another connection", func(*client) string {
			return sign(key, id, kibitz.ChannelFingerprint(origin, id, h.dial(id, "").nonce), now)
		}, kibitz.GateNotBound},
		{"stale", func(c *client) string { return sign(key, id, c.fp(), now.Add(-301*time.Second)) }, kibitz.GateStale},
		{"from the future", func(c *client) string { return sign(key, id, c.fp(), now.Add(120*time.Second)) }, kibitz.GateFuture},
		{"another signed thing", func(c *client) string {
			return must(kibitz.SignCommand(key, kibitz.Command{Op: kibitz.OpClaim}, id, c.fp(), now))(t)
		}, kibitz.GateWrongKind},
		{"oversize", func(*client) string { return strings.Repeat("a", kibitz.MaxAssertion+1) }, kibitz.GateTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := h.dial(id, "")
			l := c.turnedAway(tc.code, obj{"meta": obj{"role": "agent"}, "agentAssertion": tc.proof(c)})
			if l.Status != kibitz.LobbyUnverified {
				t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyUnverified)
			}
		})
	}
	c := h.dial(id, "")
	c.voice(obj{"agentAssertion": sign(key, id, " "+strings.ToUpper(c.fp())+" ", now)})
	if c.self.Kind != kibitz.Agent || c.self.KeyID != key.Public().Thumbprint() {
		t.Errorf("%+v", c.self)
	}
	h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "refused" && e.Code == kibitz.GateStale })
	h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "admitted" && e.ID == c.self.ID && e.Detail == "key" })
}

func TestTheFifthRefusalCloses(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo(newKey(t)))
	c := h.dial(id, "")
	for range 5 {
		c.turnedAway(kibitz.GateMissing, obj{"meta": obj{"role": "agent"}})
	}
	c.closed(kibitz.CloseRefused)
}

func TestModesOfPeopleAndAgents(t *testing.T) {
	h := newHub(t)
	person := h.newToken("ann", "talk").Secret
	key := newKey(t)
	for _, tc := range []struct {
		name           string
		humans, agents string
		token          string
		voice          obj
		code           kibitz.Code
		proven         bool
	}{
		{"a stranger in a hub room", "hub", "none", "", obj{}, kibitz.GateMissing, false},
		{"a person of the hub", "hub", "none", person, obj{}, "", true},
		{"a person of the hub without an invite", "invite", "none", person, obj{}, kibitz.GateMissing, false},
		{"a person where none may be", "none", "none", person, obj{}, kibitz.GateNoHumans, false},
		{"the operator where none may be", "none", "none", h.token, obj{}, "", true},
		{"anybody in an open room", "open", "none", "", obj{}, "", false},
		{"an agent where none may be", "open", "none", "", obj{"meta": obj{"role": "agent"}}, kibitz.GateNoAgents, false},
		{"an agent without anchors", "open", "gated", "", obj{"meta": obj{"role": "agent"}}, kibitz.GateNoAgents, false},
		{"an agent in an open room", "open", "open", "", obj{"meta": obj{"role": "agent"}}, "", false},
		{"an operator's bearer is no key of an agent", "open", "gated", h.token, obj{"meta": obj{"role": "agent"}}, kibitz.GateNoAgents, false},
		{"a failing proof is refused even in an open room", "open", "open", "", obj{"agentAssertion": "nonsense", "agentKey": key.Public()}, kibitz.GateUnlisted, false},
		{"a bad invite", "hub", "none", "", obj{"jwt": "nonsense"}, kibitz.GateBadSignature, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := h.open(tc.name, obj{"humans": obj{"mode": tc.humans}, "agents": obj{"mode": tc.agents}})
			c := h.dial(id, tc.token)
			if tc.code != "" {
				c.turnedAway(tc.code, tc.voice)
				return
			}
			c.voice(tc.voice)
			if m := lastRoster(c).Members[0]; m.Proven != tc.proven {
				t.Errorf("%+v; want m.Proven to be %v", m, tc.proven)
			}
		})
	}
	id := h.open("open to agents", obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "open"}})
	c := h.dial(id, "")
	c.voice(obj{"agentAssertion": c.proof(key), "agentKey": key.Public()})
	if c.self.KeyID != key.Public().Thumbprint() || c.self.Host {
		t.Errorf("%+v", c.self)
	}
}

func (h *hub) invite(id string, req obj) string {
	h.t.Helper()
	status, out := h.call("POST", "/api/rooms/"+id+"/invites", req)
	if status != http.StatusCreated || !strings.HasPrefix(out["url"].(string), "/r/"+id+"#") {
		h.t.Fatalf("%d %v", status, out)
	}
	return out["token"].(string)
}

func TestInvites(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", obj{"humans": obj{"mode": "invite"}, "agents": obj{"invites": true}})
	other := h.open("other", nil)
	pass := h.invite(id, obj{"name": "Zoe", "ttl": 60})
	zoe := h.dial(id, "").voice(obj{"jwt": pass})
	if zoe.self.Name != "Zoe" || !lastRoster(zoe).Members[0].Proven {
		t.Errorf("%+v; want zoe.self.Name to be \"Zoe\", lastRoster(zoe).Members[0].Proven", zoe.self)
	}
	bot := h.invite(id, obj{"name": "Scribe", "ttl": 60, "jkt": key.Public().Thumbprint(), "caps": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}})
	h.dial(id, "").turnedAway(kibitz.GateUnlisted, obj{"jwt": bot})
	h.dial(id, "").turnedAway(kibitz.GateBadSignature, obj{"jwt": h.invite(other, obj{"name": "x", "ttl": 60})})
	c := h.dial(id, "")
	c.voice(obj{"jwt": bot, "agentKey": key.Public(), "agentAssertion": c.proof(key)})
	if c.self.Grant.String() != "read-chat,send-chat" || c.self.KeyID != key.Public().Thumbprint() {
		t.Errorf("%+v", c.self)
	}
	thief := newKey(t)
	d := h.dial(id, "")
	d.turnedAway(kibitz.GateUnlisted, obj{"jwt": bot, "agentKey": thief.Public(), "agentAssertion": d.proof(thief)})
	h.setPolicy(id, obj{"humans": obj{"mode": "invite"}, "agents": obj{"invites": false}})
	if k := want[*kibitz.Kick](c); k.Code != kibitz.KeyRevoked {
		t.Errorf("%+v; want k.Code to be %v", k, kibitz.KeyRevoked)
	}
}

func TestARevokedKeyEndsItsPresenceAtOnce(t *testing.T) {
	h := newHub(t)
	key, stays := newKey(t), newKey(t)
	id := h.open("r", openTo(key, stays))
	ann, bot, keep := h.guest(id, "Ann"), h.agent(id, key, nil), h.agent(id, stays, nil)
	h.grant(id, keep.self.ID, "send-chat")
	p := openTo(stays)
	p["agents"].(obj)["keys"] = []obj{{"key": stays.Public(), "caps": obj{"perceive": []string{"read-roster"}}}}
	h.setPolicy(id, p)
	if k := want[*kibitz.Kick](bot); k.Code != kibitz.KeyRevoked {
		t.Errorf("%+v; want k.Code to be %v", k, kibitz.KeyRevoked)
	}
	bot.closed(kibitz.CloseKicked)
	want(ann, func(r *kibitz.Roster) bool { return len(r.Members) == 2 })
	keep.refused(kibitz.ActDenied, chat("the override is gone with the caps it came by"))
	if g := lastCaps(keep).Grants[keep.self.ID]; g.String() != "read-roster" {
		t.Errorf("%+v; want g.String() to be \"read-roster\"", g)
	}
	again := h.dial(id, "")
	again.send(obj{"t": "resume", "resume": bot.self.Resume, "since": 0, "agentAssertion": again.proof(key)})
	if l := want[*kibitz.Lobby](again); l.Code != kibitz.ResumeUnknown {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.ResumeUnknown)
	}
	again.turnedAway(kibitz.GateUnlisted, obj{"agentAssertion": again.proof(key)})
}

func TestAResumeOfAKeyNeedsAFreshProof(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	bot := h.agent(id, key, nil)
	bot.cut()
	c := h.dial(id, "")
	c.send(obj{"t": "resume", "resume": bot.self.Resume, "since": 0})
	if l := want[*kibitz.Lobby](c); l.Code != kibitz.GateMissing {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.GateMissing)
	}
	c.send(obj{"t": "resume", "resume": bot.self.Resume, "since": 0, "agentAssertion": bot.proof(key)})
	if l := want[*kibitz.Lobby](c); l.Code != kibitz.GateNotBound {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.GateNotBound)
	}
	c.send(obj{"t": "resume", "resume": bot.self.Resume, "since": 0, "agentAssertion": c.proof(key)})
	if s := want[*kibitz.Self](c); s.ID != bot.self.ID {
		t.Errorf("%+v; want s.ID to be %v", s, bot.self.ID)
	}
}

func TestPoliciesAreCheckedVersionedAndCompared(t *testing.T) {
	h := newHub(t)
	id := h.open("r", nil)
	path := "/api/rooms/" + id + "/policy"
	for name, doc := range map[string]string{
		"unknown field": `{"humens":{}}`, "unknown mode": `{"humans":{"mode":"maybe"}}`, "deep unknown field": `{"agents":{"keys":[{"kee":1}]}}`,
		"wrong type": `{"max":"many"}`, "too many": `{"max":10001}`, "no object": `[]`, "a name twice": `{"max":1,"max":2}`,
	} {
		if status, out := h.call("PUT", path, doc); status != http.StatusBadRequest || out["error"].(obj)["code"] != "policy.bad" {
			t.Errorf("%s: %d %v; want status to be %v, out[\"error\"].(obj)[\"code\"] to be \"policy.bad\"", name, status, out, http.StatusBadRequest)
		}
	}
	status, out, header := h.callAs(h.token, "GET", path, nil, nil)
	if status != http.StatusOK || out["version"] != 1.0 || header.Get("ETag") != `"1"` {
		t.Errorf("%d %v %s; want status to be %v, out[\"version\"] to be 1.0, header.Get(\"ETag\") to be \"\"1\"\"", status, out, header.Get("ETag"), http.StatusOK)
	}
	status, out = h.call("PUT", path, obj{"agents": obj{"keys": []obj{{"key": obj{"kty": "oct"}}}}})
	if status != http.StatusOK || out["version"] != 2.0 || len(out["warnings"].([]any)) != 1 {
		t.Errorf("%d %v; want status to be %v, out[\"version\"] to be 2.0, len(out[\"warnings\"].([]any)) to be 1", status, out, http.StatusOK)
	}
	if status, _, _ := h.callAs(h.token, "PUT", path, obj{}, http.Header{"If-Match": {`"1"`}}); status != http.StatusPreconditionFailed {
		t.Errorf("status is %v; want %v", status, http.StatusPreconditionFailed)
	}
	if status, _, _ := h.callAs(h.token, "PUT", path, obj{}, http.Header{"If-Match": {`"2"`}}); status != http.StatusOK {
		t.Errorf("status is %v; want %v", status, http.StatusOK)
	}
	if status, _, _ := h.callAs("", "GET", path, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("status is %v; want %v", status, http.StatusUnauthorized)
	}
	if status, _, _ := h.callAs(h.newToken("ann", "talk").Secret, "GET", "/api/rooms/nowhere", nil, nil); status != http.StatusForbidden {
		t.Error(status, "the scope is asked before anything else")
	}
	if status, _ := h.call("PUT", path, `{"notice":"`+strings.Repeat("x", 1<<20)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("status is %v; want %v", status, http.StatusRequestEntityTooLarge)
	}
}

func TestManifests(t *testing.T) {
	h := newHub(t)
	creator, thief, agent := newKey(t), newKey(t), newKey(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}})
	exp := float64(time.Now().Add(time.Hour).Unix())
	sign := func(k *kibitz.PrivateKey, m kibitz.Manifest) string { return must(kibitz.Sign(k, m))(t) }
	good := kibitz.Manifest{Mode: "invite", Room: id, Exp: exp, Ver: 2, AgentKeys: []kibitz.AllowedKey{{Key: must(agent.Public().MarshalJSON())(t), Label: "scribe"}}}
	put := func(token string, key *kibitz.PrivateKey) (int, obj) {
		return h.call("PUT", "/api/rooms/"+id+"/policy", obj{"manifest": token, "key": key.Public()})
	}
	edit := func(f func(m *kibitz.Manifest)) kibitz.Manifest {
		m := good
		f(&m)
		return m
	}
	spliced := strings.Split(sign(creator, good), ".")
	evil := strings.Split(sign(thief, edit(func(m *kibitz.Manifest) { m.AgentKeys[0].Label = "evil" })), ".")
	good.AgentKeys[0].Label = "scribe"
	for _, tc := range []struct {
		name, token string
		reason      string
	}{
		{"another signer's", sign(thief, good), "bad signature"},
		{"spliced", evil[0] + "." + spliced[1], "bad signature"},
		{"another room's", sign(creator, edit(func(m *kibitz.Manifest) { m.Room = "x" })), "wrong room"},
		{"an old one", sign(creator, edit(func(m *kibitz.Manifest) { m.Exp = 1 })), "expired"},
		{"an empty one", sign(creator, edit(func(m *kibitz.Manifest) { m.AgentKeys = nil })), "no members"},
		{"a strange mode", sign(creator, edit(func(m *kibitz.Manifest) { m.Mode = "maybe" })), "wrong mode"},
	} {
		if status, out := put(tc.token, creator); status != http.StatusBadRequest || out["error"].(obj)["code"] != "policy.bad" || out["error"].(obj)["message"] != tc.reason {
			t.Errorf("%s: %d %v", tc.name, status, out)
		}
	}
	if status, out := put(sign(creator, good), creator); status != http.StatusOK || out["policy"].(obj)["humans"].(obj)["mode"] != "invite" {
		t.Fatalf("%d %v; want status to be %v, out[\"policy\"].(obj)[\"humans\"].(obj)[\"mode\"] to be \"invite\"", status, out, http.StatusOK)
	}
	bot := h.agent(id, agent, nil)
	if lastRoster(bot).Members[0].Label != "scribe" {
		t.Error("no label")
	}
	for name, got := range map[string]func() (int, obj){
		"the same version again": func() (int, obj) { return put(sign(creator, good), creator) },
		"another signer":         func() (int, obj) { return put(sign(thief, edit(func(m *kibitz.Manifest) { m.Ver = 9 })), thief) },
	} {
		if status, out := got(); status != http.StatusConflict || out["error"].(obj)["code"] != "policy.stale" {
			t.Errorf("%s: %d %v; want status to be %v, out[\"error\"].(obj)[\"code\"] to be \"policy.stale\"", name, status, out, http.StatusConflict)
		}
	}
	if status, out := put(sign(creator, edit(func(m *kibitz.Manifest) { m.Ver = 3; m.Mode = "names" })), creator); status != http.StatusOK || len(out["warnings"].([]any)) != 1 {
		t.Errorf("%d %v; want status to be %v, len(out[\"warnings\"].([]any)) to be 1", status, out, http.StatusOK)
	}
}

func TestAFullRoomAndAnExpiredPolicy(t *testing.T) {
	h := newHub(t)
	p := openTo()
	p["max"] = 1
	id := h.open("r", p)
	ann := h.guest(id, "Ann")
	if l := h.dial(id, "").turnedAway(kibitz.RoomFull, obj{}); l.Status != kibitz.LobbyDenied {
		t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyDenied)
	}
	ann.cut()
	c := h.dial(id, "")
	c.send(obj{"t": "resume", "resume": ann.self.Resume, "since": 0})
	want[*kibitz.Live](c)
	p["exp"] = 1
	h.setPolicy(id, p)
	h.dial(id, "").turnedAway(kibitz.GatePolicyExpired, obj{})
	c.self = ann.self
	c.say("those inside go on")
}

func TestARevokedCredentialEndsThePresence(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{})
	token := h.newToken("ann", "talk")
	ann := h.dial(id, token.Secret).voice(obj{"name": "Ann"})
	host := h.host(id)
	check(t, h.people.Revoke(t.Context(), identityOf(h), token.ID))
	ann.closed(kibitz.CloseRevoked)
	want(host, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	c := h.dial(id, "")
	c.send(obj{"t": "resume", "resume": ann.self.Resume, "since": 0})
	if l := want[*kibitz.Lobby](c); l.Code != kibitz.ResumeUnknown {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.ResumeUnknown)
	}
}

func TestAnOperatorsSecretAloneGivesNoRank(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host := h.host(id)
	host.cut()
	thief := h.dial(id, "")
	thief.send(obj{"t": "resume", "resume": host.self.Resume, "since": 0})
	thief.self = want[*kibitz.Self](thief)
	if thief.self.Host || thief.self.Tier != "" {
		t.Errorf("%+v; want not thief.self.Host, thief.self.Tier to be \"\"", thief.self)
	}
	thief.refused(kibitz.HostDenied, obj{"t": "mod", "op": "lock"})
}

func TestStrangersOfOneAddressAreLimited(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	for i := range 64 {
		h.dial(id, "")
		_ = i
	}
	_, res, err := h.dialRaw("/rooms/"+id+"/ws", nil)
	if err == nil || res == nil || res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("fmt.Sprint(res, err) is %v; want an error, res not to be nil, res.StatusCode to be %v", fmt.Sprint(res, err), http.StatusTooManyRequests)
	}
}

func identityOf(h *hub) identity.Actor { return identity.Local(h.owner) }
