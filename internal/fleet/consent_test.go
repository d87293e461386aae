package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/tools"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// A no is as much on record as a yes: in the call log and in the trail, whoever said
// it and wherever, and also when nobody said anything.
func TestDeclinedCallsAreOnRecord(t *testing.T) {
	w := newWorld(t, setup{})
	ran := w.herd(2, func(int) bool { return false })
	script := as(identity.AtAPI, fullMCP...)
	for _, declined := range []struct {
		code  fault.Code
		calls int
		by    func() error
	}{
		{fault.Denied, 1, func() error {
			_, err := w.fleet.Call(t.Context(), script, call.Request{Machine: "m00", Tool: "net_dns_flush", Approver: clientApprover{make(chan call.Question, 1), call.Decision{}, nil}})
			return err
		}},
		{fault.Denied, 1, func() error {
			_, err := w.fleet.Call(t.Context(), script, call.Request{Machine: "m00", Tool: "net_dns_flush", ApprovalWait: time.Nanosecond})
			w.decide(w.pending().ID, false, "no")
			return err
		}},
		{fault.Cancelled, 1, func() error {
			_, err := w.fleet.Call(t.Context(), script, call.Request{Machine: "m00", Tool: "net_dns_flush", ApprovalWait: time.Nanosecond})
			e := wantCode(t, err, fault.ApprovalPending)
			must(w.fleet.CancelCall(t.Context(), script, e.CallID))(t)
			return err
		}},
		{fault.Denied, 2, func() error {
			_, err := w.fleet.FanOut(t.Context(), script, fleet.FanRequest{All: true, Tool: "net_dns_flush", ApprovalWait: time.Nanosecond})
			w.decide(w.pending().ID, false, "no")
			return err
		}},
	} {
		count := func() (log, trail int) {
			for _, c := range must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls {
				if c.Code == declined.code && c.TokenID == "token-1" {
					log++
				}
			}
			for _, e := range w.trailOf("fleet.call") {
				if e.Action == "fleet.call" && e.Outcome == string(declined.code) {
					trail++
				}
			}
			return log, trail
		}
		logBefore, trailBefore := count()
		if err := declined.by(); err == nil {
			t.Errorf("%s: nothing was refused", declined.code)
		}
		w.until(string(declined.code)+" is in the call log and the trail", func() bool {
			log, trail := count()
			return log == logBefore+declined.calls && trail == trailBefore+declined.calls
		})
	}
	if ran.Load() != 0 {
		t.Errorf("%d calls ran although nobody said yes", ran.Load())
	}
}

// A call on many machines that nobody has answered yet is looked at and goes on like
// any other, and is nobody else's business.
func TestAFanOutThatWaitsIsLookedAtLater(t *testing.T) {
	w := newWorld(t, setup{})
	ran := w.herd(3, func(int) bool { return false })
	who := as(identity.AtAPI, fullMCP...)
	_, err := w.fleet.FanOut(t.Context(), who, fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush", ApprovalWait: time.Nanosecond})
	e := wantCode(t, err, fault.ApprovalPending)
	item := w.pending()
	if e.ApprovalID != item.ID || !strings.Contains(string(item.Arguments), `"m00","m01","m02"`) {
		t.Errorf("%+v waits for %+v", e, item)
	}
	if st := must(w.fleet.CallStatus(t.Context(), who, e.CallID))(t); st.State != call.StateAsking {
		t.Errorf("%+v; want st.State to be %v", st, call.StateAsking)
	}
	for name, other := range map[string]identity.Actor{"somebody else": stranger(who), "a limited token": as(identity.AtAPI, append(fullMCP, "machine:m00")...)} {
		if name == "a limited token" {
			other.TokenID = "token-2"
		}
		if _, err := w.fleet.CallStatus(t.Context(), other, e.CallID); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s sees it: %v", name, err)
		}
	}
	w.decide(item.ID, true, "")
	w.until("done", func() bool {
		return must(w.fleet.CallStatus(t.Context(), who, e.CallID))(t).State == call.StateDone
	})
	var r fleet.FanResult
	st := must(w.fleet.CallStatus(t.Context(), who, e.CallID))(t)
	if err := json.Unmarshal(st.Result, &r); err != nil || r.Done != 3 || ran.Load() != 3 {
		t.Errorf("%d ran: %s %v", ran.Load(), st.Result, err)
	}
}

func stranger(who identity.Actor) identity.Actor {
	who.Person.ID, who.Person.Name = "id-bob", "bob"
	return who
}

// A hub that stops takes its open fan-outs with it: nobody can say yes to what no
// hub would do.
func TestAFanOutEndsWithItsHub(t *testing.T) {
	w := newWorld(t, setup{})
	w.herd(2, func(int) bool { return false })
	who := as(identity.AtAPI, fullMCP...)
	_, err := w.fleet.FanOut(t.Context(), who, fleet.FanRequest{Tag: "lab", Tool: "net_dns_flush", ApprovalWait: time.Nanosecond})
	e := wantCode(t, err, fault.ApprovalPending)
	w.stop()
	again := newWorld(t, setup{db: w.db, key: w.key})
	again.until("cancelled", func() bool {
		st := must(again.fleet.CallStatus(t.Context(), who, e.CallID))(t)
		return st.State == call.StateCancelled
	})
	if item := must(again.inbox.Get(t.Context(), owner, e.ApprovalID))(t); item.Outcome.State != approval.StateCancelled {
		t.Errorf("the question is %s", item.Outcome.State)
	}
}

// An agent has what is left of its person's rights when it acts, not what there was
// when its run began.
func TestAnAgentLosesWhatItsPersonLoses(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc").echoes()
	left, gone := identity.Expand(fullMCP...), error(nil)
	look := func() error {
		for _, x := range tools.Hosted(w.fleet, func(_ context.Context, s identity.Actor) (identity.Actor, error) {
			if s.TokenID != "token-1" {
				t.Errorf("asked about the token %q, want token-1", s.TokenID)
			}
			return s.Narrow(left), gone
		}) {
			if x.Name == "net_config" {
				_, err := x.Run(t.Context(), tool.Call{Name: x.Name, Arguments: []byte(`{"agent_id":"pc"}`), Agent: "parley", Principal: "owner", Actor: mandate(fullMCP...)})
				return err
			}
		}
		return errors.New("no such tool")
	}
	check(t, look())
	left = identity.Expand("talk")
	if err := look(); tool.TypeOf(err) != tool.Permission {
		t.Errorf("the token was narrowed and the agent still looks: %v", err)
	}
	gone = identity.ErrRefused
	if err := look(); tool.TypeOf(err) != tool.Permission || !strings.Contains(err.Error(), "not valid any more") {
		t.Errorf("the token was revoked and the agent still looks: %v", err)
	}
	if len(m.asked) != 1 {
		t.Errorf("%d calls were sent, want one", len(m.asked))
	}
}

// A task asks in the fleet's place; a person's no to it is in the call log and the trail
// all the same.
func TestANoInsideATaskIsOnRecord(t *testing.T) {
	w := newWorld(t, setup{})
	w.join("pc").echoes()
	flush := hostedTool(t, w.fleet, "net_dns_flush")
	who := as(identity.AtAPI, fullMCP...).ForAgent("parley", identity.InTask, "task-1")
	flush.NoteDeclined(tool.Call{Name: "net_dns_flush", Arguments: []byte(`{"agent_id":"pc"}`), Actor: who}, &tool.Error{Type: tool.Rejected, Message: "not now"})
	w.until("the no is in the call log and the trail", func() bool {
		calls := must(w.fleet.Calls(t.Context(), op(), call.Filter{}))(t).Calls
		trail := w.trailOf("fleet.call")
		return len(calls) == 1 && calls[0].Code == fault.Denied && calls[0].TokenID == "token-1" && calls[0].Actor == "agent:parley" &&
			len(trail) == 1 && trail[0].Outcome == string(fault.Denied)
	})
}

// A run that asks in the fleet's place is told first what would be refused after a yes,
// too. Nobody is asked then, and the trail has it once, as if the call had been made.
func TestWhatIsRefusedAnywayIsOnRecordWithoutAQuestion(t *testing.T) {
	w := newWorld(t, setup{})
	w.join("pc").echoes()
	flush := hostedTool(t, w.fleet, "net_dns_flush")
	use := tool.Call{Name: "net_dns_flush", Arguments: []byte(`{"agent_id":"pc"}`), Actor: as(identity.AtAPI, identity.FleetRead).ForAgent("parley", identity.InTask, "task-1")}
	if err := flush.Refusal(t.Context(), use); tool.TypeOf(err) != tool.Permission {
		t.Errorf("somebody who only looks is told %v, want that they may not", err)
	}
	w.until("the refusal is in the trail, once", func() bool {
		trail := w.trailOf("fleet.call")
		return len(trail) == 1 && trail[0].Outcome == string(fault.Forbidden)
	})
	use.Actor = as(identity.AtAPI, fullMCP...).ForAgent("parley", identity.InTask, "task-1")
	if err := flush.Refusal(t.Context(), use); err != nil {
		t.Errorf("somebody with the right is told %v", err)
	}
}

// A rule about what is private named machines' tools by a class that tasks knew them not
// by: in a task one yes, the asker's own, was enough for what two others had to agree to.
func TestATaskFindsTheRuleThatTheFleetFinds(t *testing.T) {
	w := newWorld(t, setup{})
	for name, want := range map[string]string{"fs_read": judge.Sensitive, "screen_capture": judge.Sensitive, "shell_exec": judge.Mutating, "net_config": judge.ReadOnly} {
		if got := hostedTool(t, w.fleet, name).Class.String(); got != want {
			t.Errorf("rules know %s as %s in a task, and as %s everywhere else", name, got, want)
		}
	}
}
