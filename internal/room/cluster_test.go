package room_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/room"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kibitz"
)

// kill ends a hub as far as others can tell: it renews nothing and says nothing.
func (h *hub) kill() {
	h.leases.Abandon()
	_ = h.bus.Close()
}

func TestARestartKeepsPolicyBansGrantsAndPresences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		b := bus.NewLocal()
		defer func() { _ = b.Close() }()
		h := newHub(t, db, b)
		key, barred := newKey(t), newKey(t)
		id := h.open("r", openTo(key, barred))
		host, bot, bad := h.host(id), h.agent(id, key, nil), h.agent(id, barred, nil)
		host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}})
		host.ok(obj{"t": "mod", "op": "kick", "target": bad.self.ID})
		host.ok(obj{"t": "mod", "op": "lock"})
		host.ok(view("state"))
		seq := host.say("before the restart")
		rev := lastOf[*kibitz.Caps](host).Rev
		h.stop()
		bot.closed(kibitz.CloseGoingAway)

		h2 := newHub(t, db, b)
		if p := must(h2.Policy(t.Context(), me, id))(t); p.Version != 1 || len(p.Policy.Agents.Keys) != 2 {
			t.Errorf("%+v; want p.Version to be 1, len(p.Policy.Agents.Keys) to be 2", p)
		}
		again := bot.resume(h2, seq, nil)
		if l := want[*kibitz.Lobby](again); l.Code != kibitz.GateMissing {
			t.Errorf("%+v; want l.Code to be %v", l, kibitz.GateMissing)
		}
		again.send(obj{"t": "resume", "resume": bot.self.Resume, "since": seq, "agentAssertion": again.proof(key)})
		again.self = want[*kibitz.Self](again)
		if again.self.ID != bot.self.ID || again.self.Grant.String() != "read-chat,send-chat" {
			t.Errorf("%+v; want again.self.ID to be %v, again.self.Grant.String() to be \"read-chat,send-chat\"", again.self, bot.self.ID)
		}
		gap := want[*kibitz.Gap](again)
		want[*kibitz.Live](again)
		if gap.From != seq+1 {
			t.Errorf("%+v", gap)
		}
		if next := again.say("after the restart"); next <= seq {
			t.Errorf("the numbers went back: %d after %d", next, seq)
		}
		if c := lastOf[*kibitz.Caps](again); c.Rev <= rev {
			t.Errorf("the revision went back: %d after %d", c.Rev, rev)
		}
		owner := host.resume(h2, 0, nil)
		want[*kibitz.Republish](owner)
		out := h2.dial(id, nil)
		out.send(obj{"t": "voice", "agentAssertion": out.proof(barred)})
		if l := want[*kibitz.Lobby](out); l.Code != kibitz.RoomLocked {
			t.Errorf("%+v; want l.Code to be %v", l, kibitz.RoomLocked)
		}
		h2.command(id, kibitz.OpUnlock, "")
		out.send(obj{"t": "voice", "agentAssertion": out.proof(barred)})
		if l := want[*kibitz.Lobby](out); l.Code != kibitz.Kicked {
			t.Errorf("%+v; want l.Code to be %v", l, kibitz.Kicked)
		}
		if report := must(h2.trail.Verify(t.Context()))(t); !report.OK {
			t.Errorf("%+v; want report.OK", report)
		}
	})
}

func twoHubs(t *testing.T, db *store.DB) (a, b *hub, id string) {
	t.Helper()
	wire := bus.NewLocal()
	t.Cleanup(func() { _ = wire.Close() })
	a, b = newHub(t, db, wire.Peer(), clustered), newHub(t, db, wire.Peer(), clustered)
	return a, b, a.open("r", openTo())
}

func TestARoomIsReachedAcrossHubs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b, id := twoHubs(t, db)
		here := a.guest(id, "Here")
		there, other := b.guest(id, "There"), b.guest(id, "Other")
		if a.Stats().Rooms != 1 || b.Stats().Rooms != 0 || b.Stats().Members != 2 {
			t.Errorf("%+v %+v; want a.Stats().Rooms to be 1, b.Stats().Rooms to be 0, b.Stats().Members to be 2", a.Stats(), b.Stats())
		}
		seq := there.say("from the second hub")
		for _, c := range []*client{here, other} {
			if f := want[*kibitz.From](c); f.Seq != seq || f.From != there.self.ID {
				t.Errorf("%+v; want f.Seq to be %v, f.From to be %v", f, seq, there.self.ID)
			}
		}
		here.say("from the first hub")
		want[*kibitz.From](there)
		here.ok(obj{"t": "send", "to": other.self.ID, "c": obj{"k": "chat", "text": "for one"}})
		want(other, func(f *kibitz.From) bool { return f.To != "" })
		there.settled()
		if strings.Contains(there.everything(), "for one") {
			t.Error("a directed message reached another connection of that hub")
		}
		ctx := context.Background()
		if g, err := b.SetGrant(ctx, me, id, there.self.ID, &kibitz.Grant{Perceive: []kibitz.Capability{kibitz.ReadChat}}); err != nil || g.Grant.String() != "read-chat" {
			t.Errorf("%+v %v; want no error, g.Grant.String() to be \"read-chat\"", g, err)
		}
		there.refused(kibitz.ActDenied, chat("no more"))
		if r, err := b.Roster(ctx, me, id); err != nil || len(r.Members) != 3 {
			t.Errorf("%+v %v; want no error, len(r.Members) to be 3", r, err)
		}
		if _, err := b.SetPolicy(ctx, me, id, []byte(`{"x":1}`), 0); kibitz.CodeOf(err) != kibitz.PolicyBad {
			t.Error(err)
		}
		if l := must(b.List(ctx, me))(t); len(l) != 1 || l[0].Members != 3 {
			t.Errorf("%+v; want len(l) to be 1, l[0].Members to be 3", l)
		}
		other.gone()
		want(here, func(r *kibitz.Roster) bool { return len(r.Members) == 3 && r.Members[2].Away })
		back := other.back(a, seq)
		if back.self.ID != other.self.ID {
			t.Errorf("%+v; want back.self.ID to be %v", back.self, other.self.ID)
		}
		b.command(id, kibitz.OpKick, there.self.ID)
		there.closed(kibitz.CloseKicked)
		if err := b.Close(ctx, me, id); err != nil {
			t.Error(err)
		}
		here.closed(kibitz.CloseRoomClosed)
		back.closed(kibitz.CloseRoomClosed)
	})
}

func TestAnOwnerThatDiesIsReplacedAndSocketsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, id := twoHubs(t, sqlite(t))
		here := a.guest(id, "Here")
		there := b.guest(id, "There")
		third := b.guest(id, "Third")
		seq := there.say("acknowledged by the first hub")
		a.kill()
		died := time.Now()
		owned := want[*kibitz.Live](there) // the next owner has caught up with it
		took := time.Since(died)
		if took > 5*time.Second {
			t.Errorf("the room was without an owner for %v", took)
		}
		if !there.open() {
			t.Error("a socket of a living hub was closed")
		}
		next := there.say("to the new owner")
		if next <= seq || owned.Seq < seq {
			t.Errorf("%d after %d", next, seq)
		}
		want(third, func(f *kibitz.From) bool { return f.Seq == next })
		// A socket that the dead owner still has is told nothing was taken.
		here.send(obj{"t": "send", "n": 77, "c": obj{"k": "chat", "text": "to a dead owner"}})
		later(time.Second)
		if strings.Contains(here.everything(), `"n":77,"seq"`) || strings.Contains(there.everything(), "to a dead owner") {
			t.Error("a fenced-off owner acknowledged a message")
		}
		back := here.back(b, seq)
		if back.self.ID != here.self.ID {
			t.Errorf("%+v; want back.self.ID to be %v", back.self, here.self.ID)
		}
		// The dead owner wakes up: it acknowledges nothing any more.
		ack := make(chan bool, 1)
		go func() {
			_, err := a.SetGrant(context.Background(), me, id, here.self.ID, &kibitz.Grant{})
			ack <- err == nil
		}()
		if <-ack {
			t.Error("a fenced-off owner acknowledged a grant")
		}
		if r := must(b.Roster(t.Context(), me, id))(t); len(r.Grants) != 3 || r.Grants[here.self.ID].String() == "nothing" {
			t.Errorf("%+v; want len(r.Grants) to be 3, r.Grants[here.self.ID].String() not to be \"nothing\"", r.Grants)
		}
		if !slices.IsSorted(third.heard()) {
			t.Errorf("%v; want slices.IsSorted(third.heard())", third.heard())
		}
	})
}

func TestAHubThatFallsSilentTakesItsConnectionsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, id := twoHubs(t, sqlite(t))
		here, there := a.guest(id, "Here"), b.guest(id, "There")
		_ = there
		b.kill()
		later(30 * time.Second)
		if r := lastOf[*kibitz.Roster](here); len(r.Members) != 1 {
			t.Errorf("%+v; want len(r.Members) to be 1", r)
		}
	})
}

func TestAPolicyChangedElsewhereIsCompared(t *testing.T) {
	a, b, id := twoHubs(t, sqlite(t))
	a.guest(id, "Here")
	ctx := context.Background()
	if _, err := b.SetPolicy(ctx, me, id, []byte(`{}`), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SetPolicy(ctx, me, id, []byte(`{}`), 1); err == nil || err.Error() != room.ErrStale.Error() {
		t.Error(err)
	}
}

// smallBus takes messages of a few kilobytes and no larger ones.
type smallBus struct{ bus.Bus }

const smallMessage = 4 << 10

func (smallBus) MaxPayload() int { return smallMessage }

func (b smallBus) Publish(subject string, data []byte) error {
	if len(data) > smallMessage {
		return bus.ErrTooLarge
	}
	return b.Bus.Publish(subject, data)
}

func (b smallBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if len(data) > smallMessage {
		return nil, bus.ErrTooLarge
	}
	answer, err := b.Bus.Request(ctx, subject, data)
	if len(answer) > smallMessage {
		return nil, bus.ErrTooLarge
	}
	return answer, err
}

// The roster of a full room is more than one message between hubs may hold.
func TestARosterThatIsLargerThanAMessageOfTheBusArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := bus.NewLocal()
		t.Cleanup(func() { _ = wire.Close() })
		db, small := sqlite(t), func(d *room.Deps) { d.Bus = smallBus{d.Bus} }
		a, b := newHub(t, db, wire.Peer(), clustered, small), newHub(t, db, wire.Peer(), clustered, small)
		id := a.open("r", openTo())
		here, there := a.host(id), b.guest(id, "There")
		for range 5 {
			a.dial(id, nil).voice(obj{"name": "Full", "avatar": strings.Repeat("a", kibitz.MaxAvatar)})
		}
		want(there, func(r *kibitz.Roster) bool { return len(r.Members) == 7 })
		if r := must(b.Roster(t.Context(), me, id))(t); len(r.Members) != 7 || len(r.Members[6].Avatar) != kibitz.MaxAvatar {
			t.Errorf("%+v; want len(r.Members) to be 7, len(r.Members[6].Avatar) to be %v", r, kibitz.MaxAvatar)
		}
		// So may be what somebody says, and a policy in both directions.
		long := strings.Repeat("x", 20<<10)
		there.ok(obj{"t": "send", "c": obj{"k": "app", "data": long}})
		if f := want[*kibitz.From](here); !strings.Contains(string(f.C), long) {
			t.Errorf("%d bytes of it arrived", len(f.C))
		}
		p := must(b.SetPolicy(t.Context(), me, id, []byte(`{"humans":{"mode":"open"},"agents":{"mode":"gated","keys":[{"key":{"x":"`+long+`"}}]}}`), 0))(t)
		if !strings.Contains(string(p.Policy.Agents.Keys[0].Key), long) {
			t.Error("the policy did not come back as it went")
		}
	})
}
