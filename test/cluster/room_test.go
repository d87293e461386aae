package cluster_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"parley.internal/protocol/kibitz"
	"parley.internal/test/hubtest"
	"parley.internal/test/roomwire"
)

// A room is one room on every hub; when the hub that has it dies, another has it
// soon, sockets on living hubs stay, and the others resume.
func TestARoomIsOneOnThreeHubsAndOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	if a := c.hubs[0].Do("POST", "/api/rooms", `{"room":"r","policy":{"humans":{"mode":"open"}}}`); a.Status != http.StatusCreated {
		t.Fatalf("%+v; want a.Status to be %v", a, http.StatusCreated)
	}
	var all []*roomwire.Client
	for _, h := range c.hubs { // the first one there owns the room
		all = append(all, roomwire.Dial(t, h.URL, "r", "").Join(map[string]any{"name": "Somebody"}))
	}
	for i, c := range all {
		seq := c.Say("hello")
		for j, d := range all {
			if i != j {
				if f := roomwire.Want[*kibitz.From](d); f.Seq != seq || f.From != c.Self.ID {
					t.Errorf("%+v; want f.Seq to be %v, f.From to be %v", f, seq, c.Self.ID)
				}
			}
		}
	}
	members := func(h *hubtest.Hub) int {
		a := h.Do("GET", "/api/rooms/r", "")
		return countMembers(a.Body)
	}
	if n := members(c.hubs[2]); n != 3 {
		t.Errorf("%d members", n)
	}
	last := all[1].Say("before the owner dies")
	c.hubs[0].Kill9()
	all[0].Gone()
	// The two living sockets are taken over without a word of theirs.
	for _, d := range all[1:] {
		if l := roomwire.Want(d, func(l *kibitz.Live) bool { return l.Seq >= last }); l.Seq < last {
			t.Errorf("%+v; want l.Seq to be at least last", l)
		}
	}
	next := all[1].Say("to the new owner")
	if next <= last {
		t.Errorf("the numbers went back: %d after %d", next, last)
	}
	roomwire.Want(all[2], func(f *kibitz.From) bool { return f.Seq == next })
	back := roomwire.Dial(t, c.hubs[2].URL, "r", "").Resume(all[0].Self.Resume, last)
	if back.Self.ID != all[0].Self.ID {
		t.Errorf("%+v", back.Self)
	}
	hubtest.Eventually(t, "all three are there", func() bool { return members(c.hubs[1]) == 3 })
}

func countMembers(body []byte) int {
	var info struct {
		Members int `json:"members"`
	}
	if json.Unmarshal(body, &info) != nil {
		return -1
	}
	return info.Members
}
