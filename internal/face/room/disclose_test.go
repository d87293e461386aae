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

// member finds somebody in the newest roster a client has.
func member(c *client, id string) kibitz.Member {
	c.t.Helper()
	c.settled()
	for _, m := range lastRoster(c).Members {
		if m.ID == id {
			return m
		}
	}
	c.t.Fatalf("%s is not in the roster", id)
	return kibitz.Member{}
}

// Somebody came in as a person, with all a person may do, and says afterwards that it is
// an agent, as SDKs do that make an agent of a connection.
func TestWhoSaysLaterThatItIsAnAgentHasWhatAgentsHave(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "open"}})
	ann := h.guest(id, "Ann")
	host := h.host(id)
	host.say("I may speak")
	host.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "agent", "backend": "Claude"}})
	m := member(ann, host.self.ID)
	if m.Kind != kibitz.Agent || m.Host || !m.ReadOnly || m.Backend != "Claude" || !m.Egress {
		t.Errorf("a host that declared itself an agent is shown as %+v; want an agent without rank that only reads", m)
	}
	host.refused(kibitz.ActDenied, chat("and still do"))
	host.refused(kibitz.GrantDenied, obj{"t": "grant", "id": ann.self.ID, "grant": obj{}})
	h.audit(id, kind("disclosed", "an agent"))

	host.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "human"}})
	if m := member(ann, host.self.ID); m.Kind != kibitz.Agent || !m.ReadOnly {
		t.Errorf("saying to be a person again gave %+v; want nothing", m)
	}
	host.ok(obj{"t": "voice", "on": false})
	host.voice(obj{"name": "A person after all"})
	if host.self.Kind != kibitz.Agent || len(host.self.Grant.Act) != 0 {
		t.Errorf("leaving the roster and coming back gave %+v; want an agent that only reads", host.self)
	}
}

func TestADeclaredAgentIsOneAfterAResumeAndUnderANewPolicy(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "gated"}})
	c := h.guest(id, "Cy")
	c.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "agent"}})
	h.setPolicy(id, obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "gated"}, "notice": "something new"})
	c.refused(kibitz.ActDenied, chat("not after a new policy"))
	c.cut()
	again := h.dial(id, "")
	again.send(obj{"t": "resume", "resume": c.self.Resume, "since": 0})
	self := want[*kibitz.Self](again)
	if self.Kind != kibitz.Agent || len(self.Grant.Act) != 0 {
		t.Errorf("after a resume it is %+v; want an agent that only reads", self)
	}
	h.setPolicy(id, obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "none"}})
	if k := want[*kibitz.Kick](again); k.Code != kibitz.KeyRevoked {
		t.Errorf("in a room without agents it stays: %+v", k)
	}
	person := h.guest(id, "Di")
	person.send(obj{"t": "voice", "on": true, "meta": obj{"role": "agent"}})
	if k := want[*kibitz.Kick](person); k.Code != kibitz.GateNoAgents {
		t.Errorf("whoever says to be an agent in a room without agents hears %+v", k)
	}
}

// A host let an agent speak because of the model it named. It names another one then.
func TestAnotherModelTakesTheGrantBackUntilSomebodyAgrees(t *testing.T) {
	for _, later := range []obj{
		{"role": "agent", "backend": "Elsewhere"},
		{"role": "agent"},
		{"role": "agent", "egress": true},
	} {
		h := newHub(t)
		key := newKey(t)
		id := h.open("r", openTo(key))
		host := h.host(id)
		bot := h.agent(id, key, obj{"meta": obj{"role": "agent", "backend": "Home"}})
		h.grant(id, bot.self.ID, "read-chat", "read-roster", "send-chat")
		bot.say("as Home")
		bot.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "agent", "backend": "Home"}})
		bot.say("still as Home")

		bot.ok(obj{"t": "voice", "on": true, "meta": later})
		bot.refused(kibitz.ActDenied, chat("as somebody else"))
		if m := member(host, bot.self.ID); !m.ReadOnly || m.Backend == "Home" {
			t.Errorf("after %v the host sees %+v; want read-only and the new model", later, m)
		}
		bot.refused(kibitz.ActDenied, chat("after a moment"))
		h.grant(id, bot.self.ID, "read-chat", "read-roster", "send-chat")
		bot.say("as somebody else, with consent")
		if e := h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "disclosed" }); !strings.Contains(e.Detail, "until a host agrees") {
			t.Errorf("the trail says %+v", e)
		}
	}
}

// The agent's key is listed with the right to speak, and its SDK names the model only
// after it has joined: that is its first word and takes nothing.
func TestTheFirstWordAboutAModelTakesNothing(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	p := openTo(key)
	p["agents"].(obj)["keys"] = []obj{{"key": key.Public(), "caps": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}}}
	id := h.open("r", p)
	bot := h.agent(id, key, nil)
	bot.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "agent", "backend": "Home"}})
	bot.say("listed, and open about my model")
	bot.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "agent"}})
	bot.refused(kibitz.ActDenied, chat("and now hiding it"))
}

func TestNobodyHasAnothersLabelAsAName(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}})
	early := h.guest(id, "zoe")
	pass := h.invite(id, obj{"name": "Zoe", "ttl": 60})
	late := h.guest(id, "ZOE ")
	if late.self.Name != "Guest" {
		t.Errorf("somebody without the invite is called %q; want Guest", late.self.Name)
	}
	zoe := h.dial(id, "").voice(obj{"jwt": pass, "name": "Zo"})
	if m := member(zoe, zoe.self.ID); m.Label != "Zoe" || m.Name != "Zo" {
		t.Errorf("whoever came with the invite is %+v; want the invite's name as label", m)
	}
	if m := member(zoe, early.self.ID); m.Name != "Guest" {
		t.Errorf("who had taken the name before is still called %q", m.Name)
	}
	late.ok(obj{"t": "voice", "on": true, "name": "Zoe"})
	if m := member(zoe, late.self.ID); m.Name != "Guest" {
		t.Errorf("a rename took the label: %q", m.Name)
	}
	zoe.ok(obj{"t": "voice", "on": true, "name": "Zoe"})
	if m := member(zoe, zoe.self.ID); m.Name != "Zoe" {
		t.Errorf("Zoe herself may not be called so: %q", m.Name)
	}
}

func TestInvitesAreListedAndWithdrawn(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{"humans": obj{"mode": "invite"}, "lobby": obj{"on": true}})
	host := h.host(id)
	pass, other := h.invite(id, obj{"name": "Zoe", "ttl": 60}), h.invite(id, obj{"name": "Yan", "ttl": 60})
	status, body := h.call(http.MethodGet, "/api/rooms/"+id+"/invites", nil)
	list := body["invites"].([]any)
	if status != http.StatusOK || len(list) != 2 || strings.Contains(fmt.Sprint(body), pass) {
		t.Fatalf("the list is %d %v; want two invites, without the passes", status, body)
	}
	byName := map[string]string{}
	for _, in := range list {
		byName[in.(obj)["name"].(string)] = in.(obj)["id"].(string)
	}
	zoe := h.dial(id, "")
	zoe.send(obj{"t": "voice", "on": true, "jwt": pass})
	host.ok(obj{"t": "mod", "op": "admit", "target": want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 }).Waiting[0].ID})
	want[*kibitz.Self](zoe)
	waiting := h.dial(id, "")
	waiting.send(obj{"t": "voice", "on": true, "jwt": other})
	want(waiting, func(l *kibitz.Lobby) bool { return l.Status == kibitz.LobbyWaiting })

	stranger := h.newToken("eve", identity.Rooms).Secret
	if status, _, _ := h.callAs(stranger, http.MethodGet, "/api/rooms/"+id+"/invites", nil, nil); status != http.StatusForbidden {
		t.Errorf("a stranger's look at the invites is answered with %d; want 403", status)
	}
	if status, _, _ := h.callAs(stranger, http.MethodDelete, "/api/rooms/"+id+"/invites/"+byName["Zoe"], nil, nil); status != http.StatusForbidden {
		t.Errorf("a stranger's withdrawal is answered with %d; want 403", status)
	}
	for _, name := range []string{"Zoe", "Yan"} {
		if status, body := h.call(http.MethodDelete, "/api/rooms/"+id+"/invites/"+byName[name], nil); status != http.StatusNoContent {
			t.Fatalf("withdrawing %s: %d %v", name, status, body)
		}
	}
	if k := want[*kibitz.Kick](zoe); k.Code != kibitz.GateNotListed {
		t.Errorf("whoever came with a withdrawn invite hears %+v", k)
	}
	if l := want(waiting, func(l *kibitz.Lobby) bool { return l.Code != "" }); l.Code != kibitz.GateNotListed {
		t.Errorf("whoever waits with a withdrawn invite hears %+v", l)
	}
	h.dial(id, "").turnedAway(kibitz.GateNotListed, obj{"jwt": pass})
	if status, _ := h.call(http.MethodDelete, "/api/rooms/"+id+"/invites/"+byName["Zoe"], nil); status != http.StatusNotFound {
		t.Errorf("a second withdrawal is answered with %d; want 404", status)
	}
}

// The host's key opens every door but that of the room's owner.
func TestAHostByKeyCannotKeepTheOwnerOut(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}, "host": obj{"key": key.Public()}})
	mallory := h.guest(id, "Mallory")
	claim := obj{"k": "kbz-host-cmd.v1", "room": id, "fp": mallory.fp(), "op": "claim", "iat": time.Now().Unix()}
	mallory.ok(obj{"t": "mod", "token": must(kibitz.Sign(key, claim))(t)})
	owner := h.host(id)
	for _, op := range []string{"kick", "ban"} {
		mallory.refused(kibitz.HostDenied, obj{"t": "mod", "op": op, "target": owner.self.ID})
		mallory.refused(kibitz.HostDenied, obj{"t": "mod", "op": op, "target": "person:owner"})
	}
	owner.say("still here")
	owner.send(obj{"t": "leave"})
	want(mallory, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	mallory.ok(obj{"t": "mod", "op": "ban", "target": "person:owner"})
	h.host(id).say("and again")
}

func TestDataNestedTooDeeplyIsRefused(t *testing.T) {
	h := newHub(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}})
	a := h.guest(id, "A")
	nested := func(n int) obj {
		return app(rawJSON([]byte(strings.Repeat("[", n) + `"[[{{"` + strings.Repeat("]", n))))
	}
	a.ok(nested(64))
	if n := a.refused(kibitz.ContentBad, nested(65)); !strings.Contains(n.Reason, "nested") {
		t.Errorf("the reason is %q", n.Reason)
	}
	a.refused(kibitz.ContentBad, nested(5_000))
}

// nowhere is the link of an agent of the hub that nobody listens to.
type nowhere struct{}

func (nowhere) Send(*room.Out)    {}
func (nowhere) Close(int, string) {}
func (nowhere) Admitted()         {}

func TestThePeopleOfASealedRoomAreToldThatTheHubHasItsKey(t *testing.T) {
	h := newHub(t)
	id := h.open("vault", obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "open"}, "sealed": true})
	ann := h.guest(id, "Ann")
	agent := must(h.rooms.Enter(t.Context(), room.Entry{Room: id, Link: nowhere{}, Hosted: &room.Hosted{Agent: "agent:clerk", HasKey: true}}))(t)
	defer agent.Gone()
	agent.Receive([]byte(`{"t":"voice","on":true,"name":"Clerk"}`))
	told := want(ann, func(r *kibitz.Roster) bool { return r.Sealed == kibitz.SealedShared })
	if len(told.Members) != 1 {
		t.Errorf("the room was told when the agent was in already: %+v", told.Members)
	}
	h.audit(id, kind("shared", "the hub can read this room"))
	if late := h.dial(id, ""); late.hello.Sealed != kibitz.SealedShared {
		t.Errorf("hello says %q to whoever comes later", late.hello.Sealed)
	}
}
