package room_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/protocol/kibitz"
)

func TestAFloodIsStoppedBeforeTheRoomAndDelaysNobody(t *testing.T) {
	h := newHub(t, withRates)
	id := h.open("r", openTo())
	flood, ann, ben := h.guest(id, "Flood"), h.guest(id, "Ann"), h.guest(id, "Ben")
	for range 200 {
		flood.send(chat("spam"))
	}
	nak := want(flood, func(n *kibitz.Nak) bool { return n.Code == kibitz.LimitRate })
	if nak.RetryMs < 1 {
		t.Errorf("%+v", nak)
	}
	flood.closed(kibitz.CloseFlooding)
	ann.say("still here")
	want(ben, func(f *kibitz.From) bool { return f.From == ann.self.ID })
}

func TestAReaderThatIsStuckIsCutAndOthersAreUnharmed(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	ann, ben := h.guest(id, "Ann"), h.guest(id, "Ben")
	// The stuck one announces itself and then never reads.
	ws, _, err := h.dialRaw("/rooms/"+id+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	check(t, ws.Write(t.Context(), 1, []byte(`{"t":"voice","on":true,"name":"Stuck"}`)))
	roster := want(ann, func(r *kibitz.Roster) bool { return len(r.Members) == 3 })
	big := strings.Repeat("x", 200_000)
	for range 100 { // more than its queue and every buffer on the way hold
		ann.ok(app(big))
		want[*kibitz.From](ben)
	}
	ever(ann, func(r *kibitz.Roster) bool {
		return slices.ContainsFunc(r.Members, func(m kibitz.Member) bool { return m.ID == roster.Members[2].ID && m.Away })
	})
	if n := h.face.Slow(); n != 1 {
		t.Errorf("%d were cut", n)
	}
}

func TestAReplayedJoinAndASecondAnnounceLeaveNoSecondPresence(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	ann := h.guest(id, "Ann")
	c := h.dial(id, "")
	v := obj{"t": "voice", "on": true, "agentAssertion": c.proof(key)}
	for range 5 {
		c.send(v)
	}
	want[*kibitz.Live](c)
	c.cut()
	want(ann, func(r *kibitz.Roster) bool { return len(r.Members) == 2 && r.Members[1].Away })
	if r := lastRoster(ann); len(r.Members) != 2 {
		t.Errorf("%+v", r)
	}
	// Somebody who leaves while its proof is looked at was never here.
	d := h.dial(id, "")
	d.send(obj{"t": "voice", "on": true, "agentAssertion": d.proof(key)})
	d.cut()
	ann.settled()
}

func TestForgedRolesAndHubFramesDoNothing(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	bot, ann := h.agent(id, key, obj{"meta": obj{"role": "human", "host": true, "tier": "operator"}, "kind": "human", "host": true, "tier": "operator", "id": "p1", "proven": true}), h.guest(id, "Ann")
	m := lastRoster(bot).Members[0]
	if m.Kind != kibitz.Agent || m.Host || m.Tier != "" || m.ID == "p1" {
		t.Errorf("%+v", m)
	}
	for _, forged := range []string{
		`{"t":"caps","rev":99,"grants":{}}`, `{"t":"roster","members":[]}`, `{"t":"from","seq":1,"from":"p1","c":{"k":"chat","text":"x"}}`,
		`{"t":"kick","code":"kicked","reason":""}`, `{"t":"self","id":"p1"}`, `{"t":"audit","e":{}}`, `{"t":"reset","by":"me"}`,
	} {
		before := ann.everything()
		bot.refused(kibitz.ProtoUnknown, frameOf(t, forged))
		ann.settled()
		if after := strings.TrimPrefix(ann.everything(), before); strings.Contains(after, `"rev":99`) || strings.Contains(after, `"t":"reset"`) || strings.Contains(after, `"t":"kick"`) {
			t.Errorf("%s had an effect: %s", forged, after)
		}
	}
}

func frameOf(t *testing.T, text string) obj {
	t.Helper()
	var o obj
	if err := jsonUnmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestASilentConnectionIsEnded(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	c := h.dial(id, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		t.Error(err)
	}
	c.refused(kibitz.RoomNotAdmitted, chat("not announced"))
	c.refused(kibitz.RoomNotAdmitted, obj{"t": "media", "audio": true})
	c.send(obj{"t": "ping", "n": 7})
	if p := want[*kibitz.Pong](c); p.N != 7 {
		t.Errorf("%+v", p)
	}
}

func TestAStoppingHubSaysGoodbye(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	ann := h.guest(id, "Ann")
	go h.stop()
	ann.closed(kibitz.CloseGoingAway)
}

func TestTogglingTheVoiceDoesNotSpareAKeyItsProof(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	bot := h.agent(id, key, nil)
	bot.ok(obj{"t": "voice", "on": false})
	bot.turnedAway(kibitz.GateMissing, obj{"on": true, "meta": obj{"role": "agent"}})
	bot.voice(obj{"agentAssertion": bot.proof(key)})
	bot.ok(obj{"t": "voice", "on": false})
	h.command(id, "ban", "key:"+key.Public().Thumbprint())
	bot.turnedAway(kibitz.Kicked, obj{"on": true, "agentAssertion": bot.proof(key)})
}

func TestAKeyThatIsRevokedInTheLobbyIsNotAdmitted(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	p := openTo(key)
	p["lobby"] = obj{"on": true, "agents": true}
	id := h.open("r", p)
	host := h.host(id)
	bot := h.dial(id, "")
	bot.send(obj{"t": "voice", "on": true, "agentAssertion": bot.proof(key)})
	if l := want[*kibitz.Lobby](bot); l.Status != kibitz.LobbyWaiting {
		t.Fatalf("%+v", l)
	}
	roster := want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 })
	p["agents"] = obj{}
	h.setPolicy(id, p)
	if l := want[*kibitz.Lobby](bot); l.Code != kibitz.GateUnlisted {
		t.Errorf("%+v", l)
	}
	host.refused(kibitz.ToUnknown, obj{"t": "mod", "op": "admit", "target": roster.Waiting[0].ID})
}

func TestAHostsReasonIsCut(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host, ann := h.host(id), h.guest(id, "Ann")
	host.ok(obj{"t": "mod", "op": "kick", "target": ann.self.ID, "reason": "\x1b[2J" + strings.Repeat("é", 5000)})
	if k := want[*kibitz.Kick](ann); len(k.Reason) > 200 || strings.Contains(k.Reason, "\x1b") {
		t.Errorf("%d bytes: %q", len(k.Reason), k.Reason)
	}
}
