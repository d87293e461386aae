package room_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	faceroom "parley.internal/internal/face/room"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

func TestAFloodIsStoppedBeforeTheRoomAndDelaysNobody(t *testing.T) {
	h := newHub(t, withRates)
	id := h.open("r", openTo())
	flood, ann, ben := h.guest(id, "Flood"), h.guest(id, "Ann"), h.guest(id, "Ben")
	for range 60 {
		flood.send(chat("spam"))
	}
	seq := ann.say("in the midst of it")
	want(ben, func(f *kibitz.From) bool { return f.Seq == seq })
	for range 200 {
		flood.send(chat("spam"))
	}
	nak := want(flood, func(n *kibitz.Nak) bool { return n.Code == kibitz.LimitRate })
	if nak.RetryMs < 1 {
		t.Errorf("%+v; want nak.RetryMs to be at least 1", nak)
	}
	flood.closed(kibitz.CloseFlooding)
	if e := h.audit(id, kind("blocked", "flood")); e.ID != flood.self.ID || e.Code != kibitz.LimitRate || e.Actor != "hub" {
		t.Errorf("%+v; want e.ID to be %v, e.Code to be %v, e.Actor to be \"hub\"", e, flood.self.ID, kibitz.LimitRate)
	}
	ann.say("still here")
	want(ben, func(f *kibitz.From) bool { return f.From == ann.self.ID })
}

func TestAReaderThatIsStuckIsCutAndOthersAreUnharmed(t *testing.T) {
	// It answers no pings either; here it is cut for what it does not read.
	h := newHub(t, func(_ *room.Deps, d *faceroom.Deps) { d.Limits.Silence = time.Hour })
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
	if e := h.audit(id, kind("blocked", "slow")); e.ID != roster.Members[2].ID {
		t.Errorf("%+v", e)
	}
}

func TestAnOversizeSenderIsCutAndNobodyHearsIt(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	big, ann, ben := h.guest(id, "Big"), h.guest(id, "Ann"), h.guest(id, "Ben")
	big.refused(kibitz.LimitSize, app(strings.Repeat("x", kibitz.MaxApp)))
	big.send(app(strings.Repeat("x", kibitz.MaxFrame)))
	big.closed(kibitz.CloseTooBig)
	if e := h.audit(id, kind("blocked", "oversize")); e.ID != big.self.ID || e.Code != kibitz.LimitSize {
		t.Errorf("%+v; want e.ID to be %v, e.Code to be %v", e, big.self.ID, kibitz.LimitSize)
	}
	garbage := h.guest(id, "Garbage")
	for range 10 {
		check(t, garbage.ws.Write(t.Context(), 1, []byte(`{"t":`)))
	}
	garbage.closed(kibitz.CloseBadFrames)
	if e := h.audit(id, kind("blocked", "bad frames")); e.ID != garbage.self.ID || e.Code != kibitz.ProtoBadFrame {
		t.Errorf("%+v; want e.ID to be %v, e.Code to be %v", e, garbage.self.ID, kibitz.ProtoBadFrame)
	}
	seq := ann.say("small")
	if f := want[*kibitz.From](ben); f.Seq != seq {
		t.Errorf("%+v; want f.Seq to be %v", f, seq)
	}
}

// Whatever stands in for a proof, the door answers with its code, the trail has
// it, and those inside notice nothing.
func TestForgedProofsAreRefusedAuditedAndUnnoticed(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	ann, ben := h.guest(id, "Ann"), h.guest(id, "Ben")
	ann.settled()
	refusals := 0
	old := h.agent(id, key, nil)
	used := must(kibitz.SignAssertion(key, id, old.fp(), time.Now()))(t)
	old.ok(obj{"t": "leave"})
	want(ann, func(r *kibitz.Roster) bool { return len(r.Members) == 2 })
	for _, tc := range []struct {
		name  string
		proof func(c *client) string
		code  kibitz.Code
	}{
		{"replayed from a connection that is gone", func(*client) string { return used }, kibitz.GateNotBound},
		{"stale", func(c *client) string {
			return must(kibitz.SignAssertion(key, id, c.fp(), time.Now().Add(-time.Hour)))(t)
		}, kibitz.GateStale},
		{"from the future", func(c *client) string {
			return must(kibitz.SignAssertion(key, id, c.fp(), time.Now().Add(time.Hour)))(t)
		}, kibitz.GateFuture},
		{"without a signature", func(c *client) string { return strings.Split(c.proof(key), ".")[0] }, kibitz.GateUnlisted},
		{"with an empty signature", func(c *client) string { return strings.Split(c.proof(key), ".")[0] + "." }, kibitz.GateUnlisted},
		{"with a signature cut short", func(c *client) string { p := c.proof(key); return p[:len(p)-4] }, kibitz.GateUnlisted},
		{"padded", func(c *client) string { return c.proof(key) + "==" }, kibitz.GateUnlisted},
		{"with a third part", func(c *client) string { return c.proof(key) + ".e30" }, kibitz.GateUnlisted},
		{"of no JSON", func(*client) string { return "bm90IGpzb24.AAAA" }, kibitz.GateUnlisted},
		{"with another's body", func(c *client) string {
			return strings.Split(used, ".")[0] + "." + strings.Split(c.proof(key), ".")[1]
		}, kibitz.GateUnlisted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := h.dial(id, "")
			c.turnedAway(tc.code, obj{"name": tc.name, "agentAssertion": tc.proof(c)})
			c.refused(kibitz.RoomNotAdmitted, chat("all the same"))
			h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "refused" && e.Code == tc.code && e.ID == "" })
			seq := ann.say("undisturbed")
			if f := want(ben, func(f *kibitz.From) bool { return f.Seq == seq }); f.From != ann.self.ID {
				t.Errorf("%+v; want f.From to be %v", f, ann.self.ID)
			}
			if n := len(lastRoster(ann).Members); n != 2 {
				t.Errorf("%d are in the roster", n)
			}
			refusals++
			page := must(h.rooms.Audit(t.Context(), identity.Hub(), id, room.AuditQuery{Kind: "refused"}))(t)
			if n := len(page.Entries); n != refusals {
				t.Errorf("%d of %d refusals are in the trail", n, refusals)
			}
		})
	}
}

func TestAnAlteredManifestChangesNothingAndIsInTheTrail(t *testing.T) {
	h := newHub(t)
	creator, thief, agent, stranger := newKey(t), newKey(t), newKey(t), newKey(t)
	id := h.open("r", obj{"humans": obj{"mode": "open"}})
	manifest := func(signer, allowed *kibitz.PrivateKey, ver float64) string {
		return must(kibitz.Sign(signer, kibitz.Manifest{
			Mode: "names", Room: id, Exp: float64(time.Now().Add(time.Hour).Unix()), Ver: ver,
			AgentKeys: []kibitz.AllowedKey{{Key: must(allowed.Public().MarshalJSON())(t)}},
		}))(t)
	}
	put := func(token string, signer *kibitz.PrivateKey) (int, obj) {
		return h.call("PUT", "/api/rooms/"+id+"/policy", obj{"manifest": token, "key": signer.Public()})
	}
	if status, out := put(manifest(creator, agent, 1), creator); status != 200 {
		t.Fatalf("%d %v; want status to be 200", status, out)
	}
	bot := h.agent(id, agent, nil)
	good, evil := strings.Split(manifest(creator, agent, 2), "."), strings.Split(manifest(thief, stranger, 2), ".")
	for code, refused := range map[kibitz.Code]func() (int, obj){
		kibitz.PolicyBad:   func() (int, obj) { return put(evil[0]+"."+good[1], creator) },
		kibitz.PolicyStale: func() (int, obj) { return put(manifest(thief, stranger, 9), thief) },
	} {
		if status, out := refused(); status < 400 || out["error"].(obj)["code"] != string(code) {
			t.Errorf("%s: %d %v", code, status, out)
		}
		h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "refused" && e.Code == code })
		c := h.dial(id, "")
		c.turnedAway(kibitz.GateUnlisted, obj{"agentAssertion": c.proof(stranger)})
	}
	bot.settled() // still here
	if _, out := h.call("GET", "/api/rooms/"+id+"/policy", nil); out["version"] != 2.0 {
		t.Errorf("version %v", out["version"])
	}
}

func TestAPeerThatLiesAboutItsFingerprintIsBlockedAndAudited(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	fp := strings.TrimSuffix(strings.Repeat("ab:", 32), ":")
	other := strings.ReplaceAll(fp, "ab", "cd")
	liar := h.dial(id, "").voice(obj{"name": "Liar", "fp": fp})
	ann := h.dial(id, "").voice(obj{"name": "Ann", "fp": other})
	for _, typ := range []string{"offer", "answer"} {
		liar.refused(kibitz.SigFingerprint, obj{"t": "sig", "to": ann.self.ID, "d": obj{"link": "l", "type": typ, "sdp": "v=0\r\nm=application 9 UDP 0" + sdpTail + other}})
	}
	// Nor may it take another's certificate for its own once it is here.
	liar.refused(kibitz.SigFingerprint, obj{"t": "voice", "on": true, "fp": other})
	e := h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "blocked" && e.Code == kibitz.SigFingerprint })
	if e.ID != liar.self.ID || e.Detail != "sig" {
		t.Errorf("%+v; want e.ID to be %v, e.Detail to be \"sig\"", e, liar.self.ID)
	}
	ann.settled()
	if strings.Contains(ann.everything(), `"t":"sig"`) || lastRoster(ann).Members[0].FP != fp {
		t.Error("the lie was passed on")
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
		t.Errorf("%+v; want len(r.Members) to be 2", r)
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
		t.Errorf("%+v; want m.Kind to be %v, not m.Host, m.Tier to be \"\", m.ID not to be \"p1\"", m, kibitz.Agent)
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

// What only hosts may do is refused, told in the trail and without effect, whatever
// a client says it is.
func TestForgedHostsAreRefusedAndAudited(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	ann := h.guest(id, "Ann")
	bot := h.agent(id, key, obj{"meta": obj{"role": "human", "host": true, "tier": "operator"}, "host": true, "tier": "operator"})
	forged := must(kibitz.SignCommand(key, kibitz.Command{Op: kibitz.OpClaim}, id, bot.fp(), time.Now()))(t)
	bot.refused(kibitz.HostDenied, obj{"t": "mod", "token": forged})
	for _, op := range []string{"kick", "ban", "publisher", "lock", "reset"} {
		bot.refused(kibitz.HostDenied, obj{"t": "mod", "op": op, "target": ann.self.ID})
	}
	bot.refused(kibitz.GrantDenied, obj{"t": "grant", "id": ann.self.ID, "grant": obj{}})
	bot.refused(kibitz.GrantDenied, obj{"t": "send", "c": obj{"k": "caps", "grants": obj{}}})
	for _, detail := range []string{"mod", "grant", "caps"} {
		if e := h.audit(id, kind("blocked", detail)); e.ID != bot.self.ID || e.KeyID != key.Public().Thumbprint() {
			t.Errorf("%+v", e)
		}
	}
	ann.say("unharmed")
	want(bot, func(f *kibitz.From) bool { return f.From == ann.self.ID })
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		t.Error(err)
	}
	c.refused(kibitz.RoomNotAdmitted, chat("not announced"))
	c.refused(kibitz.RoomNotAdmitted, obj{"t": "media", "audio": true})
	c.send(obj{"t": "ping", "n": 7})
	if p := want[*kibitz.Pong](c); p.N != 7 {
		t.Errorf("%+v; want p.N to be 7", p)
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
		t.Fatalf("%+v; want l.Status to be %v", l, kibitz.LobbyWaiting)
	}
	roster := want(host, func(r *kibitz.Roster) bool { return len(r.Waiting) == 1 })
	p["agents"] = obj{}
	h.setPolicy(id, p)
	if l := want[*kibitz.Lobby](bot); l.Code != kibitz.GateUnlisted {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.GateUnlisted)
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
