package talk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
)

// twoHubs share a database and a bus; crab's conversation lives on the first.
func twoHubs(t *testing.T, db *store.DB, opts ...option) (a, b *hub) {
	t.Helper()
	wire := bus.NewLocal()
	t.Cleanup(func() { _ = wire.Close() })
	a = newHub(t, db, append([]option{clustered(wire)}, opts...)...)
	b = newHub(t, db, append([]option{clustered(wire)}, opts...)...)
	a.say("/say on the first hub")
	return a, b
}

func TestATurnOnOneHubIsSeenOnTheOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		a, b := twoHubs(t, db, withTools(g.tool("slow")))
		there := b.attach(t, crab, 0, 0)
		there.caughtUp()
		run := b.begin(talk.TurnRequest{Content: "/say first\n/tool slow\n/say through the second"})
		<-g.called
		if a.Stats().Runs != 1 || b.Stats().Runs != 0 {
			t.Errorf("it runs on the wrong hub: %+v %+v", a.Stats(), b.Stats())
		}
		here, late := a.attach(t, crab, 0, 0), b.attach(t, crab, 0, 0)
		here.caughtUp()
		late.caughtUp()
		waits := b.begin(talk.TurnRequest{Content: "/say waited"})
		steer := b.begin(talk.TurnRequest{Content: "/say steered", Mode: talk.Steer})
		g.open <- struct{}{}
		got := all(t, run)
		if got[0].Kind != talk.Start || !strings.HasSuffix(got.text(), "steered") || got.end(t).Error != "" {
			t.Errorf("%+v; want got[0].Kind to be %v, strings.HasSuffix(got.text(), \"steered\"), got.end(t).Error to be \"\"", got, talk.Start)
		}
		if s := all(t, steer); s[0].Kind != talk.Steered || s.text() != "steered" {
			t.Errorf("%+v; want s[0].Kind to be %v, s.text() to be \"steered\"", s, talk.Steered)
		}
		if w := all(t, waits); w.of(talk.Queued) == nil || w.text() != "waited" {
			t.Errorf("%+v; want w.of(talk.Queued) not to be nil, w.text() to be \"waited\"", w)
		}
		for _, d := range []*device{there, here, late} {
			d.ended(waits.ID)
		}
		same := func(d *device) string { return strings.ReplaceAll(transcript(d.got), "\ncrab: ", "") }
		if x, y := same(here), same(late); x != y {
			t.Errorf("the devices differ:\n%s\n%s", x, y)
		}
		if x := transcript(there.got); !strings.Contains(x, "crab: first") || !strings.HasSuffix(x, "waited") {
			t.Errorf("x is %v; want \"crab: first\" in it, strings.HasSuffix(x, \"waited\")", x)
		}
		active, err := b.ListActive(t.Context(), me, talk.Filter{})
		if err != nil || len(active) != 1 {
			t.Errorf("%v, %v; want no error, len(active) to be 1", active, err)
		}
	})
}

func TestControlReachesTheOwningHub(t *testing.T) {
	g := newGate()
	a, b := twoHubs(t, sqlite(t), withTools(g.tool("slow")))
	ctx := t.Context()
	run := b.begin(talk.TurnRequest{Content: "/tool slow"})
	<-g.called
	if err := b.Cancel(ctx, me, crab, ""); err != nil {
		t.Fatal(err)
	}
	if end := all(t, run).end(t); end.Stop != brain.StopCancelled {
		t.Errorf("%+v; want end.Stop to be %v", end, brain.StopCancelled)
	}
	run = b.begin(talk.TurnRequest{Content: `/tool ask_user {"questions":[{"question":"?"}]}` + "\n/say thanks"})
	until(t, run, talk.Ask)
	if err := b.Reply(ctx, me, crab, "", "from afar"); err != nil {
		t.Fatal(err)
	}
	if got := all(t, run); got.of(talk.ToolResult)[0].Result.Output != "from afar" {
		t.Errorf("%+v; want got.of(talk.ToolResult)[0].Result.Output to be \"from afar\"", got)
	}
	if err := b.Reply(ctx, me, crab, "", "x"); !errors.Is(err, talk.ErrNoQuestion) {
		t.Errorf("got %v", err)
	}
	archive, err := b.Compact(ctx, me, crab, "the sea")
	if err != nil || !strings.Contains(archive.Summary, "Focus: the sea") {
		t.Errorf("%+v, %v; want no error, \"Focus: the sea\" in it", archive, err)
	}
	if _, err := b.Compact(ctx, me, crab, ""); !errors.Is(err, talk.ErrNothing) {
		t.Errorf("got %v", err)
	}
	// A client that leaves on the other hub.
	run = b.begin(talk.TurnRequest{Content: "/say a\n/sleep 600000"})
	until(t, run, talk.Chunk)
	watch := b.watch(t, me, talk.Filter{})
	run.Leave()
	watch.wait(1)
	// The same key on both hubs.
	req := talk.TurnRequest{Content: "/say once", IdempotencyKey: "k"}
	a.turn(req)
	if got := b.turn(req); got.text() != "once" {
		t.Errorf("%+v; want got.text() to be \"once\"", got)
	}
	long := strings.Repeat("long ", 30_000) + strings.Repeat("漢", 700_000)
	if big := b.turn(talk.TurnRequest{Content: "/say " + long}); big.text() != long {
		t.Errorf("%d bytes of %d", len(big.text()), len(long))
	}
	if err := b.Kill(ctx, me, crab); err != nil {
		t.Fatal(err)
	}
	if a.Stats().Active != 0 {
		t.Error("still loaded")
	}
	if err := b.Kill(ctx, me, crab); !errors.Is(err, talk.ErrNotActive) {
		t.Errorf("got %v", err)
	}
	if got := b.say("/say mine now"); got.text() != "mine now" || b.Stats().Active != 1 {
		t.Errorf("%+v; want got.text() to be \"mine now\", b.Stats().Active to be 1", got)
	}
}

// dies makes a hub stop like a crash: no lease is given back, nothing is drained.
func (h *hub) dies() {
	h.closed.Do(func() {
		h.leases.Abandon()
		_ = h.bus.Close()
	})
}

func TestADeadHubsWaitingTurnsRunElsewhereWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		wire := bus.NewLocal()
		defer wire.Close()
		a := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		b := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		defer b.stop()
		run := a.begin(talk.TurnRequest{Content: "/say begun\n/sleep 600000"})
		until(t, run, talk.Chunk)
		far := b.begin(talk.TurnRequest{Content: "/say waited on b"})
		a.begin(talk.TurnRequest{Content: "/say waited on a"})
		d := b.attach(t, crab, 0, 0)
		d.caughtUp()
		start := time.Now()
		a.dies()
		got := all(t, far)
		if took := time.Since(start); took > 10*time.Second || got.text() != "waited on b" {
			t.Errorf("%+v after %s", got, took)
		}
		seen := d.ended(run.ID)
		if end := seen[len(seen)-1].Event; end.Stop != brain.StopInterrupted {
			t.Errorf("%+v; want end.Stop to be %v", end, brain.StopInterrupted)
		}
		all(t, b.begin(talk.TurnRequest{Content: "/say last"}))
		want := []string{"user /say begun\n/sleep 600000", "assistant begun", "user /say waited on b", "assistant waited on b", "user /say waited on a", "assistant waited on a", "user /say last", "assistant last"}
		if got := b.stored(crab); !slices.Equal(got, want) {
			t.Errorf("%q; want slices.Equal(got, want)", got)
		}
		// The dead one wakes up: it may not write any more.
		run.Leave()
		_ = a.Close(context.Background())
		if got := b.stored(crab); !slices.Equal(got, want) {
			t.Errorf("a stale owner wrote: %q", got)
		}
		d.leave()
	})
}

// take gives crab's conversation to another hub, as if this one had slept.
func takeAway(t *testing.T, h *hub) {
	t.Helper()
	c, err := h.mem.Find(t.Context(), crab)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE leases SET owner = '', epoch = epoch + 1 WHERE name = ?`, memory.LeaseName(c.ID))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A device that looked on where the conversation used to be got no end, no error and no
// later turns.
func TestADeviceAtAFormerOwnerIsToldToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		wire := bus.NewLocal()
		defer wire.Close()
		a := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		b := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		all(t, a.begin(talk.TurnRequest{Content: "/say here"}))
		d := a.attach(t, crab, 0, 0)
		d.caughtUp()
		takeAway(t, a)
		if err := <-d.errs; !errors.Is(err, talk.ErrLagged) {
			t.Errorf("%v, want to be told to come again", err)
		}
		all(t, b.begin(talk.TurnRequest{Content: "/say there"}))
		again := a.attach(t, crab, 0, 0)
		again.caughtUp()
		run := b.begin(talk.TurnRequest{Content: "/say later"})
		all(t, run)
		again.ended(run.ID)
		again.leave()
	})
}

// The same after a kill: nothing was lost, and the next turn is another hub's.
func TestADeviceSeesWhatAnotherHubDoesAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		wire := bus.NewLocal()
		defer wire.Close()
		a := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		b := newHub(t, db, clustered(wire), withLease(lease.Options{}))
		all(t, a.begin(talk.TurnRequest{Content: "/say here"}))
		d := a.attach(t, crab, 0, 0)
		d.caughtUp()
		if err := a.Kill(t.Context(), anybody, crab); err != nil {
			t.Fatal(err)
		}
		all(t, b.begin(talk.TurnRequest{Content: "/say there"}))
		if err := <-d.errs; !errors.Is(err, talk.ErrLagged) {
			t.Errorf("%v, want to be told to come again", err)
		}
	})
}

func TestAStaleEpochCannotWrite(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		h := newHub(t, db, withTools(g.tool("slow")))
		run := h.begin(talk.TurnRequest{Content: "/tool slow\n/say stale words"})
		<-g.called
		c, err := h.mem.Find(t.Context(), crab)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE leases SET owner = 'another', epoch = epoch + 1 WHERE name = ?`, memory.LeaseName(c.ID))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		g.open <- struct{}{}
		if end := all(t, run).end(t); end.Stop != brain.StopInterrupted || end.Error != "interrupted" {
			t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"interrupted\"", end, brain.StopInterrupted)
		}
		if got := h.stored(crab); len(got) != 2 {
			t.Errorf("a stale owner wrote: %q", got)
		}
	})
}

func TestOneOfTwoHubsFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sqlite(t)
		wire := bus.NewLocal()
		defer wire.Close()
		skilled := func(h *hub, _ *talk.Deps) { h.skills["report"] = talk.Skill{Name: "report", Body: "x"} }
		a := newHub(t, db, clustered(wire), withLease(lease.Options{}), skilled)
		b := newHub(t, db, clustered(wire), withLease(lease.Options{}), skilled)
		defer b.stop()
		if _, err := a.CreateSchedule(t.Context(), me, talk.Schedule{Schedule: "*/10 * * * *", Skill: "report", Key: crab}); err != nil {
			t.Fatal(err)
		}
		fired := func() (n int) {
			for _, line := range b.stored(crab) {
				if line == "user /report" {
					n++
				}
			}
			return n
		}
		<-time.After(31 * time.Minute)
		if n := fired(); n != 3 {
			t.Errorf("%d firings", n)
		}
		a.stop()
		<-time.After(30 * time.Minute)
		if n := fired(); n != 6 {
			t.Errorf("%d firings after one hub left", n)
		}
	})
}

func TestSubscribersSeeOtherHubs(t *testing.T) {
	a, b := twoHubs(t, sqlite(t))
	watch := b.watch(t, anybody, talk.Filter{})
	run := a.begin(talk.TurnRequest{Content: "/say seen"})
	watch.untilEnd(run.ID)
	text := ""
	for _, x := range watch.seen() {
		if x.Event.Kind == talk.Chunk && x.Event.Run == run.ID {
			text += x.Event.Text
		}
	}
	if text != "seen" {
		t.Errorf("fmt.Sprint(watch.seen()) is %v; want text to be \"seen\"", fmt.Sprint(watch.seen()))
	}
}
