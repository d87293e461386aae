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

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
)

func TestTwoTurnsAtOnceAlternateAndTheSecondKnowsItsPosition(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		h := newHub(t, db, withTools(g.tool("slow")))
		first := h.begin(talk.TurnRequest{Content: "/tool slow\n/say one"})
		<-g.called
		second := h.begin(talk.TurnRequest{Content: "/say two"})
		third := h.begin(talk.TurnRequest{Content: "/say three"})
		g.open <- struct{}{}
		if got := all(t, first); got.text() != "one" {
			t.Errorf("got is %v; want got.text() to be \"one\"", got)
		}
		if got := all(t, second); got[0].Kind != talk.Queued || got[0].Position != 1 || got.text() != "two" {
			t.Errorf("%+v; want got[0].Kind to be %v, got[0].Position to be 1, got.text() to be \"two\"", got, talk.Queued)
		}
		got := all(t, third)
		if q := got.of(talk.Queued); len(q) != 2 || q[0].Position != 2 || q[1].Position != 1 || got.text() != "three" {
			t.Errorf("%+v; want len(q) to be 2, q[0].Position to be 2, q[1].Position to be 1, got.text() to be \"three\"", got)
		}
		if diff := cmp.Diff([]string{
			"user /tool slow\n/say one", "assistant [slow]", "tool opened", "assistant one", "user /say two", "assistant two", "user /say three", "assistant three",
		}, h.stored(crab)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestThe33rdWaitingTurnIsRefused(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	runs := []*talk.Run{h.begin(talk.TurnRequest{Content: "/tool slow"})}
	<-g.called
	for i := range 32 {
		runs = append(runs, h.begin(talk.TurnRequest{Content: fmt.Sprintf("/say %d", i)}))
	}
	if _, err := h.Turn(t.Context(), me, talk.TurnRequest{Key: crab, Content: "x"}); !errors.Is(err, talk.ErrQueueFull) {
		t.Errorf("the 33rd: %v", err)
	}
	g.open <- struct{}{}
	for i, run := range runs {
		if got := all(t, run); i > 0 && got.text() != fmt.Sprint(i-1) {
			t.Errorf("turn %d said %q", i, got.text())
		}
	}
	if got := h.say("/say room again"); got.text() != "room again" {
		t.Errorf("got is %v; want got.text() to be \"room again\"", got)
	}
}

func TestThreeSteersInARoundArriveInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		h := newHub(t, db, withTools(g.tool("slow")))
		run := h.begin(talk.TurnRequest{Content: "/tool slow\n/say unsteered"})
		<-g.called
		var steers []*talk.Run
		for i := range 3 {
			steers = append(steers, h.begin(talk.TurnRequest{Content: fmt.Sprintf("/say s%d", i), Mode: talk.Steer}))
		}
		g.open <- struct{}{}
		whole := all(t, run)
		if got := plain(h.models.last(t)); !slices.Equal(got[len(got)-3:], []string{"user /say s0", "user /say s1", "user /say s2"}) {
			t.Errorf("got is %v; want slices.Equal(got[len(got)-3:], []string{\"user /say s0\", \"user /say s1\", \"user /say s2\"})", got)
		}
		for i, s := range steers {
			got := all(t, s)
			if got[0].Kind != talk.Steered || got[0].Text != fmt.Sprintf("/say s%d", i) || got[0].Seq != int64(4+i) || got.text() != whole.text() || got.end(t).Run != run.ID {
				t.Errorf("steer %d: %+v", i, got)
			}
		}
		if list := h.stored(crab); len(list) != 7 || list[6] != "assistant s2" {
			t.Errorf("list is %v; want len(list) to be 7, list[6] to be \"assistant s2\"", list)
		}
		// Four turns were one run, which is paid for once.
		c, err := h.mem.Find(t.Context(), crab)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := h.mem.Usage(t.Context(), c.ID); err != nil || u != *whole.end(t).Usage {
			t.Errorf("%+v of %+v, %v", u, whole.end(t).Usage, err)
		}
	})
}

func TestASteerThatFindsNoFurtherRoundIsTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		defer h.stop()
		run := h.begin(talk.TurnRequest{Content: "/say a\n/sleep 1000\n/say b"})
		until(t, run, talk.Chunk)
		waits := h.begin(talk.TurnRequest{Content: "/say queued"})
		steer := h.begin(talk.TurnRequest{Content: "/say steered", Mode: talk.Steer})
		if got := all(t, steer); len(got.of(talk.Start)) != 1 || got.text() != "steered" {
			t.Errorf("%+v; want len(got.of(talk.Start)) to be 1, got.text() to be \"steered\"", got)
		}
		all(t, waits)
		if got := h.stored(crab); !slices.Equal(got[2:], []string{"user /say steered", "assistant steered", "user /say queued", "assistant queued"}) {
			t.Error(got)
		}
	})
}

func TestInterruptCancelsAndRunsNext(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	run := h.begin(talk.TurnRequest{Content: "/say begun\n/tool slow"})
	<-g.called
	waits := h.begin(talk.TurnRequest{Content: "/say later"})
	now := h.begin(talk.TurnRequest{Content: "/say now", Mode: talk.Interrupt})
	if end := all(t, run).end(t); end.Stop != brain.StopCancelled || end.Error != "cancelled" {
		t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"cancelled\"", end, brain.StopCancelled)
	}
	all(t, now)
	all(t, waits)
	if got := h.stored(crab); !slices.Equal(got[3:], []string{"user /say now", "assistant now", "user /say later", "assistant later"}) {
		t.Error(got)
	}
}

func TestTheSameKeyRunsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		h := newHub(t, db, withTools(g.tool("slow")))
		one := talk.TurnRequest{Content: "/say early\n/tool slow\n/say one", IdempotencyKey: "k1"}
		two := talk.TurnRequest{Content: "/say two", IdempotencyKey: "k2"}
		first := h.begin(one)
		<-g.called
		again := h.begin(one)
		waiting, waitingAgain := h.begin(two), h.begin(two)
		if again.ID != first.ID || waitingAgain.ID != waiting.ID {
			t.Error("another run")
		}
		g.open <- struct{}{}
		for _, run := range []*talk.Run{first, again} {
			if got := all(t, run); !strings.HasSuffix(got.text(), "one") || got[0].Kind != talk.Start {
				t.Errorf("%+v; want strings.HasSuffix(got.text(), \"one\"), got[0].Kind to be %v", got, talk.Start)
			}
		}
		for _, run := range []*talk.Run{waiting, waitingAgain} {
			if got := all(t, run); got.text() != "two" {
				t.Errorf("%+v; want got.text() to be \"two\"", got)
			}
		}
		replayed := h.turn(one)
		if replayed.text() != "one" || replayed.end(t).Stop != brain.StopDone || replayed.end(t).Usage.Rounds != 2 {
			t.Errorf("%+v; want replayed.text() to be \"one\", replayed.end(t).Stop to be %v, replayed.end(t).Usage.Rounds to be 2", replayed, brain.StopDone)
		}
		if got := h.stored(crab); len(got) != 6 {
			t.Errorf("got is %v; want len(got) to be 6", got)
		}
	})
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t), withLimits(talk.Limits{Sweep: time.Hour}))
		defer h.stop()
		req := talk.TurnRequest{Content: "/say x", IdempotencyKey: "k"}
		h.turn(req)
		<-time.After(23 * time.Hour)
		h.turn(req)
		if n := len(h.stored(crab)); n != 2 {
			t.Errorf("%d messages", n)
		}
		<-time.After(2 * time.Hour)
		h.turn(req)
		if n := len(h.stored(crab)); n != 4 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestCancelKeepsTheTextSoFar(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	for name, script := range map[string]string{"while talking": "/say so far\n/sleep 600000", "in a tool": "/say so far\n/tool slow"} {
		t.Run(name, func(t *testing.T) {
			key := talk.Key{Agent: "crab", Sender: "user", Thread: name}
			run := h.begin(talk.TurnRequest{Key: key, Content: script})
			if name == "in a tool" {
				<-g.called
			} else {
				until(t, run, talk.Chunk)
				until(t, run, talk.Chunk)
			}
			next := h.begin(talk.TurnRequest{Key: key, Content: "/say next"})
			if err := h.Cancel(t.Context(), me, key, ""); err != nil {
				t.Fatal(err)
			}
			end := all(t, run).end(t)
			if end.Error != "cancelled" || end.Stop != brain.StopCancelled {
				t.Errorf("%+v; want end.Error to be \"cancelled\", end.Stop to be %v", end, brain.StopCancelled)
			}
			all(t, next)
			list := h.stored(key)
			if !strings.HasPrefix(list[1], "assistant so far") || list[len(list)-1] != "assistant next" {
				t.Errorf("list is %v; want strings.HasPrefix(list[1], \"assistant so far\"), list[len(list)-1] to be \"assistant next\"", list)
			}
			if name == "in a tool" && list[2] != "tool cancelled before it finished" {
				t.Error(list)
			}
		})
	}
	if err := h.Cancel(t.Context(), me, crab, ""); !errors.Is(err, talk.ErrNotActive) {
		t.Errorf("nothing runs: %v", err)
	}
}

func TestAWaitingTurnCanBeCancelledByItsRun(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	run := h.begin(talk.TurnRequest{Content: "/tool slow\n/say one"})
	<-g.called
	waits, steers, stays := h.begin(talk.TurnRequest{Content: "a"}), h.begin(talk.TurnRequest{Content: "b", Mode: talk.Steer}), h.begin(talk.TurnRequest{Content: "/say c"})
	for _, r := range []*talk.Run{waits, steers} {
		if err := h.Cancel(t.Context(), me, crab, r.ID); err != nil {
			t.Fatal(err)
		}
		if end := all(t, r).end(t); end.Stop != brain.StopCancelled || len(end.Error) == 0 {
			t.Errorf("%+v; want end.Stop to be %v, len(end.Error) not to be 0", end, brain.StopCancelled)
		}
	}
	if err := h.Cancel(t.Context(), me, crab, "none"); !errors.Is(err, talk.ErrNotActive) {
		t.Errorf("got %v", err)
	}
	g.open <- struct{}{}
	if all(t, run).text() != "one" || all(t, stays).text() != "c" {
		t.Errorf("h.stored(crab) is %v; want all(t, run).text() to be \"one\", all(t, stays).text() to be \"c\"", h.stored(crab))
	}
}

func TestAfterKillThePastIsKnownAndNothingWaits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		g := newGate()
		h := newHub(t, db, withTools(g.tool("slow")))
		h.say("/say past")
		run := h.begin(talk.TurnRequest{Content: "/tool slow"})
		<-g.called
		waits := h.begin(talk.TurnRequest{Content: "never"})
		steers := h.begin(talk.TurnRequest{Content: "never", Mode: talk.Steer})
		if err := h.Kill(t.Context(), me, crab); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*talk.Run{run, waits, steers} {
			if end := all(t, r).end(t); end.Stop != brain.StopKilled || end.Error != "killed" {
				t.Errorf("%+v; want end.Stop to be %v, end.Error to be \"killed\"", end, brain.StopKilled)
			}
		}
		if err := h.Kill(t.Context(), me, crab); !errors.Is(err, talk.ErrNotActive) {
			t.Errorf("nothing is loaded: %v", err)
		}
		if err := h.Kill(t.Context(), me, talk.Key{Agent: "twin"}); !errors.Is(err, talk.ErrNotActive) {
			t.Errorf("nothing there: %v", err)
		}
		h.say("/say back")
		if got := plain(h.models.last(t)); got[0] != "user /say past" || got[1] != "assistant past" || len(got) != 6 {
			t.Errorf("got is %v; want got[0] to be \"user /say past\", got[1] to be \"assistant past\", len(got) to be 6", got)
		}
	})
}

// A tool and a provider that ignore their context.
func TestAKilledRunEndsWithinASecondWhateverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		defer close(never)
		hang := &tool.Tool{Name: "slow", Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
			<-never
			return tool.Result{}, nil
		}}
		h := newHub(t, sqlite(t), withTools(hang))
		defer h.stop()
		deaf := talk.Key{Agent: "crab", Sender: "deaf"}
		h.models.playing(func(_ context.Context, req model.Request, yield func(model.Event, error) bool) bool {
			if req.Messages[len(req.Messages)-1].Text != "deaf" {
				return false
			}
			yield(model.Event{Kind: model.Text, Text: "x"}, nil)
			<-never
			return true
		})
		tooled, deafened := h.begin(talk.TurnRequest{Content: "/tool slow"}), h.begin(talk.TurnRequest{Key: deaf, Content: "deaf"})
		synctest.Wait()
		start := time.Now()
		for _, key := range []talk.Key{crab, deaf} {
			if err := h.Kill(t.Context(), anybody, key); err != nil {
				t.Fatal(err)
			}
		}
		all(t, tooled)
		all(t, deafened)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("two kills took %s", took)
		}
	})
}

func TestAClientThatLeavesCancelsItsRunUnlessSomebodyLooksOn(t *testing.T) {
	// Each has its own time: what is asked while the model sleeps is asked in time.
	run := func(name string, test func(t *testing.T, h *hub)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t, sqlite(t))
				defer h.stop()
				test(t, h)
			})
		})
	}
	run("alone", func(t *testing.T, h *hub) {
		run := h.begin(talk.TurnRequest{Content: "/say a\n/sleep 600000"})
		until(t, run, talk.Chunk)
		watch := h.watch(t, me, talk.Filter{})
		run.Leave()
		watch.wait(1)
		if got := h.stored(crab); got[1] != "assistant a" {
			t.Errorf("got is %v; want got[1] to be \"assistant a\"", got)
		}
	})
	run("detached", func(t *testing.T, h *hub) {
		key := talk.Key{Agent: "crab", Sender: "user", Thread: "d"}
		run := h.begin(talk.TurnRequest{Key: key, Content: "/say a\n/sleep 50\n/say b", Detached: true})
		until(t, run, talk.Chunk)
		again := h.begin(talk.TurnRequest{Key: key, Content: "/say next"})
		run.Leave()
		all(t, again)
		if got := h.stored(key); got[1] != "assistant a\nb" {
			t.Errorf("got is %v; want got[1] to be \"assistant a\\nb\"", got)
		}
	})
	run("a device is attached", func(t *testing.T, h *hub) {
		key := talk.Key{Agent: "crab", Sender: "user", Thread: "w"}
		device := h.attach(t, key, 0, 0)
		device.until(func(e talk.ConversationEvent) bool { return e.CaughtUp })
		run := h.begin(talk.TurnRequest{Key: key, Content: "/say a\n/sleep 50\n/say b"})
		until(t, run, talk.Chunk)
		run.Leave()
		device.until(func(e talk.ConversationEvent) bool { return e.Event != nil && e.Event.Kind == talk.End })
		if got := h.stored(key); got[1] != "assistant a\nb" {
			t.Errorf("got is %v; want got[1] to be \"assistant a\\nb\"", got)
		}
	})
	run("waiting", func(t *testing.T, h *hub) {
		key := talk.Key{Agent: "crab", Sender: "user", Thread: "q"}
		run := h.begin(talk.TurnRequest{Key: key, Content: "/say a\n/sleep 50"})
		until(t, run, talk.Chunk)
		waits := h.begin(talk.TurnRequest{Key: key, Content: "/say never asked"})
		waits.Leave()
		last := h.begin(talk.TurnRequest{Key: key, Content: "/say last"})
		all(t, run)
		all(t, last)
		if got := h.stored(key); !slices.Equal(got[2:], []string{"user /say never asked", "user /say last", "assistant last"}) {
			t.Errorf("got is %v; want slices.Equal(got[2:], []string{\"user /say never asked\", \"user /say last\", \"assistant last\"})", got)
		}
	})
}

func TestControlNeverWaitsForARun(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")))
	h.begin(talk.TurnRequest{Content: "/tool slow"})
	<-g.called
	ctx := t.Context()
	c, err := h.Find(ctx, me, crab)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := h.ListActive(ctx, me, talk.Filter{}); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if _, err := h.History(ctx, me, c.ID, talk.HistoryRequest{}); err != nil {
		t.Error(err)
	}
	if err := h.SetTitle(ctx, me, c.ID, "mine"); err != nil {
		t.Error(err)
	}
	if err := h.Reply(ctx, me, crab, "", "x"); !errors.Is(err, talk.ErrNoQuestion) {
		t.Error(err)
	}
	if s := h.Stats(); s.Active != 1 || s.Runs != 1 {
		t.Errorf("%+v; want s.Active to be 1, s.Runs to be 1", s)
	}
}

func TestMoreRunsThanAHubMayDoWait(t *testing.T) {
	g := newGate()
	h := newHub(t, sqlite(t), withTools(g.tool("slow")), withLimits(talk.Limits{Runs: 1}))
	first := h.begin(talk.TurnRequest{Content: "/tool slow"})
	<-g.called
	key := talk.Key{Agent: "crab", Sender: "bob"}
	second := h.begin(talk.TurnRequest{Key: key, Content: "/say two"})
	if got := until(t, second, talk.Queued); got[0].Position != 1 || h.stored(key) != nil {
		t.Errorf("%+v; want got[0].Position to be 1, h.stored(key) to be nil", got)
	}
	g.open <- struct{}{}
	all(t, first)
	if got := all(t, second); got.text() != "two" {
		t.Errorf("got is %v; want got.text() to be \"two\"", got)
	}
}

func TestAnIdleConversationIsUnloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		defer h.stop()
		all(t, h.begin(talk.TurnRequest{Content: "/say x"}))
		<-time.After(14 * time.Minute)
		if h.Stats().Active != 1 {
			t.Error("unloaded early")
		}
		<-time.After(10 * time.Minute)
		if h.Stats().Active != 0 {
			t.Error("still loaded")
		}
		if got := h.say("/say y"); got.text() != "y" {
			t.Errorf("got is %v; want got.text() to be \"y\"", got)
		}
	})
}

func TestClosingLetsRunsFinishRefusesTurnsAndKeepsWaitingOnes(t *testing.T) {
	db := sqlite(t)
	g := newGate()
	h := newHub(t, db, withTools(g.tool("slow")))
	run := h.begin(talk.TurnRequest{Content: "/tool slow\n/say done"})
	<-g.called
	waits := h.begin(talk.TurnRequest{Content: "/say waited"})
	closed := make(chan struct{})
	go func() { h.stop(); close(closed) }()
	for {
		_, err := h.Turn(t.Context(), me, talk.TurnRequest{Key: talk.Key{Agent: "twin"}, Content: "x"})
		if errors.Is(err, talk.ErrUnavailable) {
			break
		}
	}
	g.open <- struct{}{}
	if got := all(t, run); got.text() != "done" || got.end(t).Error != "" {
		t.Errorf("%+v; want got.text() to be \"done\", got.end(t).Error to be \"\"", got)
	}
	<-closed
	for _, err := range waits.Events(t.Context()) {
		if err != nil && !errors.Is(err, talk.ErrUnavailable) {
			t.Error(err)
		}
	}
	again := newHub(t, db, withTools(g.tool("slow")))
	all(t, again.begin(talk.TurnRequest{Content: "/say after"}))
	if got := again.stored(crab); !slices.Equal(got[4:], []string{"user /say waited", "assistant waited", "user /say after", "assistant after"}) {
		t.Error(got)
	}
}

func TestClosingCancelsWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, sqlite(t))
		run := h.begin(talk.TurnRequest{Content: "/say kept\n/sleep 600000"})
		until(t, run, talk.Chunk)
		start := time.Now()
		h.stop()
		if took := time.Since(start); took < 20*time.Second || took > 22*time.Second {
			t.Errorf("took %s", took)
		}
		if got := h.stored(crab); got[1] != "assistant kept" {
			t.Errorf("got is %v; want got[1] to be \"assistant kept\"", got)
		}
	})
}
