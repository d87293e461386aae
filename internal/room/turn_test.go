package room_test

import (
	"sync"
	"testing"

	"parley.internal/protocol/kibitz"
)

// A message may be judged on the goroutine that read it; what the same connection
// said before still goes first.
func TestAMessageDoesNotOvertakeWhatWasSaidBefore(t *testing.T) {
	h := alone(t)
	id := h.open("r", openTo())
	ann := h.guest(id, "Ann")
	for range 20 {
		ben := h.guest(id, "Ben")
		seq := ben.say("here")
		ben.send(obj{"t": "voice", "on": false, "n": 7})
		ben.refused(kibitz.RoomNotAdmitted, chat("gone"))
		if want[*kibitz.From](ann).Seq != seq {
			t.Fatal("somebody who had left was heard")
		}
	}
	ann.settled()
	if n := len(ann.heard()); n != 20 {
		t.Errorf("%d messages were heard, want 20", n)
	}
}

// Everybody has the turn at the same time, on many goroutines, while the room's own
// changes the roster and the grants.
func TestOneTurnAtATime(t *testing.T) {
	const members, each = 6, 50
	h := alone(t)
	id := h.open("r", openTo())
	host, watcher := h.host(id), h.guest(id, "Watcher")
	all := make([]*client, members)
	for i := range all {
		all[i] = h.guest(id, "Member")
	}
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			for range each {
				c.send(chat("word"))
			}
		})
	}
	for range 10 {
		host.ok(obj{"t": "grant", "id": all[0].self.ID, "grant": obj{"perceive": []string{"read-chat"}, "act": []string{"send-chat"}}})
		host.ok(obj{"t": "mod", "op": "lock"})
		host.ok(obj{"t": "mod", "op": "unlock"})
	}
	work.Wait()
	for _, c := range append(all, watcher) {
		c.send(obj{"t": "sync", "n": 99})
		want[*kibitz.Ack](c, func(a *kibitz.Ack) bool { return a.N == 99 })
	}
	heard := watcher.heard()
	for i, seq := range heard {
		if seq != uint64(i)+1 {
			t.Fatalf("message %d has number %d", i, seq)
		}
	}
	if len(heard) != members*each {
		t.Errorf("%d of %d messages were heard", len(heard), members*each)
	}
}
