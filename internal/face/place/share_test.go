package place_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
)

// crowded is a place whose queues hold twenty messages.
func crowded(t *testing.T, auth place.Auth) *world {
	t.Helper()
	return newWorld(t, policy(auth), func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.QueueLimit = 20 })
}

// One agent sent until the queue of another was full; from then on nobody could
// write to the victim any more.
func TestOneSenderDoesNotFillAVictimsQueue(t *testing.T) {
	for _, auth := range []place.Auth{place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) {
			w := crowded(t, auth)
			eve, ada, bob := w.prove(keyNo(0), "eve"), w.prove(keyNo(1), "ada"), w.prove(keyNo(2), "bob")
			for i := range 20 {
				w.send("eve", "bob", fmt.Sprint("flood ", i), eve)
			}
			w.want(w.post("/place/v1/relay/send", eve, envelope("eve", "bob", "one too many")), 429, "queue_full")
			w.send("ada", "bob", "hello", ada)
			w.send("ada", "bob", "it is me", ada)
			w.want(w.post("/place/v1/relay/send", ada, envelope("ada", "bob", "more than her share")), 429, "queue_full")
			got := blobs(w.receive("bob", bob, "&limit=100"))
			if len(got) != 22 || cmp.Diff(got[20:], []string{"hello", "it is me"}) != "" {
				t.Errorf("bob got %q, want the 20 that were there and both of ada", got)
			}
		})
	}
}

// Many senders together fill a queue to twice its limit and no further.
func TestAQueueHasAnEndForEverybody(t *testing.T) {
	w := crowded(t, place.TOFU)
	eve := w.prove(keyNo(0), "eve")
	w.prove(keyNo(2), "bob")
	for i := range 20 {
		w.send("eve", "bob", fmt.Sprint("flood ", i), eve)
	}
	for i := range 20 {
		w.send(fmt.Sprint("friend", i), "bob", "hello", "")
	}
	w.want(w.post("/place/v1/relay/send", "", envelope("friend20", "bob", "hello")), 429, "queue_full")
}

// Where a full queue drops its oldest message, a flood dropped everybody else's.
func TestAFloodDropsItsOwnMessages(t *testing.T) {
	w := crowded(t, place.Open)
	w.send("ada", "bob", "hello", "")
	for i := range 40 {
		w.send("eve", "bob", fmt.Sprint("flood ", i), "")
	}
	got := blobs(w.receive("bob", "", "&limit=100"))
	if len(got) != 20 || got[0] != "hello" || got[19] != "flood 39" {
		t.Errorf("bob got %q, want ada's message and the newest of eve's", got)
	}
}
