package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

func quick(d *fleet.Deps) { d.Limits.Settle = time.Millisecond }

// queue keeps a call for a machine that is away.
func (w *world) queue(id, tool, args string, d time.Duration) call.Result {
	w.t.Helper()
	return must(w.fleet.Call(w.t.Context(), op(), call.Request{Machine: id, Tool: tool, Args: jsontext.Value(args), QueueFor: d}))(w.t)
}

func (w *world) reaches(id string, want call.State) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is %s", id, want), func() bool { return w.status(id).State == want })
}

func TestQueuedCallsAreDeliveredInOrderOneAtATime(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	key := w.enrol("pc")
	var ids []string
	for i := range 5 {
		q := w.queue("pc", "fs_list", fmt.Sprintf(`{"path":"/%d"}`, i), time.Hour)
		if q.State != call.StateQueued || q.CallID == "" || time.Until(q.Expires) < 59*time.Minute {
			t.Fatalf("%+v; want q.State to be %v, q.CallID not to be \"\", time.Until(q.Expires) to be at least 59*time.Minute", q, call.StateQueued)
		}
		ids = append(ids, q.CallID)
	}
	if n := must(w.fleet.Waiting(t.Context()))(t); n != 5 {
		t.Errorf("%d waiting", n)
	}
	m := w.connect("pc", key)
	for i, id := range ids {
		r := receive(t, m.asked, "request")
		if r.ID != id || string(r.Args) != fmt.Sprintf(`{"path":"/%d"}`, i) {
			t.Fatalf("%d: %+v", i, r)
		}
		if w.status(id).State != call.StateSent {
			t.Error("sent is not on record")
		}
		// Live calls pass beside it.
		live := make(chan error, 1)
		go func() { _, err := w.call(op(), "pc", "net_config", ""); live <- err }()
		l := receive(t, m.asked, "live request")
		if l.Tool != "net_config" {
			t.Fatalf("the next queued call did not wait: %+v", l)
		}
		m.reply(l.ID, jsontext.Value(`{}`), nil)
		check(t, receive(t, live, "live answer"))
		m.reply(r.ID, jsontext.Value(`{"n":1}`), nil)
		w.reaches(id, call.StateDone)
		if st := w.status(id); string(st.Result) != `{"n":1}` {
			t.Errorf("%+v; want string(st.Result) to be \"{\"n\":1}\"", st)
		}
	}
}

func TestDeliveryWaitsFiveSecondsAfterThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		key := w.enrol("pc")
		w.queue("pc", "net_config", "", time.Hour)
		began := time.Now()
		m := w.echoing("pc", key)
		<-m.asked
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("after %v", d)
		}
		m.replies.Wait()
		m.leave()
	})
}

func TestQueuedCallsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		key := w.enrol("pc")
		short, long := w.queue("pc", "net_config", "", 10*time.Second), w.queue("pc", "net_dns_flush", "", time.Hour)
		<-time.After(15 * time.Second)
		if st := w.status(short.CallID); st.State != call.StateExpired || st.Error.Code != fault.Expired {
			t.Errorf("%+v; want st.State to be %v, st.Error.Code to be %v", st, call.StateExpired, fault.Expired)
		}
		m := w.echoing("pc", key)
		if r := <-m.asked; r.ID != long.CallID {
			t.Errorf("%+v; want r.ID to be %v", r, long.CallID)
		}
		m.replies.Wait()
		synctest.Wait()
		if st := w.status(long.CallID); st.State != call.StateDone {
			t.Errorf("%+v; want st.State to be %v", st, call.StateDone)
		}
		// Whoever asked is told.
		notes := must(w.inbox.List(t.Context(), approval.Filter{Kind: approval.KindNote}))(t)
		if len(notes) != 2 || notes[0].Principal != "id-owner" {
			t.Errorf("%+v; want len(notes) to be 2, notes[0].Principal to be \"id-owner\"", notes)
		}
		m.leave()
	})
}

func TestACutCallIsLostIfItChangesSomethingAndAskedAgainIfNot(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	key := w.enrol("pc")
	changes, looks := w.queue("pc", "net_dns_flush", "", time.Hour), w.queue("pc", "net_config", "", time.Hour)
	m := w.connect("pc", key)
	if r := receive(t, m.asked, "change"); r.ID != changes.CallID {
		t.Fatalf("%+v; want r.ID to be %v", r, changes.CallID)
	}
	m.cut()
	w.reaches(changes.CallID, call.StateLost)
	m = w.connect("pc", key)
	if r := receive(t, m.asked, "look"); r.ID != looks.CallID {
		t.Fatalf("a lost call was sent again: %+v", r)
	}
	m.cut()
	w.reaches(looks.CallID, call.StateQueued)
	m = w.echoing("pc", key)
	if r := receive(t, m.asked, "look again"); r.ID != looks.CallID {
		t.Fatalf("%+v; want r.ID to be %v", r, looks.CallID)
	}
	w.reaches(looks.CallID, call.StateDone)
}

func TestAQueuedCallCanBeCancelledUntilItIsSent(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	key := w.enrol("pc")
	first, second := w.queue("pc", "net_dns_flush", "", time.Hour), w.queue("pc", "net_config", "", time.Hour)
	if st := must(w.fleet.CancelCall(t.Context(), op(), first.CallID))(t); st.State != call.StateCancelled {
		t.Errorf("%+v; want st.State to be %v", st, call.StateCancelled)
	}
	m := w.connect("pc", key)
	r := receive(t, m.asked, "request")
	if r.ID != second.CallID {
		t.Fatalf("a cancelled call was sent: %+v", r)
	}
	if st := must(w.fleet.CancelCall(t.Context(), op(), second.CallID))(t); st.State != call.StateSent {
		t.Errorf("the wire cannot take it back: %+v", st)
	}
	m.reply(r.ID, jsontext.Value(`{}`), nil)
	w.reaches(second.CallID, call.StateDone)
}

func TestTheQueueHasALimitAndBounds(t *testing.T) {
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.Limits.Queued = 3 }})
	w.enrol("pc")
	for range 3 {
		w.queue("pc", "net_config", "", time.Hour)
	}
	_, err := w.fleet.Call(t.Context(), op(), call.Request{Machine: "pc", Tool: "net_config", QueueFor: time.Hour})
	wantCode(t, err, fault.Busy)
	for _, bad := range []call.Request{
		{Machine: "pc", Tool: "net_config", QueueFor: 8 * 24 * time.Hour},
		{Machine: "pc", Tool: "screen_capture", QueueFor: time.Hour},
		{Machine: "pc", Tool: "remotehelp_status", QueueFor: time.Hour},
	} {
		_, err := w.fleet.Call(t.Context(), op(), bad)
		wantCode(t, err, fault.BadArgs)
	}
	_, err = w.call(op(), "pc", "net_config", "")
	wantCode(t, err, fault.Offline)
}

func TestScopeAndMirrorAreCheckedAgainAtDelivery(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	key := w.enrol("pc")
	q := w.queue("pc", "shell_exec", `{"script":"choco install x"}`, time.Hour)
	fine := w.queue("pc", "net_config", "", time.Hour)
	must(w.fleet.AddRule(t.Context(), op(), kenny.Rule{ID: "no-choco", AppliesTo: kenny.AppliesPowerShell, Pattern: "choco", Reason: "not here"}))(t)
	m := w.echoing("pc", key)
	w.reaches(fine.CallID, call.StateDone)
	if st := w.status(q.CallID); st.State != call.StateFailed || st.Error.Code != fault.Blocked || len(m.asked) != 1 {
		t.Errorf("%+v; want st.State to be %v, st.Error.Code to be %v, len(m.asked) to be 1", st, call.StateFailed, fault.Blocked)
	}
}

func TestTheQueueSurvivesARestart(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db, deps: quick})
		key := w.enrol("pc")
		sent := w.queue("pc", "net_dns_flush", "", time.Hour)
		waits := w.queue("pc", "net_config", "", time.Hour)
		m := w.connect("pc", key)
		receive(t, m.asked, "request")
		w.stop() // the answer never came
		again := newWorld(t, setup{db: db, key: w.key, deps: quick})
		again.reaches(sent.CallID, call.StateLost)
		m = again.echoing("pc", key)
		again.reaches(waits.CallID, call.StateDone)
		if r := receive(t, m.asked, "request"); r.ID != waits.CallID {
			t.Errorf("%+v; want r.ID to be %v", r, waits.CallID)
		}
	})
}

func TestACallAnsweredApprovalFirstThenQueued(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	key := w.enrol("pc")
	_, err := w.fleet.Call(t.Context(), as(identity.AtMCP, fullMCP...), call.Request{
		Machine: "pc", Tool: "net_dns_flush", QueueFor: time.Hour, ApprovalWait: time.Millisecond,
	})
	e := wantCode(t, err, fault.ApprovalPending)
	w.decide(w.pending().ID, true, "")
	w.reaches(e.CallID, call.StateQueued)
	w.echoing("pc", key)
	w.reaches(e.CallID, call.StateDone)
	if p := must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls[0]; p.Approval == nil || p.Approval.How != "inbox" {
		t.Errorf("%+v; want p.Approval not to be nil, p.Approval.How to be \"inbox\"", p)
	}
}

// An agent's call that a person approved, for a machine that is away, was in neither record until it ran.
func TestAnAgentsCallThatWaitsForItsMachineIsOnRecordWhileItWaits(t *testing.T) {
	w := newWorld(t, setup{deps: quick})
	w.enrol("pc")
	waiting := make(chan call.Result, 1)
	go func() {
		res, _ := w.fleet.Call(context.Background(), as(identity.InConversation, fullMCP...), call.Request{Machine: "pc", Tool: "net_dns_flush", QueueFor: time.Hour})
		waiting <- res
	}()
	w.until("a question waits", func() bool {
		items, err := w.inbox.List(t.Context(), approval.Filter{Kind: approval.KindTool, States: []approval.State{approval.StatePending}})
		return err == nil && len(items) == 1
	})
	must(w.inbox.Answer(t.Context(), owner, w.pending().ID, approval.Answer{Approved: true}))(t)
	q := receive(t, waiting, "the answer")
	if q.State != call.StateQueued {
		t.Fatalf("the call is %+v, want it queued", q)
	}
	calls := must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls
	if len(calls) != 1 || calls[0].CallID != q.CallID || calls[0].State != call.StateQueued || calls[0].Approval == nil {
		t.Errorf("the call log has %+v, want the call, queued and approved", calls)
	}
	trail := w.trailOf("fleet.call.queued")
	if len(trail) != 1 || trail[0].Target != "pc" || trail[0].Detail["call"] != q.CallID || trail[0].Digest == "" {
		t.Errorf("the trail has %+v, want one entry about the call that waits", trail)
	}
}
