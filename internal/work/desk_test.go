package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// device is the screen of somebody's desk.
type device struct {
	t     testing.TB
	desk  *work.Desk
	mu    sync.Mutex
	shown []work.Shown
	more  chan struct{}
}

func (h *hub) watch(who identity.Actor) *device {
	h.t.Helper()
	d := &device{t: h.t, more: make(chan struct{}, 1)}
	desk, err := h.Desk(ctx, who.Person.ID, d, func() {})
	if err != nil {
		h.t.Fatalf("no desk: %v", err)
	}
	d.desk = desk
	h.t.Cleanup(desk.Close)
	return d
}

func (d *device) Show(s work.Shown) {
	d.mu.Lock()
	d.shown = append(d.shown, s)
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// An agent whose last task failed says so, until it begins another.
func TestAnAgentWhoseLastTaskFailedIsShownAsSuch(t *testing.T) {
	h := newHub(t, sqlite(t))
	mine := h.watch(alice)
	h.submitKey(alice, "bad", goal("/fail 400 no")).failed(viber.CodeProviderError)
	if got := fmt.Sprint(mine.until("status error")); got != "[task:started status running task:error status error]" {
		t.Errorf("a task that fails is shown as %s", got)
	}
	h.submitKey(alice, "good", goal("/say yes")).completed()
	if got := fmt.Sprint(mine.until("status idle")); got != "[task:started status running task:completed status idle]" {
		t.Errorf("the next, which does not fail, is shown as %s", got)
	}
}

func (d *device) Room(context.Context) error { return nil }

func (d *device) Lost(err error) {
	if !errors.Is(err, work.ErrShuttingDown) {
		d.t.Errorf("the desk was lost: %v", err)
	}
}

func (d *device) read() work.Shown {
	d.t.Helper()
	for timeout := time.After(time.Minute); ; {
		d.mu.Lock()
		if len(d.shown) > 0 {
			s := d.shown[0]
			d.shown = d.shown[1:]
			d.mu.Unlock()
			return s
		}
		d.mu.Unlock()
		select {
		case <-d.more:
		case <-timeout:
			d.t.Fatal("nothing more is shown")
		}
	}
}

// until reads up to a line, and gives all lines.
func (d *device) until(last string) (lines []string) {
	d.t.Helper()
	for len(lines) == 0 || lines[len(lines)-1] != last {
		lines = append(lines, line(d.read()))
	}
	return lines
}

func line(s work.Shown) string {
	if s, ok := s.Payload.(*viber.StatusAgent); ok {
		return "status " + string(s.Status)
	}
	return string(s.Payload.Type())
}

func TestDevicesSeeTheLifeCycleAndTheAgentsState(t *testing.T) {
	h := newHub(t, sqlite(t))
	mine, others := h.watch(alice), h.watch(bob)
	sub, err := h.Submit(ctx, alice, work.SubmitRequest{Key: "k", Origin: "conn-1", Submit: mode(goal("/say x", `/tool shell {"command":"touch x"}`, "/say y"), viber.AgentDecides)})
	if err != nil {
		t.Fatal(err)
	}
	first := mine.read()
	if s, ok := first.Payload.(*viber.TaskStarted); !ok || s.TaskID != sub.TaskID || s.Seq != 1 || first.Followed || first.Own {
		t.Errorf("the first thing shown is %+v, want the start of somebody else's submit", first)
	}
	lines := mine.until("approval:required")
	paused, _ := mine.read().Payload.(*viber.StatusAgent)
	if paused == nil || paused.Status != viber.AgentPaused || paused.CurrentTaskID != sub.TaskID || paused.AgentID != "parley" {
		t.Errorf("behind the question comes %+v, want the agent paused", paused)
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
		a, _ := own.Payload.(*viber.ApprovalRequired)
		if a == nil || a.ApprovalID != asked.ApprovalID || a.Seq != asked.Seq || a.TimeoutMS > asked.TimeoutMS {
			t.Errorf("%+v", own)
		}
		b, _ := other.Payload.(*viber.ApprovalRequired)
		if b == nil || b.ToolCall.Name != "reboot" || b.TaskID != "" || b.Reason != "reboot it?" {
			t.Errorf("%+v", other)
		}
	}
	d := h.watch(alice)
	d.read()
	d.read()
	list, err := h.Approvals(ctx, alice)
	if err != nil || len(list) != 2 || list[1].ToolCall.Name != "reboot" {
		t.Fatalf("%+v %v", list, err)
	}
	a := h.answer(alice, no(list[1].ApprovalID, ""))
	if !a.First || a.Resolved.Outcome != viber.Rejected {
		t.Errorf("%+v", a)
	}
	if n := d.read(); n.Payload.Type() != viber.TypeApprovalResolved {
		t.Errorf("after the answer comes %+v, want the decision", n)
	}
	r.stopTask()
}

func TestABudgetWarningIsAState(t *testing.T) {
	h := newHub(t, sqlite(t))
	d := h.watch(alice)
	h.submit(with(goal("/cost 0.9", "/say x"), dollars(1))).completed()
	for {
		s, ok := d.read().Payload.(*viber.StatusAgent)
		if ok && s.BudgetLimitUSD != nil {
			if *s.BudgetUsedUSD != 0.9 || *s.BudgetLimitUSD != 1 {
				t.Errorf("the state says %+v, want 0.9 of 1 dollar", s)
			}
			return
		}
	}
}

// lateBus keeps news back while it is told to.
type lateBus struct {
	bus.Bus
	mu   sync.Mutex
	late bool
	kept [][2]string
}

func (b *lateBus) Publish(subject string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.late && strings.HasPrefix(subject, "work.") {
		b.kept = append(b.kept, [2]string{subject, string(data)})
		return nil
	}
	return b.Bus.Publish(subject, data)
}

func (b *lateBus) hold(late bool) {
	b.mu.Lock()
	kept := b.kept
	b.late, b.kept = late, nil
	b.mu.Unlock()
	for _, m := range kept {
		_ = b.Bus.Publish(m[0], []byte(m[1]))
	}
}

// News is held back until a task that was submitted here has run to its end: all of it
// comes a second time then, and nothing of it is shown twice.
func TestADeskShowsEachEventOnceHoweverLateTheNewsIs(t *testing.T) {
	held := &lateBus{}
	h := newHub(t, sqlite(t), func(h *hub, d *work.Deps) { held.Bus, d.Bus = h.bus, held })
	d := h.watch(alice)
	held.hold(true)
	if err := d.desk.Submit(ctx, alice, work.SubmitRequest{Key: "k", Submit: goal("/say x")}, "r1"); err != nil {
		t.Fatal(err)
	}
	got := d.until("status idle")
	held.hold(false)
	if err := d.desk.Submit(ctx, alice, work.SubmitRequest{Key: "k2", Submit: goal("/say y")}, "r2"); err != nil {
		t.Fatal(err)
	}
	again := d.until("status idle")
	for _, lines := range [][]string{got, again} {
		starts, ends := 0, 0
		for _, l := range lines {
			switch l {
			case "task:started":
				starts++
			case "task:completed":
				ends++
			}
		}
		if starts != 1 || ends != 1 {
			t.Errorf("a task is shown as %v, want one start and one end", lines)
		}
	}
}
