package cluster_test

import (
	"strings"
	"testing"

	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// A hub whose line to NATS is cut, while the others have theirs, kept its things for ever:
// nobody could reach them and nobody could take them over.
func TestAHubThatAloneLostNATSHandsOver(t *testing.T) {
	t.Parallel()
	node := natstest.Cluster(t, 1)[0]
	cutter := hubtest.NewCutter(t, strings.TrimPrefix(node.URL(), "nats://"))
	db := pgtest.URL(t)
	cut := hubtest.Start(t, hubtest.Config{Args: []string{"--db", db, "--nats", "nats://" + cutter.Address(), "--name", "cut"}, Env: []string{hubtest.Visits}})
	other := hubtest.Start(t, hubtest.Config{Args: []string{"--db", db, "--nats", node.URL(), "--name", "other"}, Env: []string{hubtest.Visits}})
	here, there := board(t, cut, cut.Owner), board(t, other, other.Owner)
	task := goal(t, here, "/say Before.\n/tool shell {\"command\":\"touch x\"}\n/say After.", nil)
	far, err := there.Follow(t.Context(), task.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	question, _ := events(t, far, 0, asks)
	cutter.Close()
	if state := cut.Wait(); state.Success() || !strings.Contains(cut.Output.String(), "although other hubs reach them") {
		t.Fatalf("the hub ended with %v and said:\n%s", state, cut.Output)
	}
	hubtest.Eventually(t, "the question is answered on the hub that is left", func() bool {
		out, err := there.Approve(t.Context(), question.(*wire.ApprovalRequired).ApprovalID)
		return err == nil && out != nil && out.Outcome == wire.Approved
	})
	if end, _ := events(t, far, question.Ref().Seq, nil); !strings.HasSuffix(end.(*wire.TaskCompleted).Result.Text, "After.") {
		t.Errorf("the task ended with %+v, want it completed by the other hub", end)
	}
}

// A hub without --nats joined a living cluster silently and broke it for the others.
func TestAHubWithoutNATSIsRefusedByACluster(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	lone := hubtest.New(t, hubtest.Config{Args: []string{"--db", c.db, "--name", "lone"}})
	lone.Launch()
	if state := lone.Wait(); state.Success() || !strings.Contains(lone.Output.String(), "give all of them the same --nats servers") {
		t.Errorf("the hub ended with %v and said:\n%s", state, lone.Output)
	}
	newToken(t, c.hubs[0])
}
