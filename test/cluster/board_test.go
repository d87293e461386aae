package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// board connects to a hub over the board protocol.
func board(t *testing.T, h *hubtest.Hub, token string) *viber.Client {
	t.Helper()
	c, err := viber.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+"/ws", viber.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func goal(t *testing.T, c *viber.Client, text string, change func(*wire.TaskOptions)) *viber.Task {
	t.Helper()
	o := &wire.TaskOptions{StreamDeltas: true}
	if change != nil {
		change(o)
	}
	task, err := c.Submit(t.Context(), &wire.TaskSubmit{Goal: text, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// events reads a task's events until one fits or all are read. Their numbers must
// follow each other from after on.
func events(t *testing.T, task *viber.Task, after int64, fits func(wire.TaskEvent) bool) (last wire.TaskEvent, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience)
	defer cancel()
	for m, err := range task.Events(ctx) {
		if err != nil {
			t.Fatalf("after event %d: %v", after, err)
		}
		event, ok := m.Body.(wire.TaskEvent)
		if !ok {
			continue
		}
		first := event.Ref().Seq
		if d, ok := event.(*wire.TaskDelta); ok {
			first = d.FirstSeq()
			text += d.Text
		}
		if first != after+1 {
			t.Fatalf("event %d after %d", first, after)
		}
		after, last = event.Ref().Seq, event
		if fits != nil && fits(event) {
			return last, text
		}
	}
	return last, text
}

func asks(e wire.TaskEvent) bool {
	_, ok := e.(*wire.ApprovalRequired)
	return ok
}

func TestATaskOfOneHubIsWatchedApprovedSteeredAndStoppedOnAnother(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	here, there := board(t, c.hubs[0], c.hubs[0].Owner), board(t, c.hubs[1], c.hubs[1].Owner)
	task := goal(t, here, "/say One.\n/tool shell {\"command\":\"touch x; sleep 1\"}\n/say Two.", nil)
	events(t, task, 0, asks)
	far, err := there.Follow(t.Context(), task.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	question, _ := events(t, far, 0, asks)
	out, err := there.Approve(t.Context(), question.(*wire.ApprovalRequired).ApprovalID)
	if err != nil || out.Outcome != wire.Approved {
		t.Fatalf("%+v, %v; want no error, out.Outcome to be %v", out, err, wire.Approved)
	}
	if ack, err := there.Message(t.Context(), task.ID(), "/say Steered.", wire.Steer); err != nil || ack.Disposition != wire.Steering {
		t.Fatalf("%+v, %v; want no error, ack.Disposition to be %v", ack, err, wire.Steering)
	}
	near, _ := events(t, task, question.Ref().Seq, nil)
	end, _ := events(t, far, question.Ref().Seq, nil)
	done, ok := end.(*wire.TaskCompleted)
	if !ok || done.Result.Text != "Two.\nSteered." || near.(*wire.TaskCompleted).Result.Text != done.Result.Text {
		t.Errorf("%+v and %+v", near, end)
	}
	second := goal(t, here, "/say On.\n/sleep 600000", nil)
	if err := there.Stop(t.Context(), second.ID(), "from there"); err != nil {
		t.Fatal(err)
	}
	if end, _ := events(t, second, 0, nil); end.(*wire.TaskStopped).Reason != "from there" {
		t.Errorf("%+v; want end.(*wire.TaskStopped).Reason to be \"from there\"", end)
	}
}

func TestTheTasksOfAKilledHubAreEndedOrContinuedByAnother(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	here, there := board(t, c.hubs[0], c.hubs[0].Owner), board(t, c.hubs[1], c.hubs[1].Owner)
	const text = "/say Before.\n/tool shell {\"command\":\"touch x\"}\n/say After."
	ends, goes := goal(t, here, text, func(o *wire.TaskOptions) { o.OnRestart = wire.OnRestartFail }), goal(t, here, text, nil)
	farEnds, err := there.Follow(t.Context(), ends.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	farGoes, err := there.Follow(t.Context(), goes.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := events(t, farEnds, 0, asks)
	g, _ := events(t, farGoes, 0, asks)
	c.hubs[0].Kill9()
	died := time.Now()
	end, _ := events(t, farEnds, e.Ref().Seq, nil)
	t.Logf("taken over after %s", time.Since(died).Round(100*time.Millisecond))
	failed, ok := end.(*wire.TaskError)
	if !ok || failed.Details.Reason != wire.ReasonDaemonRestarted || !failed.Error.Recoverable || failed.PartialResult.Text != "Before." {
		t.Fatalf("%+v; want ok, failed.Details.Reason to be %v, failed.Error.Recoverable, failed.PartialResult.Text to be \"Before.\"", end, wire.ReasonDaemonRestarted)
	}
	hubtest.Eventually(t, "the other task's question is answered", func() bool {
		out, err := there.Approve(t.Context(), g.(*wire.ApprovalRequired).ApprovalID)
		return err == nil && out != nil && out.Outcome == wire.Approved
	})
	if end, _ := events(t, farGoes, g.Ref().Seq, nil); !strings.HasSuffix(end.(*wire.TaskCompleted).Result.Text, "After.") {
		t.Errorf("%+v; want strings.HasSuffix(end.(*wire.TaskCompleted).Result.Text, \"After.\")", end)
	}
}

func TestATerminalOfOneHubIsUsedOnAnother(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	here, there := board(t, c.hubs[0], c.hubs[0].Owner), board(t, c.hubs[1], c.hubs[1].Owner)
	made, err := here.OpenTerminal(t.Context(), &wire.TerminalCreate{Command: "stty -echo; echo ready; while read x; do echo \"got $x\"; done; exit 5"})
	if err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the other hub lists it", func() bool {
		list, err := there.Terminals(t.Context())
		return err == nil && len(list) == 1 && list[0].ID == made.ID
	})
	far, err := there.Attach(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	var exit *wire.TerminalExit
	for m, err := range far.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := m.Body.(type) {
		case *wire.TerminalOutput:
			text += p.Data
			switch {
			case strings.HasSuffix(text, "ready\r\n"):
				err = far.Input(t.Context(), "hello\n")
			case strings.HasSuffix(text, "got hello\r\n"):
				err = far.Input(t.Context(), "\x04")
			}
			if err != nil {
				t.Fatal(err)
			}
		case *wire.TerminalExit:
			exit = p
		}
	}
	if text != "ready\r\ngot hello\r\n" || exit == nil || exit.ExitCode != 5 {
		t.Errorf("%q, %+v; want text to be \"ready\\r\\ngot hello\\r\\n\", exit not to be nil, exit.ExitCode to be 5", text, exit)
	}
}

func TestARevokedTokenEndsItsBoardsOnEveryHub(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	made, err := hubapi.Call(t.Context(), c.hubs[0].Client(), rest.CreateToken, rest.TokenRequest{Name: "x", Scopes: []string{"task"}})
	if err != nil {
		t.Fatal(err)
	}
	there := board(t, c.hubs[1], made.Token)
	task := goal(t, there, "/say On.\n/sleep 600000", nil)
	if _, err := hubapi.Call(t.Context(), c.hubs[0].Client(), rest.RevokeToken, rest.ByID{ID: made.ID}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-there.Done():
	case <-time.After(hubtest.Patience):
		t.Fatal("the connection is still there")
	}
	owner := board(t, c.hubs[0], c.hubs[0].Owner)
	if list, err := owner.Tasks(t.Context(), wire.TaskList{Status: wire.TaskRunning}); err != nil || len(list.Tasks) != 1 || list.Tasks[0].TaskID != task.ID() {
		t.Errorf("%+v, %v", list, err)
	}
}
