package work_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// again is another life of the hub on the same store.
func again(t *testing.T, h *hub, opts ...option) *hub {
	t.Helper()
	h.stop()
	return newHub(t, h.db, append([]option{func(next *hub, d *work.Deps) {
		next.workspace, d.Workspace = h.workspace, workspace.Always(h.workspace)
	}}, opts...)...)
}

func (h *hub) followAll(id string) *run {
	h.t.Helper()
	stream, err := h.Follow(ctx, alice, id, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.follow(stream)
}

// numbered checks that no event is missing or doubled.
func (r *run) numbered() {
	r.h.t.Helper()
	for i, ev := range r.events {
		if ev.Ref().Seq != int64(i+1) {
			r.h.t.Fatalf("event %d has seq %d: %s", i+1, ev.Ref().Seq, r.describe())
		}
	}
}

func continuing(s *viber.TaskSubmit) *viber.TaskSubmit {
	return with(s, func(o *viber.TaskOptions) { o.OnRestart = viber.OnRestartContinue })
}

func failing(s *viber.TaskSubmit) *viber.TaskSubmit {
	return with(s, func(o *viber.TaskOptions) { o.OnRestart = viber.OnRestartFail })
}

func TestARestartEndsTasksAndFreesTheirKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHub(t, db)
		s := failing(mode(goal("/say so far", `/tool shell {"command":"touch x"}`, "/say never"), viber.AgentDecides))
		r := h.submitKey(alice, "k", s)
		asked := untilType[*viber.ApprovalRequired](r)
		r.message(viber.Followup, "later")
		r.stop()
		next := again(t, h)
		back := next.followAll(r.id)
		e := back.failed(viber.CodeInternalError)
		if e.Details.Reason != viber.ReasonDaemonRestarted || !e.Error.Recoverable || e.PartialResult.Text != "so far" || len(e.UnprocessedMessages) != 1 {
			t.Errorf("%+v %+v", e, e.Details)
		}
		back.numbered()
		if got := ofType[*viber.ApprovalResolved](back); len(got) != 1 || got[0].Outcome != viber.Cancelled || got[0].ApprovalID != asked.ApprovalID {
			t.Errorf("%s; want len(got) to be 1, got[0].Outcome to be %v, got[0].ApprovalID to be %v", back.describe(), viber.Cancelled, asked.ApprovalID)
		}
		if !strings.Contains(back.results()["call_1_1"], `"interrupted"`) {
			t.Errorf("%v; want \"\"interrupted\"\" in it", back.results())
		}
		if late := next.answer(alice, yes(asked.ApprovalID)); late.First || late.Resolved.Outcome != viber.Cancelled || waitFileNow(next, "x") {
			t.Errorf("%+v; want not late.First, late.Resolved.Outcome to be %v, not waitFileNow(next, \"x\")", late, viber.Cancelled)
		}
		second := next.submitKey(alice, "k", s)
		if got := untilType[*viber.TaskStarted](second).Attempt; got != 2 {
			t.Errorf("attempt %d", got)
		}
		second.stopTask()
	})
}

func TestATaskThatContinuesGoesOnWithItsSentenceAndItsNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, deltas := range []bool{true, false} {
			h := newHub(t, sqlite(t))
			s := continuing(goal("/tool file_list {}", "/say one", "/sleep 30000", "/say two"))
			s.Options.StreamDeltas = deltas
			r := h.submit(s)
			for ok := false; !ok; {
				snap, err := h.Snapshot(ctx, alice, r.id)
				if err != nil {
					t.Fatal(err)
				}
				ok = snap.Text != "" || !deltas && len(h.models.sent()) == 2
				<-time.After(time.Millisecond)
			}
			r.stop()
			next := again(t, h)
			back := next.followAll(r.id)
			done := back.completed()
			back.numbered()
			want := []string{"oneone\ntwo", "one\ntwo"} // what was said stays said; without deltas it may not have been kept
			if done.Result.Text != want[0] && (deltas || done.Result.Text != want[1]) || deltas && back.text() != done.Result.Text {
				t.Errorf("deltas %v: %q, %q", deltas, done.Result.Text, back.text())
			}
			if n := len(next.models.sent()); n != 1 {
				t.Errorf("%d model calls after the restart", n)
			}
			if len(back.results()) > 1 {
				t.Errorf("%v; want len(back.results()) to be at most 1", back.results())
			}
		}
	})
}

func TestATaskThatContinuesKeepsItsQuestion(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal("/say asking", `/tool shell {"command":"echo ran >> log"}`, "/say done"), viber.AgentDecides)) // which is the usual way
	asked := untilType[*viber.ApprovalRequired](r)
	r.stop()
	next := again(t, h)
	list, err := next.Approvals(ctx, alice)
	if err != nil || len(list) != 1 || list[0].ApprovalID != asked.ApprovalID || list[0].Seq != asked.Seq || list[0].TimeoutMS > asked.TimeoutMS {
		t.Fatalf("%+v %v", list, err)
	}
	next.answer(alice, yes(asked.ApprovalID))
	back := next.followAll(r.id)
	if done := back.completed(); done.Result.Text != "askingdone" {
		t.Errorf("%q; want done.Result.Text to be \"askingdone\"", done.Result.Text)
	}
	back.numbered()
	if data, _ := os.ReadFile(filepath.Join(next.workspace, "log")); string(data) != "ran\n" {
		t.Errorf("%q; want string(data) to be \"ran\\n\"", data)
	}
}

func TestAnAnswerWhileNobodyRunsTheTaskCounts(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(continuing(mode(goal(`/tool shell {"command":"echo ran >> log"}`, "/say done"), viber.AgentDecides)))
	asked := untilType[*viber.ApprovalRequired](r)
	r.stop()
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := h.Close(stopped); err != nil { // the inbox lives on
		t.Fatal(err)
	}
	h.answer(alice, yes(asked.ApprovalID))
	next := again(t, h)
	back := next.followAll(r.id)
	back.completed()
	back.numbered()
	if data, _ := os.ReadFile(filepath.Join(next.workspace, "log")); string(data) != "ran\n" {
		t.Errorf("%q; want string(data) to be \"ran\\n\"", data)
	}
}

func TestACallOfUnknownOutcomeIsNeverRepeated(t *testing.T) {
	h := newHub(t, sqlite(t))
	mark := filepath.Join(h.workspace, "log")
	r := h.submit(continuing(goal(`/tool shell {"command":"echo ran >> log; sleep 300"}`, `/and shell {"command":"echo second >> log"}`, "/result", "/say done")))
	if !waitFile(mark) {
		t.Fatal("it did not run")
	}
	r.stop()
	next := again(t, h)
	back := next.followAll(r.id)
	done := back.completed()
	back.numbered()
	results := back.results()
	if !strings.Contains(results["call_1_1"], `"interrupted"`) || !strings.Contains(results["call_1_2"], `"interrupted"`) || !strings.HasSuffix(done.Result.Text, "done") {
		t.Errorf("%v %q; want \"\"interrupted\"\" in it, \"\"interrupted\"\" in it, strings.HasSuffix(done.Result.Text, \"done\")", results, done.Result.Text)
	}
	if data, _ := os.ReadFile(mark); string(data) != "ran\n" {
		t.Errorf("%q; want string(data) to be \"ran\\n\"", data)
	}
}

func TestMessagesSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(continuing(goal("/say one", "/sleep 30000")))
		r.untilText("one")
		r.message(viber.Followup, "/say two")
		r.message(viber.Collect, "/say three")
		r.stop()
		next := again(t, h)
		back := next.followAll(r.id)
		if done := back.completed(); done.Result.Text != "three" || done.Turns != 3 {
			t.Errorf("%+v; want done.Result.Text to be \"three\", done.Turns to be 3", done)
		}
		back.numbered()
	})
}

func TestAnAllowanceForTheTaskSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		shell := `/tool shell {"command":"echo 1 >> log"}`
		r := h.submit(continuing(mode(goal(shell, "/sleep 7000", shell, "/say done"), viber.AgentDecides)))
		a := yes(untilType[*viber.ApprovalRequired](r).ApprovalID)
		a.Remember = viber.RememberTask
		h.answer(alice, a)
		r.until(func(viber.TaskEvent) bool { return len(r.results()) == 1 })
		r.stop()
		next := again(t, h)
		back := next.followAll(r.id)
		back.completed()
		if n := len(ofType[*viber.ApprovalRequired](back)); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestDrainRefusesNewTasksAndLetsRunningOnesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		r := h.submit(goal("/say on", "/sleep 300", "/say and done"))
		r.untilText("on")
		drained := make(chan struct{})
		go func() { h.Drain(ctx); close(drained) }()
		for {
			_, err := h.Submit(ctx, alice, work.SubmitRequest{Key: newKey(), Submit: goal("/say x")})
			if errors.Is(err, work.ErrShuttingDown) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := r.completed().Result.Text; got != "on\nand done" {
			t.Errorf("got is %v; want \"on\\nand done\"", got)
		}
		<-drained
	})
}

func TestKeysAndLogsAreForgottenAfterADay(t *testing.T) {
	h := newHub(t, sqlite(t), withLimits(work.Limits{Keep: time.Millisecond}))
	s := goal("/say x")
	r := h.submitKey(alice, "k", s)
	r.completed()
	if err := h.Purge(ctx, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	stream, err := h.Follow(ctx, alice, r.id, 0)
	if err != nil || !stream.Snapshot.Gap || stream.Snapshot.Text != "x" || stream.Snapshot.OldestSeq != stream.Snapshot.LastSeq {
		t.Fatalf("%+v %v; want no error, stream.Snapshot.Gap, stream.Snapshot.Text to be \"x\", stream.Snapshot.OldestSeq to be %v", stream, err, stream.Snapshot.LastSeq)
	}
	back := h.follow(stream)
	if done := back.completed(); done.Result.Text != "x" || len(back.events) != 1 {
		t.Errorf("%s; want done.Result.Text to be \"x\", len(back.events) to be 1", back.describe())
	}
	fresh := h.submitKey(alice, "k", s)
	if got := untilType[*viber.TaskStarted](fresh).Attempt; got != 1 || fresh.id == r.id {
		t.Errorf("attempt %d of %s", got, fresh.id)
	}
	fresh.completed()
}

// twoHubs are two hubs on one store and one bus.
func twoHubs(t *testing.T, db *store.DB, o lease.Options) (a, b *hub) {
	t.Helper()
	shared := bus.NewLocal()
	t.Cleanup(func() { _ = shared.Close() })
	opts := []option{clustered(shared), withLease(o), withLimits(work.Limits{Sweep: 20 * time.Millisecond})}
	a = newHub(t, db, opts...)
	return a, newHub(t, db, append(opts, func(h *hub, d *work.Deps) { h.workspace, d.Workspace = a.workspace, workspace.Always(a.workspace) })...)
}

func TestOneHubRunsAndAnotherWatchesApprovesSteersAndStops(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := twoHubs(t, db, lease.Options{})
		d := b.watch(alice)
		r := a.submitKey(alice, "k", mode(goal("/say one", `/tool shell {"command":"touch x"}`, "/say two", "/sleep 600000"), viber.AgentDecides))
		far := b.followAll(r.id)
		asked := untilType[*viber.ApprovalRequired](far)
		b.answer(alice, yes(asked.ApprovalID))
		far.untilText("two")
		far.message(viber.Followup, "waits")
		if _, err := b.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: goal("/say other")}); !errors.Is(err, work.ErrConflict) {
			t.Errorf("the key is not the cluster's: %v", err)
		}
		ack := far.message(viber.Steer, "/say steered")
		m := untilType[*viber.TaskUserMessage](far)
		if m.MessageID != ack.MessageID {
			t.Errorf("%+v; want m.MessageID to be %v", m, ack.MessageID)
		}
		s, err := b.Stop(ctx, alice, r.id, "from afar")
		if err != nil || s.Again || s.Event.Reason != "from afar" || len(s.Event.UnprocessedMessages) != 1 {
			t.Fatalf("%+v %v; want no error, not s.Again, s.Event.Reason to be \"from afar\", len(s.Event.UnprocessedMessages) to be 1", s.Event, err)
		}
		far.end()
		r.end()
		if fmt.Sprint(r.describe()) != fmt.Sprint(far.describe()) {
			t.Errorf("two orders:\n%s\n%s", r.describe(), far.describe())
		}
		if _, err := b.Stop(ctx, alice, r.id, ""); err != nil {
			t.Errorf("%v; want no error", err)
		}
		lines := d.until("status idle")
		if lines[0] != "task:started" || lines[len(lines)-2] != "task:stopped" {
			t.Errorf("%v; want lines[0] to be \"task:started\", lines[len(lines)-2] to be \"task:stopped\"", lines)
		}
	})
}

// A message that is larger than the bus allows was refused when the task ran on another
// hub, and only then.
func TestALargeMessageReachesATaskOnAnotherHub(t *testing.T) {
	a, b := twoHubs(t, sqlite(t), lease.Options{})
	r := a.submit(goal("/say one", "/sleep 600000"))
	r.untilText("one")
	far := b.followAll(r.id)
	long := "/say " + strings.Repeat("x", 2<<20)
	if ack := far.message(viber.Followup, long); ack.Disposition != viber.Queued {
		t.Errorf("%+v, want that it waits", ack)
	}
	s, err := b.Stop(ctx, alice, r.id, "")
	if err != nil || len(s.Event.UnprocessedMessages) != 1 || len(s.Event.UnprocessedMessages[0].Message.Content) != len(long) {
		t.Errorf("%v; want the whole message back, unprocessed", err)
	}
}

// What a task answers means the same on every hub, with all that belongs to it.
func TestALimitKeepsItsFieldsBetweenHubs(t *testing.T) {
	shared := bus.NewLocal()
	t.Cleanup(func() { _ = shared.Close() })
	db, opts := sqlite(t), []option{clustered(shared), withLimits(work.Limits{QueuedMessages: 1})}
	a, b := newHub(t, db, opts...), newHub(t, db, opts...)
	r := a.submit(goal("/say one", "/sleep 600000"))
	r.untilText("one")
	b.followAll(r.id).message(viber.Followup, "waits")
	req := work.MessageRequest{Task: r.id, Mode: viber.Followup, Message: viber.ChatMessage{Role: viber.RoleUser, Content: "too many"}}
	_, here := a.Message(ctx, alice, req)
	_, there := b.Message(ctx, alice, req)
	near, ok := errors.AsType[*work.LimitError](here)
	far, also := errors.AsType[*work.LimitError](there)
	if !ok || !also || *near != *far {
		t.Errorf("%#v here, %#v there; want the same limit", here, there)
	}
}

func TestADeadHubsTasksAreTakenOver(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { takenOver(t, sqlite(t), lease.Options{}) })
	})
	t.Run("postgres", func(t *testing.T) { takenOver(t, storetest.Postgres(t), lease.Options{TTL: 12 * time.Second}) })
}

func takenOver(t *testing.T, db *store.DB, o lease.Options) {
	a, b := twoHubs(t, db, o)
	fails := a.submit(failing(goal("/say so far", "/sleep 600000")))
	goes := a.submit(continuing(mode(goal("/say asking", `/tool shell {"command":"echo ran >> log"}`, "/say done"), viber.AgentDecides)))
	fails.untilText("so far")
	asked := untilType[*viber.ApprovalRequired](goes)
	farFails, farGoes := b.followAll(fails.id), b.followAll(goes.id)
	a.leases.Abandon() // it stops saying that it lives
	e := farFails.failed(viber.CodeInternalError)
	if e.Details.Reason != viber.ReasonDaemonRestarted || e.PartialResult.Text != "so far" {
		t.Errorf("%+v; want e.Details.Reason to be %v, e.PartialResult.Text to be \"so far\"", e, viber.ReasonDaemonRestarted)
	}
	// The dead hub could still take the answer and not live to do what it says.
	farGoes.until(func(ev viber.TaskEvent) bool {
		p, ok := ev.(*viber.TaskProgress)
		return ok && strings.Contains(p.Message, "after a restart")
	})
	b.answer(alice, yes(asked.ApprovalID))
	done := farGoes.completed()
	farFails.numbered()
	farGoes.numbered()
	if done.Result.Text != "askingdone" {
		t.Errorf("%q; want done.Result.Text to be \"askingdone\"", done.Result.Text)
	}
	if data, _ := os.ReadFile(filepath.Join(a.workspace, "log")); string(data) != "ran\n" {
		t.Errorf("%q; want string(data) to be \"ran\\n\"", data)
	}
	if s, err := b.Stop(ctx, alice, fails.id, ""); !errors.Is(err, work.ErrFinished) {
		t.Errorf("%+v %v; want work.ErrFinished", s, err)
	}
}

func TestTheTaskCapIsTheClusters(t *testing.T) {
	a, b := twoHubs(t, sqlite(t), lease.Options{})
	for range 16 {
		a.submit(goal("/say on", "/sleep 600000"))
		b.submit(goal("/say on", "/sleep 600000"))
	}
	for _, h := range []*hub{a, b} {
		if _, err := h.Submit(ctx, alice, work.SubmitRequest{Key: newKey(), Submit: goal("/say x")}); err == nil {
			t.Error("the thirty-third task runs")
		}
	}
}
