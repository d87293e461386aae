package work_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"parley/internal/approval"
	"parley/internal/identity"
	"parley/internal/work"
	"parley/protocol/viber"
)

// device is somebody who watches.
type device struct {
	t    testing.TB
	next func() (work.Notice, error, bool)
}

func (h *hub) watch(who identity.Actor) *device {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	next, stop := iter.Pull2(h.Watch(ctx, who))
	h.t.Cleanup(func() { stop(); cancel() })
	return &device{h.t, next}
}

func (d *device) read() work.Notice {
	d.t.Helper()
	n, err, ok := d.next()
	if !ok || err != nil {
		d.t.Fatalf("watching ended: %v", err)
	}
	return n
}

// until reads up to a line, and gives all lines.
func (d *device) until(last string) (lines []string) {
	d.t.Helper()
	for len(lines) == 0 || lines[len(lines)-1] != last {
		lines = append(lines, line(d.read()))
	}
	return lines
}

func line(n work.Notice) string {
	switch {
	case n.Ready:
		return "ready"
	case n.Status != nil:
		return "status " + string(n.Status.Status)
	default:
		return string(n.Event.Type())
	}
}

func TestDevicesSeeTheLifeCycleAndTheAgentsState(t *testing.T) {
	h := newHub(t, sqlite(t))
	mine, others := h.watch(alice), h.watch(bob)
	mine.until("ready")
	others.until("ready")
	sub, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Origin: "conn-1", Submit: mode(goal("/say x", `/tool shell {"command":"touch x"}`, "/say y"), viber.AgentDecides)})
	if err != nil {
		t.Fatal(err)
	}
	first := mine.read()
	if s, ok := first.Event.(*viber.TaskStarted); !ok || first.Origin != "conn-1" || first.Seq != 1 || first.Task != sub.TaskID || s.Seq != 1 {
		t.Errorf("%+v", first)
	}
	lines := mine.until("approval:required")
	paused := mine.read()
	if paused.Status == nil || paused.Status.Status != viber.AgentPaused || paused.Status.CurrentTaskID != sub.TaskID || paused.Status.AgentID != "parley" || paused.Seq == 0 {
		t.Errorf("%+v", paused)
	}
	list, err := h.Approvals(ctx, alice)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	h.answer(alice, yes(list[0].ApprovalID))
	lines = append(lines, mine.until("status idle")...)
	want := "[status running approval:required approval:resolved status running task:completed status idle]"
	if got := fmt.Sprint(lines); got != want {
		t.Errorf("%s", got)
	}
	h.submitKey(bob, "k", goal("/say bob's")).completed()
	if got := fmt.Sprint(others.until("status idle")); got != "[task:started status running task:completed status idle]" {
		t.Errorf("bob sees %s", got)
	}
}

func TestWhatWaitsIsShownToEveryDeviceThatConnects(t *testing.T) {
	h := newHub(t, sqlite(t))
	r := h.submit(mode(goal(`/tool shell {"command":"touch x"}`, "/say y"), viber.AgentDecides))
	asked := untilType[*viber.ApprovalRequired](r)
	_, err := h.inbox.Ask(ctx, approval.Request{Principal: "alice", Kind: approval.KindTool, Tool: "reboot", Title: "reboot it?", Conversation: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d := h.watch(alice)
		own, other := d.read(), d.read()
		if own.Task == "" {
			own, other = other, own
		}
		a, _ := own.Event.(*viber.ApprovalRequired)
		if a == nil || a.ApprovalID != asked.ApprovalID || a.Seq != asked.Seq || a.TimeoutMS > asked.TimeoutMS {
			t.Errorf("%+v", own)
		}
		b, _ := other.Event.(*viber.ApprovalRequired)
		if b == nil || b.ToolCall.Name != "reboot" || b.TaskID != "" || b.Reason != "reboot it?" {
			t.Errorf("%+v", other)
		}
		if n := d.read(); !n.Ready {
			t.Errorf("%+v", n)
		}
	}
	d := h.watch(alice)
	d.until("ready")
	list, err := h.Approvals(ctx, alice)
	if err != nil || len(list) != 2 || list[1].ToolCall.Name != "reboot" {
		t.Fatalf("%+v %v", list, err)
	}
	a := h.answer(alice, no(list[1].ApprovalID, ""))
	if !a.First || a.Resolved.Outcome != viber.Rejected {
		t.Errorf("%+v", a)
	}
	if n := d.read(); n.Event == nil || n.Event.Type() != viber.TypeApprovalResolved {
		t.Errorf("%+v", n)
	}
	r.stopTask()
}

func TestABudgetWarningIsAState(t *testing.T) {
	h := newHub(t, sqlite(t))
	d := h.watch(alice)
	d.until("ready")
	h.submit(with(goal("/cost 0.9", "/say x"), dollars(1))).completed()
	for {
		n := d.read()
		if n.Status != nil && n.Status.BudgetLimitUSD != nil {
			if *n.Status.BudgetUsedUSD != 0.9 || *n.Status.BudgetLimitUSD != 1 {
				t.Errorf("%+v", n.Status)
			}
			return
		}
	}
}
