package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// A hub that was told to stop cut the calls that machines were answering, and failed tasks
// that waited for a person. It lets the first finish and leaves the second to the others.
func TestAHubThatIsToldToStopHandsOver(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	stops, stays := c.hubs[0], c.hubs[1]
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	m := hubtest.Enrol(t, stops, "lab.pc-1", func(ctx context.Context, r *kenny.Request) (jsontext.Value, error) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return r.Args, ctx.Err()
	})
	m.Connect(t, stops)
	here, there := board(t, stops, stops.Owner), board(t, stays, stays.Owner)
	task := goal(t, here, "/say Before.\n/tool shell {\"command\":\"touch x\"}\n/say After.", nil)
	far, err := there.Follow(t.Context(), task.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	question, _ := events(t, far, 0, asks)
	// From the hub that stays: whoever called must hear the end of it.
	called := make(chan error, 1)
	call := func() error {
		_, err := hubapi.Call(t.Context(), stays.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "lab.pc-1", Body: rest.Call{Tool: "fs_list", Args: []byte(`{"path":"/tmp"}`)}})
		return err
	}
	hubtest.Eventually(t, "the machine is asked", func() bool {
		go func() { called <- call() }()
		select {
		case <-asked:
			return true
		case err := <-called:
			t.Logf("the machine is not known yet: %v", err)
			return false
		}
	})
	stops.Terminate()
	hubtest.Eventually(t, "/readyz says no", func() bool { return stops.Do("GET", "/readyz", "").Status != 200 })
	close(answer)
	if err := <-called; err != nil {
		t.Errorf("a call that was under way when its hub was told to stop: %v, want its answer", err)
	}
	hubtest.Eventually(t, "the question is answered on the hub that stays", func() bool {
		out, err := there.Approve(t.Context(), question.(*wire.ApprovalRequired).ApprovalID)
		return err == nil && out != nil && out.Outcome == wire.Approved
	})
	end, _ := events(t, far, question.Ref().Seq, nil)
	if done, ok := end.(*wire.TaskCompleted); !ok || !strings.HasSuffix(done.Result.Text, "After.") {
		t.Errorf("the task ended with %+v, want it completed by the hub that stays", end)
	}
	if state := stops.Wait(); state.ExitCode() != 0 {
		t.Errorf("the hub ended with %s", state)
	}
}
