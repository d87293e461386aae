package room_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

func TestBeforeTheUpgrade(t *testing.T) {
	h := newHub(t)
	id := h.open("My Room", openTo())
	if id != "my-room" {
		t.Fatalf("id is %v; want id to be \"my-room\"", id)
	}
	for _, tc := range []struct {
		name, path string
		header     http.Header
		status     int
	}{
		{"an empty id", "/rooms/---/ws", nil, http.StatusBadRequest},
		{"an unknown room", "/rooms/other/ws", nil, http.StatusNotFound},
		{"a wrong bearer", "/rooms/my-room/ws", http.Header{"Authorization": {"Bearer prl_" + strings.Repeat("x", 43)}}, http.StatusUnauthorized},
		{"a foreign origin", "/rooms/my-room/ws", http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ws, res, err := h.dialRaw(tc.path, tc.header)
			if err == nil {
				_ = ws.CloseNow()
				t.Fatal("connected")
			}
			if res == nil || res.StatusCode != tc.status {
				t.Errorf("%v %v; want res not to be nil, res.StatusCode to be %v", res, err, tc.status)
			}
		})
	}
	a := h.dial("My%20Room", "").voice(obj{"name": "Ann"})
	b := h.guest("my-room", "Bob")
	b.say("two spellings, one room")
	want[*kibitz.From](a)
	if status, out := h.call("POST", "/api/rooms", obj{"room": "MY room!"}); status != http.StatusConflict || out["error"].(obj)["code"] != "room.exists" {
		t.Errorf("%d %v; want status to be %v, out[\"error\"].(obj)[\"code\"] to be \"room.exists\"", status, out, http.StatusConflict)
	}
	if status, out := h.call("POST", "/api/rooms", obj{"room": "!!!"}); status != http.StatusBadRequest || out["error"].(obj)["code"] != "room.bad-id" {
		t.Errorf("%d %v; want status to be %v, out[\"error\"].(obj)[\"code\"] to be \"room.bad-id\"", status, out, http.StatusBadRequest)
	}
}

func TestAnIDThatEndsInADashIsFoundAsItIs(t *testing.T) {
	h := newHub(t)
	text := strings.Repeat("a", 39) + " tail"
	id := h.open(text, openTo())
	if id != strings.Repeat("a", 39)+"-" {
		t.Fatal(id)
	}
	h.guest(id, "Ann")
	if status, out := h.call("GET", "/api/rooms/"+id, nil); status != http.StatusOK || out["room"] != id || out["members"] != 1.0 {
		t.Errorf("%d %v; want status to be %v, out[\"room\"] to be %v, out[\"members\"] to be 1.0", status, out, http.StatusOK, id)
	}
}

func TestUnknownAndBadFrames(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	c := h.guest(id, "Ann")
	c.send(obj{"t": "whatever"})
	c.refused(kibitz.ProtoUnknown, obj{"t": "whatever"})
	if f := func() (out string) { c.settled(); return c.everything() }(); strings.Count(f, "proto.") != 1 {
		t.Errorf("an unknown frame without n was answered: %s", f)
	}
	for i := range 10 {
		c.send([]string{"{", "[]", `{"t":1}`, "nonsense", `{"t":"send","t":"leave"}`}[i%5])
		if nak := want[*kibitz.Nak](c); nak.Code != kibitz.ProtoBadFrame {
			t.Errorf("%+v; want nak.Code to be %v", nak, kibitz.ProtoBadFrame)
		}
	}
	c.closed(kibitz.CloseBadFrames)
}

func TestOversizeAndBinaryFramesClose(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	big := h.guest(id, "Big")
	big.send(chat(strings.Repeat("x", kibitz.MaxFrame)))
	big.closed(kibitz.CloseTooBig)
	bin := h.guest(id, "Bin")
	check(t, bin.ws.Write(t.Context(), 2, []byte("{}")))
	bin.closed(kibitz.CloseBinary)
}

func TestContentIsCutTrimmedAndNeverEmptyAndDataIsOpaque(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b := h.guest(id, "Ann"), h.guest(id, "Bob")
	for _, tc := range []struct {
		name string
		c    string
		want string
		code kibitz.Code
	}{
		{"trimmed", `{"k":"chat","text":"  hi  "}`, `{"k":"chat","text":"hi"}`, ""},
		{"cut by characters", `{"k":"chat","text":"` + strings.Repeat("é", 600) + `"}`, `{"k":"chat","text":"` + strings.Repeat("é", 500) + `"}`, ""},
		{"empty", `{"k":"chat","text":"   "}`, "", kibitz.ContentEmpty},
		{"a name in content is dropped", `{"k":"chat","text":"x","name":"Host","from":"p1"}`, `{"k":"chat","text":"x"}`, ""},
		{"big numbers", `{"k":"app","data":{"a":12345678901234567890123,"b":1e400,"c":0.10}}`, `{"k":"app","data":{"a":12345678901234567890123,"b":1e400,"c":0.10}}`, ""},
		{"an envelope needs a string", `{"k":"app","data":{"__kib_agent":1}}`, `{"k":"app","data":{"__kib_agent":1}}`, ""},
		{"pay", `{"k":"pay","url":"https://pay.example/x","label":"l"}`, `{"k":"pay","url":"https://pay.example/x","label":"l"}`, ""},
		{"pay without https", `{"k":"pay","url":"http://pay.example"}`, "", kibitz.ContentBad},
		{"ink", `{"k":"ink","e":{"ptr":{"x":1,"y":2}}}`, `{"k":"ink","e":{"ptr":{"x":1,"y":2}}}`, ""},
		{"unknown kind", `{"k":"dance"}`, "", kibitz.ContentUnknown},
		{"no kind", `{}`, "", kibitz.ContentUnknown},
		{"control", `{"k":"idtoken","token":"x"}`, "", kibitz.ContentControl},
		{"caps are the hub's", `{"k":"caps","grants":{}}`, "", kibitz.GrantDenied},
		{"data too large", `{"k":"app","data":"` + strings.Repeat("x", kibitz.MaxApp) + `"}`, "", kibitz.LimitSize},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := obj{"t": "send", "c": rawJSON(tc.c)}
			if tc.code != "" {
				a.refused(tc.code, o)
				return
			}
			ack := a.ok(o)
			from := want[*kibitz.From](b)
			if string(from.C) != tc.want || from.Seq != ack.Seq || from.From != a.self.ID {
				t.Errorf("%+v %s; want string(from.C) to be %v, from.Seq to be %v, from.From to be %v", from, from.C, tc.want, ack.Seq, a.self.ID)
			}
		})
	}
	h.audit(id, kind("blocked", "caps"))
}

// rawJSON is written into a frame as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestJoinOrderAndEqualRosters(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host := h.host(id)
	host.ok(schema("board", "1"))
	host.ok(view(obj{"move": 1}))
	c := h.dial(id, "")
	c.send(obj{"t": "voice", "on": true, "name": "\x00  Ann  \n", "voiceId": "p-mine", "meta": obj{"role": "agent2", "~kbz": 1, "x": 2}})
	want[*kibitz.Live](c)
	var order []string
	c.mu.Lock()
	for _, f := range c.frames[:c.pos] {
		order = append(order, string(f.Type()))
	}
	c.mu.Unlock()
	if d := cmp.Diff([]string{"hello", "lobby", "self", "roster", "caps", "from", "from", "live"}, order); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	c.settled()
	host.settled()
	ours, theirs := lastRoster(c), lastRoster(host)
	if d := cmp.Diff(ours.Members, theirs.Members); d != "" || len(ours.Members) != 2 {
		t.Errorf("rosters differ: %s", d)
	}
	m := ours.Members[1]
	if m.Name != "Ann" || m.ID == "p-mine" || m.Kind != kibitz.Human || string(m.Meta) != `{"role":"agent2","x":2}` || m.Proven {
		t.Errorf("%+v %s", m, m.Meta)
	}
	if g := h.guest(id, "   "); lastRoster(g).Members[2].Name != "Guest" {
		t.Error("no name is Guest")
	}
	if *ours.Host != host.self.ID || host.self.Tier != kibitz.TierOperator {
		t.Errorf("%s %+v; want *ours.Host to be %v, host.self.Tier to be %v", *ours.Host, host.self, host.self.ID, kibitz.TierOperator)
	}
}

func lastRoster(c *client) *kibitz.Roster {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.frames) {
		if r, ok := f.Frame.(*kibitz.Roster); ok {
			return r
		}
	}
	return &kibitz.Roster{}
}

func lastCaps(c *client) *kibitz.Caps {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.frames) {
		if r, ok := f.Frame.(*kibitz.Caps); ok {
			return r
		}
	}
	return &kibitz.Caps{}
}

func TestOneTotalOrderForConcurrentSenders(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	senders := []*client{h.guest(id, "A"), h.guest(id, "B"), h.guest(id, "C")}
	watcher := h.guest(id, "W")
	const each = 50
	var wg sync.WaitGroup
	for _, s := range senders {
		wg.Go(func() {
			for range each {
				s.say("x")
			}
		})
	}
	wg.Wait()
	numbers := func(c *client) (out []uint64) {
		c.settled()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.frames {
			if from, ok := f.Frame.(*kibitz.From); ok {
				if from.From == c.self.ID {
					t.Error("an echo")
				}
				out = append(out, from.Seq)
			}
		}
		return out
	}
	all := numbers(watcher)
	if len(all) != each*len(senders) || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("%d numbers: %v", len(all), all)
	}
	for _, s := range senders {
		if got := numbers(s); len(got) != 2*each || !slices.IsSorted(got) {
			t.Errorf("%d: %v", len(got), got)
		}
	}
}

func TestTheSameIDIsDeliveredOnce(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b := h.guest(id, "A"), h.guest(id, "B")
	o := chat("once")
	o["id"] = "mine-1"
	first := a.ok(o)
	again := a.ok(o)
	if again.Seq != first.Seq || !again.Dup || first.Dup {
		t.Errorf("%+v %+v; want again.Seq to be %v, again.Dup, not first.Dup", first, again, first.Seq)
	}
	if n := len(b.heard()); n != 1 {
		t.Errorf("delivered %d times", n)
	}
}

func TestADirectedMessageReachesOne(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b, c := h.guest(id, "A"), h.guest(id, "B"), h.guest(id, "C")
	a.ok(directed(chat("for you"), b.self.ID))
	if from := want[*kibitz.From](b); from.To != b.self.ID {
		t.Errorf("%+v; want from.To to be %v", from, b.self.ID)
	}
	c.settled()
	if strings.Contains(c.everything(), "for you") {
		t.Error("somebody else got it")
	}
	a.refused(kibitz.ToUnknown, directed(chat("x"), "nobody"))
	a.refused(kibitz.ToSelf, directed(chat("x"), a.self.ID))
}

func TestLeaveIsAtOnceAndWithdrawingKeepsTheConnection(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b := h.guest(id, "A"), h.guest(id, "B")
	b.ok(obj{"t": "voice", "on": false})
	want(a, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	b.refused(kibitz.RoomNotAdmitted, chat("x"))
	old := b.self.ID
	b.voice(obj{"name": "B again"})
	if b.self.ID == old {
		t.Error("the same id twice")
	}
	resume := b.self.Resume
	b.send(obj{"t": "leave"})
	b.closed(1000)
	want(a, func(r *kibitz.Roster) bool { return len(r.Members) == 1 })
	c := h.dial(id, "")
	c.send(obj{"t": "resume", "resume": resume, "since": 0})
	if l := want[*kibitz.Lobby](c); l.Code != kibitz.ResumeUnknown {
		t.Errorf("%+v; want l.Code to be %v", l, kibitz.ResumeUnknown)
	}
	h.audit(id, func(e room.AuditEntry) bool { return e.Kind == "left" && e.ID == b.self.ID })
}

func TestResumeContinuesWithoutGapOrDuplicate(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b := h.guest(id, "A"), h.guest(id, "B")
	seen := a.say("before")
	want[*kibitz.From](b)
	b.cut()
	want(a, func(r *kibitz.Roster) bool { return len(r.Members) == 2 && r.Members[1].Away })
	a.say("meanwhile 1")
	a.ok(directed(chat("only for B"), b.self.ID))
	c := h.dial(id, "")
	c.send(obj{"t": "resume", "resume": b.self.Resume, "since": seen})
	if l := want[*kibitz.Lobby](c); l.Status != kibitz.LobbyAdmitted {
		t.Fatalf("%+v; want l.Status to be %v", l, kibitz.LobbyAdmitted)
	}
	self := want[*kibitz.Self](c)
	if self.ID != b.self.ID || self.Resume == b.self.Resume {
		t.Errorf("%+v; want self.ID to be %v, self.Resume not to be b.self.Resume", self, b.self.ID)
	}
	c.self = self
	want[*kibitz.Live](c)
	a.say("after")
	if got := c.heard(); len(got) != 3 || !strings.Contains(got[0], "meanwhile 1") || !strings.Contains(got[1], "only for B") || !strings.Contains(got[2], "after") {
		t.Errorf("%v; want len(got) to be 3, \"meanwhile 1\" in it, \"only for B\" in it, \"after\" in it", got)
	}
	if strings.Contains(c.everything(), `"t":"gap"`) {
		t.Error("a gap")
	}
	used := h.dial(id, "")
	used.send(obj{"t": "resume", "resume": b.self.Resume, "since": seen})
	if l := want[*kibitz.Lobby](used); l.Code != kibitz.ResumeUnknown || l.Status != kibitz.LobbyUnverified {
		t.Errorf("%+v; want l.Code to be %v, l.Status to be %v", l, kibitz.ResumeUnknown, kibitz.LobbyUnverified)
	}
	d := h.dial(id, "")
	d.send(obj{"t": "resume", "resume": self.Resume, "since": 0})
	want[*kibitz.Live](d)
	c.closed(kibitz.CloseReplaced)
}

// Whoever was away for a thousand messages comes back and has them all, though they come
// faster than it can read.
func TestAThousandMissedMessagesComeAfterAResume(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	a, b := h.guest(id, "A"), h.guest(id, "B")
	first := a.say("before")
	want(b, func(f *kibitz.From) bool { return f.Seq == first })
	b.cut()
	const missed = 990
	for i := range missed {
		a.send(chat(fmt.Sprint("line ", i)))
	}
	a.settled()
	back := h.dial(id, "")
	back.send(obj{"t": "resume", "resume": b.self.Resume, "since": first})
	want[*kibitz.Live](back)
	if got := back.heard(); len(got) != missed || !strings.Contains(got[0], "line 0") || !strings.Contains(got[missed-1], fmt.Sprint("line ", missed-1)) {
		t.Errorf("%d of %d missed messages came", len(got), missed)
	}
	if roster := lastRoster(back); len(roster.Members) != 2 {
		t.Errorf("the roster after a resume has %d members, want both", len(roster.Members))
	}
}

func TestNothingWithdrawnIsReplayed(t *testing.T) {
	h := newHub(t)
	id := h.open("r", openTo())
	host, ben := h.host(id), h.guest(id, "Ben")
	host.ok(schema("seen before", "1"))
	ben.cut()
	want(host, func(r *kibitz.Roster) bool { return len(r.Members) == 2 && r.Members[1].Away })
	host.say("said while he might hear it")
	host.ok(directed(chat("directed while he might receive it"), ben.self.ID))
	h.grant(id, ben.self.ID, "read-roster")
	back := h.dial(id, "")
	back.send(obj{"t": "resume", "resume": ben.self.Resume, "since": 0})
	back.self = want[*kibitz.Self](back)
	want[*kibitz.Live](back)
	if text := back.everything(); strings.Contains(text, `"t":"from"`) || back.self.Grant.String() != "read-roster" {
		t.Errorf("replayed what was withdrawn: %s", text)
	}
}

func TestWhoIsRefusedIsInNobodysRoster(t *testing.T) {
	h := newHub(t)
	key := newKey(t)
	id := h.open("r", openTo(key))
	ann := h.guest(id, "Ann")
	c := h.dial(id, "")
	c.turnedAway(kibitz.GateUnlisted, obj{"name": "Impostor", "agentAssertion": c.proof(newKey(t))})
	c.refused(kibitz.RoomNotAdmitted, obj{"t": "sync"})
	ann.settled()
	if strings.Contains(ann.everything(), "Impostor") || len(lastRoster(ann).Members) != 1 {
		t.Error("somebody who was refused is shown")
	}
	if status, out := h.call("GET", "/api/rooms/"+id+"/roster", nil); status != http.StatusOK || len(out["members"].([]any)) != 1 {
		t.Errorf("%d %v; want status to be %v, len(out[\"members\"].([]any)) to be 1", status, out, http.StatusOK)
	}
}
