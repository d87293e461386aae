//go:build unix

package cluster_test

import (
	"net/http"
	"syscall"
	"testing"

	"parley.internal/protocol/kibitz"
	"parley.internal/test/hubtest"
	"parley.internal/test/roomwire"
)

// A hub that is stopped still has its connections to the bus and to its clients.
// Another has its rooms within the time of a lease; once it goes on it is refused
// its word as owner, and serves its clients as any other hub.
func TestAHubThatIsStoppedLosesItsRoomsAndIsFencedOnceItGoesOn(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	stopped, other := c.hubs[0], c.hubs[1]
	if a := stopped.Do("POST", "/api/rooms", `{"room":"r","policy":{"humans":{"mode":"open"}}}`); a.Status != http.StatusCreated {
		t.Fatalf("%+v; want a.Status to be %v", a, http.StatusCreated)
	}
	here := roomwire.Dial(t, stopped.URL, "r", "").Join(map[string]any{"name": "Here"})
	there := roomwire.Dial(t, other.URL, "r", "").Join(map[string]any{"name": "There"})
	last := here.Say("before")
	roomwire.Want(there, func(f *kibitz.From) bool { return f.Seq == last })
	stopped.Signal(syscall.SIGSTOP)
	roomwire.Want(there, func(l *kibitz.Live) bool { return l.Seq >= last })
	next := there.Say("to the new owner")
	if next <= last {
		t.Errorf("the numbers went back: %d after %d", next, last)
	}
	stopped.Signal(syscall.SIGCONT)
	var seq uint64
	hubtest.Eventually(t, "the stopped hub's client is heard", func() bool {
		ack, nak := here.Ask(roomwire.Chat("to whoever owns the room"))
		if ack == nil && (nak == nil || nak.Code != kibitz.GateUnavailable && nak.Code != kibitz.LimitRate) {
			t.Fatalf("no answer, or a wrong one: %+v", nak)
		}
		if ack != nil {
			seq = ack.Seq
		}
		return ack != nil
	})
	if seq <= next {
		t.Errorf("a fenced owner acknowledged %d after %d", seq, next)
	}
	roomwire.Want(there, func(f *kibitz.From) bool { return f.Seq == seq })
}
