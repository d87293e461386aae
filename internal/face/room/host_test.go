package room_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

func TestBeingFirstGivesNothing(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	first := h.guest(id, "First")
	if first.self.Host || *lastRoster(first).Host != "" {
		t.Errorf("%+v; want not first.self.Host, *lastRoster(first).Host to be \"\"", first.self)
	}
	for _, op := range []string{"lock", "lobbyon", "reset", "kick", "ban", "publisher", "claim", "dance"} {
		first.refused(kibitz.HostDenied, obj{"t": "mod", "op": op, "target": "x"})
	}
	first.refused(kibitz.GrantDenied, obj{"t": "grant", "id": first.self.ID, "grant": obj{}})
}

func TestTheLobby(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	p := openTo(key)
	p["lobby"] = obj{"on": true}
	id := h.open("r", p)
	host := h.host(id) // hosts do not wait
	if !host.hello.Lobby {
		t.Error("hello does not say so")
	}
	bot := h.agent(id, key, nil) // nor do agents with a key
	wait := func(c *client, o obj) {
		c.t.Helper()
		c.send(o)
		if l := want[*kibitz.Lobby](c); l.Status != kibitz.LobbyWaiting || l.Code != "" {
			t.Fatalf("%+v; want l.Status to be %v, l.Code to be \"\"", l, kibitz.LobbyWaiting)
		}
	}
	ann := h.dial(id, "")
	wait(ann, obj{"t": "voice", "on": true, "name": "Anm"})
	want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 && r.Waiting[0].Name == "Anm" })
	wait(ann, obj{"t": "knock", "name": "Ann"})
	roster := want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 && r.Waiting[0].Name == "Ann" })
	host.say("not for those who wait")
	ann.refused(kibitz.RoomNotAdmitted, obj{"t": "sync"})
	bot.settled()
	if text := ann.everything(); strings.Contains(text, `"t":"from"`) || strings.Contains(text, `"t":"roster"`) || strings.Contains(bot.everything(), "waiting") {
		t.Error("the lobby leaks")
	}
	host.ok(obj{"t": "mod", "op": "admit", "target": roster.Waiting[0].ID})
	if l := want[*kibitz.Lobby](ann); l.Status != kibitz.LobbyAdmitted {
		t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyAdmitted)
	}
	ann.self = want[*kibitz.Self](ann)
	ann.say("I am in")

	knocker := h.dial(id, "")
	wait(knocker, obj{"t": "knock", "name": "Ken"})
	roster = want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 })
	host.ok(obj{"t": "mod", "op": "admit", "target": roster.Waiting[0].ID})
	if l := want[*kibitz.Lobby](knocker); l.Status != kibitz.LobbyAdmitted {
		t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyAdmitted)
	}
	knocker.refused(kibitz.RoomNotAdmitted, chat("not announced yet"))
	knocker.voice(obj{"name": "Ken"})

	denied := h.dial(id, "")
	wait(denied, obj{"t": "voice", "on": true, "name": "Dan"})
	roster = want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 })
	host.ok(obj{"t": "mod", "op": "deny", "target": roster.Waiting[0].ID})
	if l := want[*kibitz.Lobby](denied); l.Status != kibitz.LobbyDenied || l.Code != kibitz.LobbyDeny {
		t.Errorf("%+v; want l.Status to be %v, l.Code to be %v", l, kibitz.LobbyDenied, kibitz.LobbyDeny)
	}
	host.refused(kibitz.ToUnknown, obj{"t": "mod", "op": "admit", "target": "nobody"})

	person := h.newToken("eve", "talk").Secret
	eve := h.dial(id, person)
	wait(eve, obj{"t": "voice", "on": true, "name": "Eve"})
	roster = want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 })
	h.command(id, "admit", roster.Waiting[0].ID)
	want[*kibitz.Live](eve)
	eve.send(obj{"t": "leave"})
	eve.closed(1000)
	h.dial(id, person).voice(obj{"name": "Eve again, without knocking"})

	last := h.dial(id, "")
	wait(last, obj{"t": "voice", "on": true, "name": "Last"})
	host.ok(obj{"t": "mod", "op": "lobbyoff"})
	want[*kibitz.Live](last)
	h.guest(id, "Free")
	h.audit(id, kind("lobby", "off"))
}

func TestLock(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host, ann := h.host(id), h.guest(id, "Ann")
	host.command("lock")
	if l := h.dial(id, "").turnedAway(kibitz.RoomLocked, obj{}); l.Status != kibitz.LobbyLocked {
		t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyLocked)
	}
	ann.cut()
	back := h.dial(id, "")
	if !back.hello.Locked {
		t.Error("hello does not say so")
	}
	back.send(obj{"t": "resume", "resume": ann.self.Resume, "since": 0})
	want[*kibitz.Live](back)
	h.host(id)
	host.command("unlock")
	h.guest(id, "Ben")
	h.audit(id, kind("locked", ""))
	h.audit(id, kind("unlocked", ""))
}

func TestAKickBarsTheIdentity(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	thumb := key.Public().Thumbprint()
	id := h.open("r", openTo(key))
	host, bot := h.host(id), h.agent(id, key, nil)
	guest := h.dial(id, "").voice(obj{"name": "Guest", "token": "my-stable-secret"})
	host.refused(kibitz.HostDenied, obj{"t": "mod", "op": "kick", "target": host.self.ID})
	for _, c := range []*client{bot, guest} {
		host.ok(obj{"t": "mod", "op": "kick", "target": c.self.ID, "reason": "enough"})
		if k := want[*kibitz.Kick](c); k.Code != kibitz.Kicked || k.Reason != "enough" {
			t.Errorf("%+v; want k.Code to be %v, k.Reason to be \"enough\"", k, kibitz.Kicked)
		}
		c.closed(kibitz.CloseKicked)
	}
	want(host, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	again := h.dial(id, "")
	if l := again.turnedAway(kibitz.Kicked, obj{"name": "Another", "agentAssertion": again.proof(key), "token": "another"}); l.Status != kibitz.LobbyDenied {
		t.Errorf("%+v; want l.Status to be %v", l, kibitz.LobbyDenied)
	}
	again.send(obj{"t": "resume", "resume": bot.self.Resume, "since": 0, "agentAssertion": again.proof(key)})
	if l := want[*kibitz.Lobby](again); l.Code != kibitz.Kicked {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.Kicked)
	}
	h.dial(id, "").turnedAway(kibitz.Kicked, obj{"token": "my-stable-secret"})
	status, out := h.call("GET", "/api/rooms/"+id+"/bans", nil)
	if status != http.StatusOK || len(out["bans"].([]any)) != 2 {
		t.Errorf("%d %v; want status to be %v, len(out[\"bans\"].([]any)) to be 2", status, out, http.StatusOK)
	}
	ban := out["bans"].([]any)[1].(obj)
	if ban["id"] != "key:"+thumb || ban["by"] != host.self.ID || ban["reason"] != "enough" {
		t.Errorf("%v", ban)
	}
	h.command(id, "unban", thumb)
	h.agent(id, key, nil)
	h.command(id, "ban", "key:"+thumb)
	third := h.dial(id, "")
	third.turnedAway(kibitz.Kicked, obj{"agentAssertion": third.proof(key)})
	h.audit(id, kind("banned", "key:"+thumb))
	h.audit(id, kind("unbanned", "key:"+thumb))
}

func TestReset(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host, ann := h.host(id), h.guest(id, "Ann")
	host.ok(schema("s", "1"))
	seq := host.say("gone soon")
	host.command("reset")
	if r := want[*kibitz.Reset](ann); r.By != host.self.ID {
		t.Errorf("%+v; want r.By to be %v", r, host.self.ID)
	}
	if next := host.say("after"); next != seq+1 {
		t.Errorf("%d after %d", next, seq)
	}
	late := h.guest(id, "Late")
	if got := late.heard(); len(got) != 1 || !strings.Contains(got[0], `"k":"schema"`) {
		t.Errorf("%v; want len(got) to be 1, \"\"k\":\"schema\"\" in it", got)
	}
	ann.cut()
	back := h.dial(id, "")
	back.send(obj{"t": "resume", "resume": ann.self.Resume, "since": 1})
	gap := want[*kibitz.Gap](back)
	want[*kibitz.Live](back)
	if gap.From != 2 || gap.To != seq || strings.Contains(back.everything(), "gone soon") || !strings.Contains(back.everything(), "after") {
		t.Errorf("%+v; want gap.From to be 2, gap.To to be %v, not \"gone soon\" in it, \"after\" in it", gap, seq)
	}
}

func TestSignedCommandsAndTheirReasons(t *testing.T) {
	h := newHub(t)
	host, other := newKey(t), newKey(t)
	p := openTo()
	id := h.open("r", p)
	ann := h.guest(id, "Ann")
	now := time.Now()
	sign := func(k *kibitz.PrivateKey, claims obj) string { return must(kibitz.Sign(k, claims))(t) }
	good := func() obj {
		return obj{"k": "kbz-host-cmd.v1", "room": id, "fp": ann.fp(), "op": "claim", "iat": now.Unix()}
	}
	with := func(key string, v any) obj {
		o := good()
		if v == nil {
			delete(o, key)
		} else {
			o[key] = v
		}
		return o
	}
	refused := func(reason, token string) {
		t.Helper()
		if nak := ann.refused(kibitz.HostDenied, obj{"t": "mod", "token": token}); nak.Reason != reason {
			t.Errorf("%q, want %q", nak.Reason, reason)
		}
	}
	refused("no host key", sign(host, good()))
	p["host"] = obj{"key": obj{"kty": "oct"}}
	h.setPolicy(id, p)
	refused("bad host key", sign(host, good()))
	p["host"] = obj{"key": host.Public()}
	h.setPolicy(id, p)
	for reason, token := range map[string]string{
		"bad signature":                     sign(other, good()),
		"wrong command kind":                sign(host, with("k", "kbz-agent-key.v1")),
		"wrong room":                        sign(host, with("room", "x")),
		"not cert-bound to this connection": sign(host, with("fp", "ab:cd")),
		"unknown op":                        sign(host, with("op", "dance")),
		"no iat":                            sign(host, with("iat", nil)),
		"command from the future":           sign(host, with("iat", now.Unix()+90)),
		"stale command":                     sign(host, with("iat", now.Unix()-150)),
	} {
		refused(reason, token)
	}
	replayed := sign(host, good())
	ben := h.guest(id, "Ben")
	if nak := ben.refused(kibitz.HostDenied, obj{"t": "mod", "token": replayed}); nak.Reason != "not cert-bound to this connection" {
		t.Errorf("%+v; want nak.Reason to be \"not cert-bound to this connection\"", nak)
	}
	ann.ok(obj{"t": "mod", "token": replayed})
	ann.settled()
	if r := lastRoster(ann); *r.Host != ann.self.ID || r.Members[0].Tier != kibitz.TierKey {
		t.Errorf("%+v; want *r.Host to be %v, r.Members[0].Tier to be %v", r, ann.self.ID, kibitz.TierKey)
	}
	ann.ok(obj{"t": "mod", "op": "kick", "target": ben.self.ID})
	ben.closed(kibitz.CloseKicked)
	h.setPolicy(id, openTo())
	ann.refused(kibitz.HostDenied, obj{"t": "mod", "op": "lock"})
	h.audit(id, kind("host", "key"))
}

func TestAHostByNameMayDoLittle(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	p := openTo(key)
	p["host"] = obj{"name": "Ann"}
	id := h.open("r", p)
	ann, second, bot, guest := h.guest(id, "Ann"), h.guest(id, "Ann"), h.agent(id, key, nil), h.guest(id, "Guest")
	if ann.self.Tier != kibitz.TierName || second.self.Host {
		t.Errorf("%+v %+v; want ann.self.Tier to be %v, not second.self.Host", ann.self, second.self, kibitz.TierName)
	}
	ann.ok(obj{"t": "mod", "op": "lock"})
	ann.ok(obj{"t": "mod", "op": "unlock"})
	ann.refused(kibitz.GrantDenied, obj{"t": "grant", "id": bot.self.ID, "grant": obj{"act": []string{"send-chat"}}})
	ann.refused(kibitz.HostDenied, obj{"t": "mod", "op": "kick", "target": bot.self.ID})
	ann.refused(kibitz.HostDenied, obj{"t": "mod", "op": "ban", "target": "key:x"})
	ann.refused(kibitz.HostDenied, obj{"t": "mod", "op": "publisher", "target": guest.self.ID})
	ann.ok(obj{"t": "mod", "op": "kick", "target": guest.self.ID})
	owner := h.host(id)
	owner.settled()
	if r := lastRoster(owner); *r.Host != owner.self.ID || len(r.Hosts) != 2 {
		t.Errorf("%+v; want *r.Host to be %v, len(r.Hosts) to be 2", r, owner.self.ID)
	}
	p["host"] = obj{"name": "Ann", "email": "host@example.org"}
	h.setPolicy(id, p)
	ann.refused(kibitz.HostDenied, obj{"t": "mod", "op": "lock"})
}

func TestClosingARoomTellsEverybody(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	ann, door := h.guest(id, "Ann"), h.dial(id, "")
	if status, _ := h.call("DELETE", "/api/rooms/"+id, nil); status != http.StatusNoContent {
		t.Errorf("status is %v; want %v", status, http.StatusNoContent)
	}
	for _, c := range []*client{ann, door} {
		if k := want[*kibitz.Kick](c); k.Code != kibitz.RoomClosed {
			t.Errorf("%+v; want k.Code to be %v", k, kibitz.RoomClosed)
		}
		c.closed(kibitz.CloseRoomClosed)
	}
	if status, out := h.call("GET", "/api/rooms/"+id, nil); status != http.StatusNotFound || out["error"].(obj)["code"] != "room.unknown" {
		t.Errorf("%d %v; want status to be %v, out[\"error\"].(obj)[\"code\"] to be \"room.unknown\"", status, out, http.StatusNotFound)
	}
	h.open("r", openTo())
	h.guest(id, "A new room of the same name")
}

func TestTheTrailIsStreamedNumberedAndWithoutContent(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	host := h.host(id)
	bot := h.agent(id, key, nil)
	ann := h.guest(id, "Ann")
	const secret = "something nobody writes down"
	ann.say(secret)
	bot.refused(kibitz.ActDenied, chat(secret))
	is := func(kind string) func(a *kibitz.Audit) bool {
		return func(a *kibitz.Audit) bool { return strings.Contains(string(a.E), `"kind":"`+kind+`"`) }
	}
	want(host, is("blocked"))
	want(bot, is("blocked"))
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"act": []string{"send-chat"}}})
	want(host, is("granted"))
	ann.settled()
	for _, c := range []*client{ann, bot} {
		for line := range strings.SplitSeq(c.everything(), "\n") {
			if strings.Contains(line, `"t":"audit"`) && !strings.Contains(line, `"id":"`+c.self.ID+`"`) {
				t.Errorf("%s sees %s", c.self.Name, line)
			}
		}
	}
	status, out := h.call("GET", "/api/rooms/"+id+"/audit", nil)
	if status != http.StatusOK {
		t.Fatalf("status is %v; want %v", status, http.StatusOK)
	}
	last, kinds := 0.0, []string{}
	for _, e := range out["entries"].([]any) {
		entry := e.(obj)
		if entry["seq"].(float64) <= last || len(entry["hash"].(string)) != 64 || entry["room"] != id {
			t.Errorf("%v", entry)
		}
		last = entry["seq"].(float64)
		kinds = append(kinds, entry["kind"].(string))
	}
	for _, k := range []string{"opened", "admitted", "joined", "blocked", "granted"} {
		if !strings.Contains(strings.Join(kinds, " "), k) {
			t.Errorf("no %s in %v", k, kinds)
		}
	}
	if out["next"].(float64) != last {
		t.Errorf("%v; want out[\"next\"].(float64) to be %v", out["next"], last)
	}
	records := must(h.rooms.Audit(t.Context(), identity.Hub(), id, room.AuditQuery{Kind: "blocked", ID: bot.self.ID, Limit: 1}))(t)
	if len(records.Entries) != 1 || records.Entries[0].Detail != "chat" {
		t.Errorf("%+v; want len(records.Entries) to be 1, records.Entries[0].Detail to be \"chat\"", records)
	}
	report := must(h.trail.Verify(t.Context()))(t)
	if !report.OK {
		t.Errorf("%+v; want report.OK", report)
	}
	for e := range h.trail.Export(t.Context()) {
		if strings.Contains(string(e), secret) {
			t.Error("content in the trail")
		}
	}
}
