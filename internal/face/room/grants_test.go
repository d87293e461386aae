package room_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

func TestAnAgentWatchesAndCannotActWhateverItsClientSends(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	ann := h.guest(id, "Ann")
	bot := h.agent(id, key, nil)
	if bot.self.Kind != kibitz.Agent || bot.self.Grant.String() != "read-chat,read-roster,receive-directed" {
		t.Errorf("%+v; want bot.self.Kind to be %v, bot.self.Grant.String() to be \"read-chat,read-roster,receive-directed\"", bot.self, kibitz.Agent)
	}
	for detail, o := range map[string]obj{
		"chat": chat("hello"), "app": app(obj{"x": 1}), "pay": {"t": "send", "c": obj{"k": "pay", "url": "https://x.example"}},
		"ink": {"t": "send", "c": obj{"k": "ink", "e": "clear"}}, "schema": schema("s", "1"), "act": act("go"),
	} {
		if nak := bot.refused(kibitz.ActDenied, o); !strings.HasPrefix(nak.Reason, "grant lacks ") {
			t.Errorf("%q; want strings.HasPrefix(nak.Reason, \"grant lacks \")", nak.Reason)
		}
		e := h.audit(id, kind("blocked", detail))
		if e.ID != bot.self.ID || e.KeyID != key.Public().Thumbprint() || e.Code != kibitz.ActDenied {
			t.Errorf("%+v", e)
		}
	}
	bot.refused(kibitz.ViewNotPublisher, view(1))
	h.audit(id, kind("blocked", "view"))
	bot.refused(kibitz.ActDenied, obj{"t": "media", "audio": true})
	h.audit(id, kind("blocked", "media"))
	bot.refused(kibitz.GrantDenied, obj{"t": "grant", "id": bot.self.ID, "grant": obj{"act": []string{"send-chat"}}})
	h.audit(id, kind("blocked", "grant"))
	bot.refused(kibitz.HostDenied, obj{"t": "mod", "op": "lock"})
	h.audit(id, kind("blocked", "mod"))
	ann.settled()
	if strings.Contains(ann.everything(), `"t":"from"`) {
		t.Error("something got through")
	}
	ann.say("an agent may hear this")
	want[*kibitz.From](bot)
}

func TestAWidenedGrantCountsAtOnceAndARevokedOneToo(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	host, bot := h.host(id), h.agent(id, key, nil)
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"perceive": []string{"read-chat", "bogus"}, "act": []string{"send-chat", "send-chat", "read-roster"}, "backend": "Liar"}})
	caps := want(bot, func(c *kibitz.Caps) bool { return c.Grants[bot.self.ID].Has(kibitz.SendChat) })
	if g := caps.Grants[bot.self.ID]; g.String() != "read-chat,send-chat" || g.Backend != "" || len(caps.Grants) != 1 {
		t.Errorf("%+v; want g.String() to be \"read-chat,send-chat\", g.Backend to be \"\", len(caps.Grants) to be 1", caps)
	}
	bot.say("now I may")
	bot.refused(kibitz.ActDenied, act("x"))
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"act": []string{"act"}}})
	bot.refused(kibitz.ActDenied, chat("no more"))
	bot.ok(act("only this"))
	h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "acted" && e.ID == bot.self.ID })
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": nil})
	bot.refused(kibitz.ActDenied, act("x"))
	h.audit(id, kind("granted", "read-chat,send-chat"))
	h.audit(id, kind("granted", "cleared"))
	host.refused(kibitz.GrantSelf, obj{"t": "grant", "id": host.self.ID, "grant": obj{}})
	other := h.dial(id, h.token).voice(obj{"name": "H2"})
	host.refused(kibitz.GrantHost, obj{"t": "grant", "id": other.self.ID, "grant": obj{}})
	host.refused(kibitz.ToUnknown, obj{"t": "grant", "id": "nobody", "grant": obj{}})
	status, out := h.call("PUT", "/api/rooms/"+id+"/grants/"+bot.self.ID, obj{"act": []string{"send-chat"}})
	if status != http.StatusOK || out["rev"].(float64) < 1 {
		t.Errorf("%d %v; want status to be %v, out[\"rev\"].(float64) to be at least 1", status, out, http.StatusOK)
	}
	bot.say("by REST")
	if status, _ := h.call("DELETE", "/api/rooms/"+id+"/grants/"+bot.self.ID, nil); status != http.StatusOK {
		t.Errorf("status is %v; want %v", status, http.StatusOK)
	}
	bot.refused(kibitz.ActDenied, chat("x"))
}

func TestNobodyIsSentWhatItMayNotPerceive(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	host, bot := h.host(id), h.agent(id, key, nil)
	h.grant(id, bot.self.ID, "receive-directed") // neither chat nor roster
	host.ok(schema("hidden-schema", "1"))
	host.ok(view("hidden-view"))
	ack := host.ok(chat("hidden-chat"))
	if ack.To == nil || *ack.To != 0 || *ack.Withheld != 1 {
		t.Errorf("%+v; want ack.To not to be nil, *ack.To to be 0, *ack.Withheld to be 1", ack)
	}
	ann := h.guest(id, "Ann-hidden")
	if ack := ann.ok(chat("hidden too")); ack.To != nil || ack.Withheld != nil {
		t.Errorf("counts for somebody who is no host: %+v", ack)
	}
	host.ok(directed(chat("seen"), bot.self.ID))
	bot.settled()
	text := bot.everything()
	start := strings.Index(text, `"redacted":true`)
	if start < 0 || strings.Contains(text[start:], "hidden") || !strings.Contains(text, "seen") {
		t.Errorf("leaked: %s", text)
	}
	if r := lastRoster(bot); len(r.Members) != 1 || r.Members[0].ID != bot.self.ID || r.Host != nil || r.Waiting != nil || !r.Redacted {
		t.Errorf("%+v", r)
	}
	if c := lastCaps(bot); len(c.Grants) != 1 {
		t.Errorf("%+v; want len(c.Grants) to be 1", c)
	}
	h.grant(id, bot.self.ID, "read-chat")
	bot.settled()
	text = bot.everything()
	if !strings.Contains(text, "hidden-schema") || !strings.Contains(text, "hidden-view") || strings.Contains(text, "hidden-chat") {
		t.Error("retained items are revealed with the right, chat is not")
	}
	host.refused(kibitz.PerceiveDenied, directed(chat("x"), bot.self.ID))
}

func TestWantOnlyNarrowsAndExpiryIsByTheClock(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	p := openTo(key)
	p["agents"].(obj)["keys"] = []obj{{"key": key.Public(), "caps": obj{"perceive": []string{"read-chat", "read-roster"}, "act": []string{"send-chat"}}, "label": "notes"}}
	id := h.open("r", p)
	bot := h.agent(id, key, obj{"want": obj{"perceive": []string{"read-chat", "hear-audio"}, "act": []string{"act", "send-chat"}, "expiresAt": float64(time.Now().Add(time.Hour).Unix())}})
	if bot.self.Grant.String() != "read-chat,send-chat" || bot.self.Grant.ExpiresAt == 0 {
		t.Errorf("%+v; want bot.self.Grant.String() to be \"read-chat,send-chat\", bot.self.Grant.ExpiresAt not to be 0", bot.self.Grant)
	}
	host := h.host(id)
	host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}, "expiresAt": 1}})
	bot.refused(kibitz.ActDenied, chat("too late"))
	if g := lastCaps(host).Grants[bot.self.ID]; g.String() != "nothing" || g.ExpiresAt != 1 {
		t.Errorf("%+v; want g.String() to be \"nothing\", g.ExpiresAt to be 1", g)
	}
	h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "expired" && e.ID == bot.self.ID && e.Actor == "hub" })
}

const sdpTail = "\r\na=fingerprint:sha-256 "

func TestSignallingIsPinnedAndNeedsTheRightToSpeak(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	fp := strings.TrimSuffix(strings.Repeat("ab:", 32), ":")
	ann := h.dial(id, "").voice(obj{"name": "Ann", "fp": strings.ToUpper(fp)})
	bot := h.agent(id, key, obj{"fp": fp})
	sig := func(to, sdp string) obj {
		return obj{"t": "sig", "to": to, "d": obj{"link": "l", "type": "offer", "sdp": sdp}}
	}
	recv := "v=0\r\nm=audio 9 UDP 0\r\na=recvonly" + sdpTail + fp
	send := "v=0\r\nm=audio 9 UDP 0" + sdpTail + fp
	bot.ok(sig(ann.self.ID, recv))
	if s := want[*kibitz.Sig](ann); s.From != bot.self.ID || !strings.Contains(string(s.D), "recvonly") {
		t.Errorf("%+v; want s.From to be %v, \"recvonly\" in it", s, bot.self.ID)
	}
	bot.refused(kibitz.ActDenied, sig(ann.self.ID, send))
	h.audit(id, kind("blocked", "sig"))
	ann.ok(sig(bot.self.ID, send))
	ann.refused(kibitz.SigFingerprint, sig(bot.self.ID, strings.ReplaceAll(send, "ab:", "ac:")))
	ann.refused(kibitz.SigFingerprint, sig(bot.self.ID, "v=0\r\nm=audio 9 UDP 0"))
	ann.refused(kibitz.ToUnknown, sig("nobody", send))
	ann.refused(kibitz.LimitSize, sig(bot.self.ID, send+strings.Repeat("x", kibitz.MaxSignal)))
	ann.refused(kibitz.SigFingerprint, obj{"t": "voice", "on": true, "fp": strings.ReplaceAll(fp, "ab", "ac")})
	none := h.guest(id, "None")
	none.refused(kibitz.SigFingerprint, sig(ann.self.ID, recv))
	ann.ok(obj{"t": "media", "audio": true})
	ann.settled()
	if m := lastRoster(ann).Members[0]; !m.Media.Audio || m.FP != fp {
		t.Errorf("%+v; want m.Media.Audio, m.FP to be %v", m, fp)
	}
	p := openTo(key)
	p["mesh"] = obj{"media": false}
	h.setPolicy(id, p)
	ann.refused(kibitz.SigOff, sig(bot.self.ID, send))
	outsider := h.dial(id, "")
	outsider.refused(kibitz.RoomNotAdmitted, sig(ann.self.ID, recv))
}

func TestSchemasAndViewsAreKeptForLateJoiners(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host, ann := h.host(id), h.guest(id, "Ann")
	host.ok(schema("board", "1"))
	host.ok(schema("  board ", "2"))
	host.ok(view(obj{"move": 1}))
	host.ok(view(obj{"move": 2}))
	host.ok(directed(view(obj{"hand": "7 of spades"}), ann.self.ID))
	ann.refused(kibitz.ViewNotPublisher, view("mine"))
	for _, tc := range []struct{ name, version string }{{"", "1"}, {strings.Repeat("x", 121), "1"}, {"x", strings.Repeat("1", 65)}} {
		host.refused(kibitz.ContentBad, schema(tc.name, tc.version))
	}
	host.refused(kibitz.ContentBad, directed(schema("x", "1"), ann.self.ID))
	late := h.guest(id, "Late")
	if got := late.heard(); len(got) != 2 || !strings.Contains(got[0], `"version":"2"`) || !strings.Contains(got[1], `"move":2`) {
		t.Errorf("%v; want len(got) to be 2, \"\"version\":\"2\"\" in it, \"\"move\":2\" in it", got)
	}
	if text := late.everything(); strings.Contains(text, "spades") || strings.Count(text, `"retained":true`) != 2 {
		t.Errorf("text is %v; want not \"spades\" in it, strings.Count(text, `\"retained\":true`) to be 2", text)
	}
	ann.settled()
	seen := lastSeq(ann)
	host.ok(directed(view(obj{"hand": "queen of hearts"}), ann.self.ID))
	ann.cut()
	host.command("reset")
	again := h.dial(id, "")
	again.send(obj{"t": "resume", "resume": ann.self.Resume, "since": seen})
	again.self = want[*kibitz.Self](again)
	want[*kibitz.Live](again)
	if !strings.Contains(again.everything(), "queen of hearts") || strings.Contains(again.everything(), "spades") {
		t.Error("the view directed to her is kept for her")
	}
	for i := range 25 {
		host.ok(schema("board"+strings.Repeat("x", i), "1"))
	}
	host.refused(kibitz.SchemaLimit, schema("one too many", "1"))
	host.ok(schema("board", "3"))
}

func (c *client) command(op string) { c.t.Helper(); c.ok(obj{"t": "mod", "op": op}) }

func lastSeq(c *client) (seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		if from, ok := f.Frame.(*kibitz.From); ok {
			seq = max(seq, from.Seq)
		}
	}
	return seq
}

func TestDirectedOnlyKeepsHiddenStateHidden(t *testing.T) {
	h := newHub(t)
	p := openTo()
	p["views"] = obj{"directedOnly": true}
	id := h.open("cards", p)
	host, ann, ben := h.host(id), h.guest(id, "Ann"), h.guest(id, "Ben")
	host.refused(kibitz.ViewDirectedOnly, view("everybody's hands"))
	host.ok(directed(view(obj{"hand": "secret-ann"}), ann.self.ID))
	host.ok(directed(view(obj{"hand": "secret-ben"}), ben.self.ID))
	watcher := h.guest(id, "Watcher")
	for _, c := range []*client{ann, ben, watcher} {
		c.settled()
		text := c.everything()
		for owner, word := range map[*client]string{ann: "secret-ann", ben: "secret-ben"} {
			if strings.Contains(text, word) != (c == owner) {
				t.Errorf("%s sees or misses %s", c.self.Name, word)
			}
		}
	}
	host.ok(obj{"t": "mod", "op": "publisher", "target": ann.self.ID})
	ann.ok(directed(view("hers"), ben.self.ID))
	host.ok(obj{"t": "mod", "op": "unpublisher", "target": ann.self.ID})
	ann.refused(kibitz.ViewNotPublisher, directed(view("hers"), ben.self.ID))
}

func TestDisclosureIsShownAndAHostCannotHideIt(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	bot := h.agent(id, key, obj{"meta": obj{"role": "human", "backend": "Somewhere " + strings.Repeat("x", 100)}})
	m := lastRoster(bot).Members[0]
	if m.Kind != kibitz.Agent || !m.Egress || len(m.Backend) != 80 || !strings.Contains(string(m.Meta), `"role":"agent"`) || !m.ReadOnly || !m.Proven {
		t.Errorf("%+v %s", m, m.Meta)
	}
	h.grant(id, bot.self.ID, "read-roster", "send-chat")
	bot.settled()
	if g := lastCaps(bot).Grants[bot.self.ID]; !g.Egress || g.Backend != m.Backend {
		t.Errorf("%+v; want g.Egress, g.Backend to be %v", g, m.Backend)
	}
	bot.ok(obj{"t": "voice", "on": true, "meta": obj{"role": "human"}})
	bot.settled()
	if m := lastRoster(bot).Members[0]; m.Kind != kibitz.Agent || !strings.Contains(string(m.Meta), `"agent"`) {
		t.Errorf("%+v; want m.Kind to be %v, \"\"agent\"\" in it", m, kibitz.Agent)
	}
}

func TestSealedRoomsRelayWhatTheHubCannotRead(t *testing.T) {
	h := newHub(t)
	p := openTo()
	p["sealed"] = true
	id := h.open("sealed", p)
	a, b := h.guest(id, "A"), h.guest(id, "B")
	if !a.hello.Sealed.On() {
		t.Error("hello does not say so")
	}
	secret := make([]byte, kibitz.SecretSize)
	key := must(kibitz.NewSealKey(secret, id))(t)
	box := must(key.Seal([12]byte{1}, kibitz.Raw(`{"k":"chat","text":"a secret"}`), ""))(t)
	a.ok(obj{"t": "send", "c": rawJSON(box)})
	from := want[*kibitz.From](b)
	plain := must(key.Unseal(from.C, ""))(t)
	if !strings.Contains(string(plain), "a secret") || strings.Contains(b.everything(), "a secret") {
		t.Errorf("%s; want \"a secret\" in it, not \"a secret\" in it", plain)
	}
	a.refused(kibitz.SealRequired, chat("plain"))
	plainRoom := h.open("plain", openTo())
	h.guest(plainRoom, "C").refused(kibitz.SealUnexpected, obj{"t": "send", "c": rawJSON(box)})
	host := h.host(id)
	sealedView := must(key.Seal([12]byte{2}, kibitz.Raw(`{"k":"app","data":{"__kib_agent":"view","view":1}}`), ""))(t)
	a.refused(kibitz.ViewNotPublisher, obj{"t": "send", "c": rawJSON(sealedView)})
	host.ok(obj{"t": "send", "c": rawJSON(sealedView)})
}
