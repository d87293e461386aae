package faults_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

func stateOf(t *testing.T, h *hubtest.Hub, id string) rest.CallStatus {
	t.Helper()
	s, err := hubapi.Call(t.Context(), h.Client(), rest.GetCall, rest.CallID{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A hub that is killed while calls wait, one is under way and a machine has just
// enrolled must know all of it afterwards, and repeat nothing that may have run.
func TestKill9LosesNoEnrolmentAndNoQueuedCall(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	m := hubtest.Enrol(t, h, "pc", func(ctx context.Context, r *kenny.Request) (jsontext.Value, error) {
		if r.Tool == "net_dns_flush" {
			<-ctx.Done() // never answered: the hub dies first
			return nil, ctx.Err()
		}
		return jsontext.Value(`{"path":"seen"}`), nil
	})
	unasked := hubapi.New(h.URL, h.Token("fleet:*", "fleet:unattended"))
	queue := func(tool, args string) string {
		t.Helper()
		a, err := hubapi.Call(t.Context(), unasked.Patient(), rest.CallMachine, rest.MachineCall{ID: "pc", Body: rest.Call{Tool: tool, Args: []byte(args), QueueForS: 3600}})
		if err != nil || a.State != "queued" {
			t.Fatalf("%+v %v; want no error, a.State to be \"queued\"", a, err)
		}
		return a.CallID
	}
	change, first, second := queue("net_dns_flush", `{}`), queue("fs_list", `{"path":"/1"}`), queue("fs_list", `{"path":"/2"}`)
	stop := m.Connect(t, h)
	if r := <-m.Asked; r.ID != change {
		t.Fatalf("%+v; want r.ID to be %v", r, change)
	}
	h.Kill9()
	stop()
	h.Restart()
	hubtest.Eventually(t, "what may have run is lost", func() bool { return stateOf(t, h, change).State == "lost" })
	if s := stateOf(t, h, first); s.State != "queued" {
		t.Errorf("%+v; want s.State to be \"queued\"", s)
	}
	m.Connect(t, h) // its key is still known
	for _, id := range []string{first, second} {
		if r := <-m.Asked; r.ID != id {
			t.Fatalf("%+v instead of %s", r, id)
		}
		hubtest.Eventually(t, "the queue goes on", func() bool { return stateOf(t, h, id).State == "done" })
	}
	if s := stateOf(t, h, change); s.State != "lost" || len(m.Asked) != 0 {
		t.Errorf("%+v; want s.State to be \"lost\", len(m.Asked) to be 0", s)
	}
}
