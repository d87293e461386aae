package ownertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley.internal/internal/bus"
)

// oddMessages sends what no hub of ours sends to the place where an owner listens.
func oddMessages(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	subject := "owner.tally." + bus.Token(here.leases.ID())
	for _, msg := range []string{
		"", "\n", "nonsense", "{}", "{}\n", `{"op":"steal","from":"x","ask":"1"}` + "\n", `{"op":"ask","thing":"a","from":"x","ask":"2"}` + "\nnonsense",
		`{"op":"more","ask":"none","at":7}` + "\n", `{"op":"next","thing":"none"}` + "\n", `{"op":"leave","thing":"none"}` + "\n",
		`{"op":"cancel","from":"x","ask":"3"}` + "\n", `{"op":"ask","thing":"a","size":1000000000000}` + "\n{}", `{"op":"more","at":-1}` + "\n",
		`{"op":"ask","thing":"a","from":"x","ask":"4"}` + "\n" + `{"op":"add","n":1000}`, // nobody waits for it
	} {
		if err := there.bus.Publish(subject, []byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	// The same question, twice at the same time: it is done once.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	twice := []byte(fmt.Sprintf(`{"op":"ask","from":%q,"ask":"twice","thing":"a"}`, there.leases.ID()) + "\n" + `{"op":"wait"}`)
	asked := make(chan struct{})
	for range 2 {
		go func() {
			_, _ = there.bus.Request(ctx, subject, twice)
			asked <- struct{}{}
		}()
	}
	w.waitBegun(t)
	if a := there.ask("a", Question{Op: "add", N: 1}); a.N != 1 {
		t.Errorf("the sum is %d, want 1: something odd was done", a.N)
	}
	cancel()
	<-asked
	<-asked
	here.Close() // ends what waits
	if <-w.ended; w.begun != 1 {
		t.Errorf("a question that was put twice was begun %d times", w.begun)
	}
}
