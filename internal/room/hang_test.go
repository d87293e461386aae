package room_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/bus/bustest"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// A hub that is stopped (SIGSTOP, a paused machine) is still connected to the bus,
// so nobody is told that it answers no more. Once it goes on it is nobody's owner.
func TestAnOwnerThatHangsIsReplacedAndFencedWhenItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := bus.NewLocal()
		t.Cleanup(func() { _ = wire.Close() })
		db, stopped := sqlite(t), &bustest.Hanging{}
		a := newHub(t, db, wire.Peer(), clustered, func(d *room.Deps) { stopped.Bus, d.Bus = d.Bus, stopped })
		b := newHub(t, db, wire.Peer(), clustered)
		id := a.open("r", openTo())
		here, there, third := a.guest(id, "Here"), b.guest(id, "There"), b.guest(id, "Third")
		// Another room of the same owner: waiting for one must not delay the other.
		other := a.open("s", openTo())
		a.guest(other, "First")
		second := b.guest(other, "Second")
		seq := there.say("before")
		a.leases.Abandon()
		goOn := stopped.Hang()
		defer goOn()
		began := time.Now()
		for _, c := range []*client{there, second} {
			want[*kibitz.Live](c)
			took := time.Since(began)
			t.Logf("a new owner after %v", took)
			if took > 5*time.Second {
				t.Errorf("without an owner for %v", took)
			}
		}
		next := there.say("to the new owner")
		if next <= seq {
			t.Errorf("%d after %d", next, seq)
		}
		want(third, func(f *kibitz.From) bool { return f.Seq == next })

		before := len(there.everything())
		goOn()
		// What the former owner's own socket says reaches nobody and is not
		// acknowledged, whether it would be content, signalling or a lane.
		for _, v := range []obj{
			chat("from a fenced owner"), {"t": "media", "camera": true}, {"t": "voice", "on": true, "name": "Forged"}, {"t": "sync"},
		} {
			v["n"] = 50
			here.send(v)
		}
		later(time.Second)
		if strings.Contains(here.everything(), `{"t":"ack","n":50`) {
			t.Error("a fenced owner acknowledged something")
		}
		if told := there.everything()[before:]; strings.Contains(told, "from a fenced owner") || strings.Contains(told, "Forged") || strings.Contains(told, `"t":"nak"`) {
			t.Errorf("a fenced owner was heard: %s", told)
		}
		if n := a.Stats().Rooms; n != 0 {
			t.Errorf("the former owner still has %d rooms", n)
		}
		if r := must(b.Roster(context.Background(), me, id))(t); r.Seq != next {
			t.Errorf("number %d, want %d", r.Seq, next)
		}
	})
}

// Nobody knows whether a hub that hangs has heard what it did not answer. The
// connection ends, and what is sent again under its id is heard once.
func TestWhatAHangingOwnerDidNotAnswerIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := bus.NewLocal()
		t.Cleanup(func() { _ = wire.Close() })
		db, stopped := sqlite(t), &bustest.Hanging{}
		a := newHub(t, db, wire.Peer(), clustered, func(d *room.Deps) { stopped.Bus, d.Bus = d.Bus, stopped })
		b := newHub(t, db, wire.Peer(), clustered)
		id := a.open("r", openTo())
		a.guest(id, "Here")
		there, third := b.guest(id, "There"), b.guest(id, "Third")
		seq := there.say("answered")
		a.leases.Abandon()
		goOn := stopped.Hang()
		defer goOn()
		lost := chat("while it hangs")
		lost["id"], lost["n"] = "mine", 77
		there.send(lost)
		there.closed(kibitz.CloseGoingAway)
		// Whoever waits for nothing stays.
		want[*kibitz.Live](third)

		again := there.back(b, seq)
		if ack := again.ok(lost); ack.Dup || ack.Seq <= seq {
			t.Errorf("sent again: %+v", ack)
		}
		goOn()
		later(time.Second)
		if n := strings.Count(third.everything(), "while it hangs"); n != 1 {
			t.Errorf("heard %d times", n)
		}
	})
}
