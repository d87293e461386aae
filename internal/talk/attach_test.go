package talk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/talk"
)

// device is an attached device, read in the background.
type device struct {
	t      testing.TB
	events chan talk.ConversationEvent
	errs   chan error
	got    []talk.ConversationEvent
	leave  func()
}

func (h *hub) attach(t testing.TB, key talk.Key, after int64, history int) *device {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d := &device{t: t, events: make(chan talk.ConversationEvent, 100_000), errs: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(d.events)
		for ev, err := range h.Attach(ctx, anybody, key, after, history) {
			if err != nil {
				d.errs <- err
				return
			}
			d.events <- ev
		}
	}()
	d.leave = func() { cancel(); <-done }
	t.Cleanup(d.leave)
	return d
}

// until reads up to an event.
func (d *device) until(stop func(talk.ConversationEvent) bool) []talk.ConversationEvent {
	d.t.Helper()
	from := len(d.got)
	for ev := range d.events {
		d.got = append(d.got, ev)
		if stop(ev) {
			return d.got[from:]
		}
	}
	select {
	case err := <-d.errs:
		d.t.Fatalf("the device was cut: %v", err)
	default:
		d.t.Fatal("the device saw its end")
	}
	return nil
}

func (d *device) caughtUp() []talk.ConversationEvent {
	return d.until(func(e talk.ConversationEvent) bool { return e.CaughtUp })
}

func (d *device) ended(run string) []talk.ConversationEvent {
	return d.until(func(e talk.ConversationEvent) bool { return e.Event != nil && e.Event.Kind == talk.End && e.Run == run })
}

// transcript is the text a device shows: messages and chunks.
func transcript(list []talk.ConversationEvent) string {
	var b strings.Builder
	for _, e := range list {
		switch {
		case e.Message != nil:
			fmt.Fprintf(&b, "\n%s: %s", e.Message.Role, e.Message.Text)
		case e.Event != nil && e.Event.Kind == talk.Start:
			fmt.Fprintf(&b, "\n%s: ", e.Event.Agent)
		case e.Event != nil && e.Event.Kind == talk.Chunk:
			b.WriteString(e.Event.Text)
		}
	}
	return strings.ReplaceAll(b.String(), "assistant: ", "crab: ")
}

func TestADeviceAttachedMidRunEndsWithTheSameText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the run pauses while devices attach
		g := newGate()
		h := newHub(t, sqlite(t), withTools(g.tool("slow")))
		early := h.attach(t, crab, 0, 0)
		early.caughtUp()
		h.say("/say before")
		run := h.begin(talk.TurnRequest{Content: "/say first round\n/tool slow\n/say second\n/sleep 30\n/say third"})
		<-g.called
		middle := h.attach(t, crab, 0, 0)
		middle.caughtUp()
		g.open <- struct{}{}
		until(t, run, talk.ToolsComplete)
		until(t, run, talk.Chunk)
		late := h.attach(t, crab, 0, 0)
		late.caughtUp()
		short := h.attach(t, crab, 0, 1)
		short.caughtUp()
		for _, d := range []*device{early, middle, late, short} {
			d.ended(run.ID)
		}
		want := "\nuser: /say before\ncrab: before\nuser: /say first round\n/tool slow\n/say second\n/sleep 30\n/say third\ncrab: first roundsecond\nthird"
		if got := transcript(early.got); got != want {
			t.Errorf("early\n%s\nwant\n%s", got, want)
		}
		// A round that is stored is a message for those who came later.
		later := strings.Replace(want, "first roundsecond", "first round\ncrab: second", 1)
		for name, d := range map[string]*device{"middle": middle, "late": late} {
			if got := transcript(d.got); got != later {
				t.Errorf("%s\n%s\nwant\n%s", name, got, later)
			}
		}
		if got := transcript(short.got); !strings.HasSuffix(later, got) || !strings.Contains(got, "first round") {
			t.Errorf("short\n%s", got)
		}
	})
}

func TestAttachResumesBySeq(t *testing.T) {
	h := newHub(t, sqlite(t))
	for i := range 5 {
		h.say(fmt.Sprintf("/say %d", i))
	}
	d := h.attach(t, crab, 6, 0)
	if got := transcript(d.caughtUp()); got != "\nuser: /say 3\ncrab: 3\nuser: /say 4\ncrab: 4" {
		t.Errorf("got is %v; want \"\\nuser: /say 3\\ncrab: 3\\nuser: /say 4\\ncrab: 4\"", got)
	}
	if last := d.got[len(d.got)-1]; last.Seq != 10 {
		t.Errorf("caught up at %d", last.Seq)
	}
	if got := transcript(h.attach(t, crab, 0, 3).caughtUp()); got != "\ncrab: 3\nuser: /say 4\ncrab: 4" {
		t.Errorf("got is %v; want \"\\ncrab: 3\\nuser: /say 4\\ncrab: 4\"", got)
	}
}

func TestDevicesSeeGuestsQueueSteersCompactionsAndTheEnd(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	a, b := h.attach(t, crab, 0, 0), h.attach(t, crab, 0, 0)
	a.caughtUp()
	b.caughtUp()
	h.begin(talk.TurnRequest{Content: "/tool slow"})
	<-g.called
	h.begin(talk.TurnRequest{Content: "/say steered", Mode: talk.Steer})
	guest := h.begin(talk.TurnRequest{Content: "/say hi", Guest: "twin"})
	g.open <- struct{}{}
	all(t, guest)
	if _, err := h.Compact(t.Context(), me, crab, ""); err != nil {
		t.Fatal(err)
	}
	c, err := h.Find(t.Context(), me, crab)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetTitle(t.Context(), me, c.ID, "new title"); err != nil {
		t.Fatal(err)
	}
	if err := h.Kill(t.Context(), me, crab); err != nil {
		t.Fatal(err)
	}
	h.say("/say after the kill")
	if err := h.Delete(t.Context(), me, c.ID); err != nil {
		t.Fatal(err)
	}
	gone := func(e talk.ConversationEvent) bool { return e.Deleted }
	first, second := a.until(gone), b.until(gone)
	if diff := cmp.Diff(kindsOf(first), kindsOf(second)); diff != "" {
		t.Error(diff)
	}
	kinds := fmt.Sprint(kindsOf(first))
	for _, kind := range []talk.Kind{talk.Start, talk.Steered, talk.Queued, talk.Compacted, talk.Titled, talk.ToolResult, talk.End} {
		if !strings.Contains(kinds, fmt.Sprint(uint8(kind))) {
			t.Errorf("no event of kind %d in %s", kind, kinds)
		}
	}
}

func kindsOf(list []talk.ConversationEvent) (out []uint8) {
	for _, e := range list {
		switch {
		case e.Message != nil:
			out = append(out, 100)
		case e.Event != nil:
			out = append(out, uint8(e.Event.Kind))
		case e.Deleted:
			out = append(out, 102)
		}
	}
	return out
}

func TestASlowReaderLosesNoText(t *testing.T) {
	h := newHub(t, sqlite(t))
	words := strings.Repeat("word ", 20_000)
	run := h.begin(talk.TurnRequest{Content: "/say " + words})
	if got := h.say("/say done"); got.text() != "done" {
		t.Errorf("got is %v; want got.text() to be \"done\"", got)
	}
	got := all(t, run) // read only now
	if got.text() != words || len(got) > 1000 {
		t.Errorf("%d bytes in %d events", len(got.text()), len(got))
	}
}
