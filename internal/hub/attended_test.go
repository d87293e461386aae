package hub

import (
	"errors"
	"testing"

	"parley.internal/internal/bus"
)

// A person who may answer is there if any hub of the cluster says so.
func TestAPersonAtAnotherHubIsThere(t *testing.T) {
	here := bus.NewLocal()
	there := here.Peer()
	t.Cleanup(func() {
		if err := errors.Join(here.Close(), there.Close()); err != nil {
			t.Error(err)
		}
	})
	if attendedElsewhere(here, "p-alice") {
		t.Error("there is no other hub yet")
	}
	for b, who := range map[bus.Bus]string{here: "", there: "p-alice"} {
		sub, err := answerAttended(b, func(principal string) bool { return principal == who })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sub.Close)
	}
	if !attendedElsewhere(here, "p-alice") {
		t.Error("she is at the other hub")
	}
	if attendedElsewhere(here, "p-bob") {
		t.Error("he is nowhere")
	}
}
