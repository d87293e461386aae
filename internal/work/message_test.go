package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// userMessages are what the model was given meanwhile, in order.
func userMessages(r *run) (out []string) {
	for _, m := range ofType[*viber.TaskUserMessage](r) {
		out = append(out, fmt.Sprintf("%d %s %s", m.Turn, m.Mode, m.Message.Content))
	}
	return out
}

func TestFollowupsAreTurnsOfTheirOwnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(goal("/say first", "/sleep 300", "/say turn"))
		r.untilText("first")
		for i := range 3 {
			ack := r.message(viber.Followup, fmt.Sprintf("/say answer %d", i))
			if ack.Disposition != viber.Queued || ack.Position != i+1 {
				t.Errorf("%+v", ack)
			}
		}
		snap, err := h.Snapshot(ctx, alice, r.id)
		if err != nil || len(snap.QueuedMessages) != 3 || snap.Status != viber.TaskRunning {
			t.Errorf("%+v %v; want no error, len(snap.QueuedMessages) to be 3, snap.Status to be %v", snap, err, viber.TaskRunning)
		}
		done := r.completed()
		if done.Result.Text != "answer 2" || done.Turns != 4 || r.text() != "answer 2" {
			t.Errorf("%+v; want done.Result.Text to be \"answer 2\", done.Turns to be 4, r.text() to be \"answer 2\"", done)
		}
		want := "[2 followup /say answer 0 3 followup /say answer 1 4 followup /say answer 2]"
		if got := fmt.Sprint(userMessages(r)); got != want {
			t.Errorf("%s; want %v", got, want)
		}
	})
}

func TestCollectedMessagesBecomeOneTurnAfterTheFollowups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(goal("/say first", "/sleep 2000"))
		r.untilText("first")
		r.message(viber.Collect, "/say a")
		r.message(viber.Collect, "/say b")
		r.message(viber.Followup, "/say followed")
		r.until(func(ev viber.TaskEvent) bool {
			m, ok := ev.(*viber.TaskUserMessage)
			return ok && m.Mode == viber.Followup
		})
		m := untilType[*viber.TaskUserMessage](r)
		if m.Mode != viber.Collect || m.Message.Content != "/say a\n\n/say b" || len(m.MessageIDs) != 2 || m.Turn != 3 {
			t.Errorf("%+v; want m.Mode to be %v, m.Message.Content to be \"/say a\\n\\n/say b\", len(m.MessageIDs) to be 2, m.Turn to be 3", m, viber.Collect)
		}
		if done := r.completed(); done.Result.Text != "a\nb" || done.Turns != 3 {
			t.Errorf("%+v; want done.Result.Text to be \"a\\nb\", done.Turns to be 3", done)
		}
	})
}

// A hub that lost a task does not know it yet; a message it took in then would be
// acknowledged and never read by the hub that runs the task now.
func TestAHubThatLostATaskTakesNoMessageForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withLease(lease.Options{TTL: time.Hour, Renew: 30 * time.Minute}))
		r := h.submit(goal("/say first", "/sleep 300000"))
		r.untilText("first")
		if err := h.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE leases SET owner = 'another', epoch = epoch + 1 WHERE name = ?`, "task."+r.id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		_, err := h.Message(ctx, alice, work.MessageRequest{Task: r.id, Mode: viber.Steer, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/say more"}})
		if !errors.Is(err, work.ErrUnavailable) {
			t.Errorf("a message to a task that another hub has: %v, want %v", err, work.ErrUnavailable)
		}
		var kept int
		if err := h.db.Read(ctx, func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM work_messages WHERE task = ?`, r.id).Scan(&kept)
		}); err != nil || kept != 0 {
			t.Errorf("%d messages are kept (%v), want none", kept, err)
		}
	})
}

func TestCollectingWaitsHalfASecondForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(goal("/say first", "/sleep 100"))
		r.untilText("first")
		r.message(viber.Collect, "/say a")
		<-time.After(400 * time.Millisecond) // the turn has ended by now
		r.message(viber.Collect, "/say b")
		asked := time.Now()
		m := untilType[*viber.TaskUserMessage](r)
		if waited := time.Since(asked); waited < 500*time.Millisecond || waited > 600*time.Millisecond || len(m.MessageIDs) != 2 {
			t.Errorf("after %v: %+v", waited, m)
		}
		r.completed()
	})
}

func TestASteerCutsTheModelShortAndKeepsItsText(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say going one way", "/sleep 600000", "/say never"))
	r.untilText("going one way")
	ack := r.message(viber.Steer, "/say the other")
	if ack.Disposition != viber.Steering || ack.Position != 1 {
		t.Errorf("%+v; want ack.Disposition to be %v, ack.Position to be 1", ack, viber.Steering)
	}
	m := untilType[*viber.TaskUserMessage](r)
	if m.Turn != 2 || m.MessageID != ack.MessageID || m.By != "person:alice" {
		t.Errorf("%+v; want m.Turn to be 2, m.MessageID to be %v, m.By to be \"person:alice\"", m, ack.MessageID)
	}
	r.message(viber.Steer, "/sleep 0") // the interrupted script goes on: cut it again
	h.stopAfter(r)
	sent := h.models.sent()
	second := sent[1].Messages
	if len(second) != 3 || second[1].Role != model.Assistant || !second[1].Interrupted || second[1].Text != "going one way" || second[2].Text != "/say the other" {
		t.Errorf("%+v", second)
	}
}

// stopAfter stops a run and reads it to its end.
func (h *hub) stopAfter(r *run) {
	h.t.Helper()
	if _, err := h.Stop(ctx, alice, r.id, ""); err != nil && !errors.Is(err, work.ErrFinished) {
		h.t.Fatal(err)
	}
	r.end()
}

func TestASteerDuringAToolLetsItFinishAndSkipsTheRest(t *testing.T) {
	var e echo
	begun, finish := make(chan struct{}), make(chan struct{})
	slow := e.tool("slow", 2, func(ctx context.Context) error {
		close(begun)
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	h := newHub(t, sqlite(t), withTools(slow, e.tool("echo", 2, nil)))
	r := h.submit(goal(`/tool slow {"n":1}`, `/and echo {"n":2}`, "/say script over"))
	<-begun
	r.message(viber.Steer, "/say steered")
	close(finish)
	m := untilType[*viber.TaskUserMessage](r)
	results := r.results()
	if !strings.Contains(results["call_1_1"], `"ok":true`) || !strings.Contains(results["call_1_2"], `"superseded"`) {
		t.Errorf("%v; want \"\"ok\":true\" in it, \"\"superseded\"\" in it", results)
	}
	if m.Turn != 2 || fmt.Sprint(e.made()) != `[slow{"n":1}]` {
		t.Errorf("%+v, ran %v", m, e.made())
	}
	if done := r.completed(); done.Result.Text != "script over\nsteered" {
		t.Errorf("%q; want done.Result.Text to be \"script over\\nsteered\"", done.Result.Text)
	}
}

func TestASteerWhileAnApprovalWaitsWithdrawsIt(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(with(goal(`/tool shell {"command":"touch x"}`, "/say after"), func(o *viber.TaskOptions) { o.Mode = viber.AgentDecides }))
	asked := untilType[*viber.ApprovalRequired](r)
	r.message(viber.Steer, "/say never mind")
	resolved := untilType[*viber.ApprovalResolved](r)
	if resolved.Outcome != viber.Cancelled || resolved.ApprovalID != asked.ApprovalID {
		t.Errorf("%+v; want resolved.Outcome to be %v, resolved.ApprovalID to be %v", resolved, viber.Cancelled, asked.ApprovalID)
	}
	done := r.completed()
	if done.Result.Text != "after\nnever mind" || !strings.Contains(r.results()["call_1_1"], `"rejected"`) {
		t.Errorf("%q %v; want done.Result.Text to be \"after\\nnever mind\", \"\"rejected\"\" in it", done.Result.Text, r.results())
	}
	late := h.answer(alice, yes(asked.ApprovalID))
	if late.First || late.Resolved.Outcome != viber.Cancelled {
		t.Errorf("%+v; want not late.First, late.Resolved.Outcome to be %v", late, viber.Cancelled)
	}
	if waitFileNow(h, "x") {
		t.Error("it ran all the same")
	}
}

func TestAFinishedTaskTakesNoMessage(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say x"))
	r.completed()
	say := func(task string, who string, m viber.ChatMessage) error {
		_, err := h.Message(ctx, person(who), work.MessageRequest{Task: task, Message: m})
		return err
	}
	hello := viber.ChatMessage{Role: viber.RoleUser, Content: "hello"}
	if err := say(r.id, "alice", hello); !errors.Is(err, work.ErrFinished) {
		t.Errorf("finished: %v", err)
	}
	if err := say(r.id, "bob", hello); !errors.Is(err, work.ErrNotFound) {
		t.Errorf("foreign: %v", err)
	}
	for _, id := range []string{"", "x", "\x00", "01890000-0000-7000-8000-000000000000"} {
		if err := say(id, "alice", hello); !errors.Is(err, work.ErrNotFound) {
			t.Errorf("%q: %v; want work.ErrNotFound", id, err)
		}
	}
	err := say(r.id, "alice", viber.ChatMessage{Role: viber.RoleAssistant, Content: "hello"})
	if v, ok := errors.AsType[*viber.Violation](err); !ok || v.Reason != viber.ReasonBadRole {
		t.Errorf("role: %v", err)
	}
}

func TestTheTwentyFirstMessageIsRefused(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say on", "/sleep 600000"))
	r.untilText("on")
	for range 20 {
		r.message(viber.Followup, "/say x")
	}
	_, err := h.Message(ctx, alice, work.MessageRequest{Task: r.id, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "one more"}})
	if l, ok := errors.AsType[*work.LimitError](err); !ok || l.Reason != viber.ReasonQueueFull || l.RetryAfter != time.Second {
		t.Errorf("%v; want ok, l.Reason to be %v, l.RetryAfter to be %v", err, viber.ReasonQueueFull, time.Second)
	}
	stopped := r.stopTask()
	if len(stopped.UnprocessedMessages) != 20 {
		t.Errorf("%d come back", len(stopped.UnprocessedMessages))
	}
}

func TestTheSameRequestTwiceIsOneMessage(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say on", "/sleep 600000"))
	r.untilText("on")
	req := work.MessageRequest{Task: r.id, Mode: viber.Followup, RequestID: "envelope-1", Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/say x"}}
	first, err := h.Message(ctx, alice, req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.Message(ctx, alice, req)
	if err != nil || *again != *first {
		t.Errorf("%+v, %+v, %v", first, again, err)
	}
	other, err := h.Message(ctx, alice, work.MessageRequest{Task: r.id, RequestID: "envelope-2", Message: req.Message})
	if err != nil || other.MessageID == first.MessageID || other.Position != 2 {
		t.Errorf("%+v %v; want no error, other.MessageID not to be first.MessageID, other.Position to be 2", other, err)
	}
	if n := len(r.stopTask().UnprocessedMessages); n != 2 {
		t.Errorf("%d messages", n)
	}
	again, err = h.Message(ctx, alice, req)
	if err != nil || *again != *first {
		t.Errorf("after the end: %+v %v", again, err)
	}
}

func TestStopGivesBackWhatNoModelSaw(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(goal("/say on", "/sleep 600000"))
	r.untilText("on")
	r.message(viber.Collect, "c1")
	r.message(viber.Followup, "f1")
	r.message(viber.Collect, "c2")
	stopped := r.stopTask()
	got := []string{}
	for _, m := range stopped.UnprocessedMessages {
		got = append(got, string(m.Mode)+" "+m.Message.Content)
	}
	if fmt.Sprint(got) != "[collect c1 followup f1 collect c2]" {
		t.Errorf("%v; want fmt.Sprint(got) to be \"[collect c1 followup f1 collect c2]\"", got)
	}
	if snap, err := h.Snapshot(ctx, alice, r.id); err != nil || len(snap.QueuedMessages) != 0 || snap.Status != viber.TaskHalted {
		t.Errorf("%+v %v; want no error, len(snap.QueuedMessages) to be 0, snap.Status to be %v", snap, err, viber.TaskHalted)
	}
}

func TestEveryMessageIsProcessedOrRefused(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{SubmitBurst: 1000}))
	for i := range 20 {
		r := h.submit(goal("/say begin"))
		accepted := make(chan string, 1)
		go func() {
			ack, err := h.Message(ctx, alice, work.MessageRequest{Task: r.id, Mode: viber.Followup, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/say more"}})
			switch {
			case err == nil:
				accepted <- ack.MessageID
			case errors.Is(err, work.ErrFinished):
				accepted <- ""
			default:
				t.Error(err)
				accepted <- ""
			}
		}()
		done := r.completed()
		id := <-accepted
		processed := false
		for _, m := range ofType[*viber.TaskUserMessage](r) {
			processed = processed || m.MessageID == id
		}
		if processed != (id != "") || (id != "") != (done.Result.Text == "more") {
			t.Errorf("run %d: accepted %q, processed %v, result %q", i, id, processed, done.Result.Text)
		}
	}
}

func TestMessagesOfARevokedTokenAreNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withDeps(func(d *work.Deps) { d.Ended = func(a identity.Actor) bool { return a.TokenID == "tok_thief" } }))
		r := h.submit(goal("/say on", "/sleep 300"))
		r.untilText("on")
		thief := alice
		thief.TokenID = "tok_thief"
		for _, mode := range []viber.InjectionMode{viber.Followup, viber.Collect} {
			if _, err := h.Message(ctx, thief, work.MessageRequest{Task: r.id, Mode: mode, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "/say stolen"}}); err != nil {
				t.Fatal(err)
			}
		}
		r.message(viber.Followup, "/say mine")
		if done := r.completed(); done.Result.Text != "mine" || done.Turns != 2 {
			t.Errorf("%+v; want done.Result.Text to be \"mine\", done.Turns to be 2", done)
		}
	})
}
