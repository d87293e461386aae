package ownertest

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
)

// Contract runs every promise of package owner in worlds that open makes. run is how a
// test is run: with real time, or in a bubble of testing/synctest.
func Contract(t *testing.T, run func(t *testing.T, test func(t *testing.T)), open func(t *testing.T) *World) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *World)
	}{
		{"the same answer from any hub", sameAnswer},
		{"answers and questions of any size", anySize},
		{"errors keep their identity", errorsKeepIdentity},
		{"cancellation reaches the other side", cancellationReaches},
		{"a deadline reaches the other side", deadlineReaches},
		{"the death of whoever asked reaches the other side", askerDies},
		{"nobody owns it", nobodyOwnsIt},
		{"what cannot be loaded is owned by nobody", brokenLoad},
		{"who comes later gets the same thing", sameThing},
		{"an ending thing is waited for", endingIsWaitedFor},
		{"a former owner sends the question on", movedOn},
		{"an owner that was killed", ownerKilled},
		{"an owner that slept past its lease and woke up", ownerSlept},
		{"an owner that hangs is silent when its lease ends", ownerHangs},
		{"moved under load, everything is counted once", movedUnderLoad},
		{"what is forged, odd or doubled does nothing", oddMessages},
		{"all hubs are asked", allHubs},
		{"what is bound to its hub is found without a lease", boundIsFound},
		{"a stream is followed in order", followed},
		{"a stream of a dead owner ends", streamOfDeadOwner},
		{"a follower that comes late misses nothing", slowFollower},
		{"a stream that nobody asks for is closed", forgottenStream},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(t *testing.T) {
				w := open(t)
				w.saved, w.ended = map[string]int{}, make(chan error, 64)
				c.test(t, w)
			})
		})
	}
}

func (h *hub) ask(id string, q Question) Answer {
	h.t.Helper()
	a, err := h.Ask(h.t.Context(), id, q)
	if err != nil {
		h.t.Fatalf("asking %s to %s: %v", id, q.Op, err)
	}
	return a
}

func sameAnswer(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	for _, h := range []*hub{here, there} {
		a := h.ask("a", Question{Op: "echo", Text: "hello ✓", Empty: &struct{}{}, Wait: time.Second})
		if a.Text != "hello ✓" || a.Hub != here.leases.ID() || !a.Whole {
			t.Errorf("%+v, want all of the question back from %s", a, here.leases.ID())
		}
	}
}

func anySize(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	most := here.bus.MaxPayload()
	for _, n := range []int{0, 1, most - 9<<10, most - 8<<10, most, most + 1, 5 << 20, 50 << 20} {
		if a := there.ask("a", Question{Op: "long", N: n}); len(a.Text) != n {
			t.Errorf("an answer of %d bytes arrived with %d", n, len(a.Text))
		}
	}
	for _, n := range []int{most, 3 << 20} {
		if a := there.ask("a", Question{Op: "length", Text: string(make([]byte, n))}); a.N != n {
			t.Errorf("a question of %d bytes arrived with %d", n, a.N)
		}
	}
	if _, err := there.Ask(t.Context(), "a", Question{Op: "long", N: owner.MaxBody + 1}); !errors.Is(err, owner.ErrTooLarge) {
		t.Errorf("an answer that is too large: %v, want that it is", err)
	}
}

func errorsKeepIdentity(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	for _, h := range []*hub{here, there} {
		_, err := h.Ask(t.Context(), "a", Question{Op: "refuse"})
		if !errors.Is(err, errRefused) || err.Error() != "refused: not today" {
			t.Errorf("%v, want errRefused with its words", err)
		}
		_, err = h.Ask(t.Context(), "a", Question{Op: "short", N: 3})
		if e, ok := errors.AsType[*shortage](err); !ok || *e != (shortage{"time", 3}) {
			t.Errorf("%v, want a shortage of time by 3", err)
		}
		_, err = h.Ask(t.Context(), "a", Question{Op: "odd"})
		if err == nil || err.Error() != "nobody knows this one" {
			t.Errorf("%v, want its text", err)
		}
	}
}

// waitBegun returns when somebody has begun to answer "wait".
func (w *World) waitBegun(t *testing.T) {
	t.Helper()
	if err := <-w.ended; err != nil {
		t.Fatalf("the question ended before it was waited for: %v", err)
	}
}

func cancellationReaches(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := there.Ask(ctx, "a", Question{Op: "wait"})
		done <- err
	}()
	w.waitBegun(t)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the asker: %v, want cancelled", err)
	}
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the owner: %v, want cancelled", err)
	}
}

// A deadline that ends before the owner has begun shows nothing: on a busy machine the next one is longer.
func deadlineReaches(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	for limit := time.Second; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if _, err := there.Ask(ctx, "a", Question{Op: "wait"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the asker: %v, want late", err)
		}
		select {
		case err := <-w.ended:
			if err != nil {
				t.Fatalf("the question ended before it was waited for: %v", err)
			}
			if err := <-w.ended; err == nil {
				t.Error("the owner went on after the asker's deadline")
			}
			return
		default:
		}
	}
}

func askerDies(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, brief)
	here.own("a")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = there.Ask(ctx, "a", Question{Op: "wait"}) })
	w.waitBegun(t)
	there.leases.Abandon()
	if err := <-w.ended; err == nil {
		t.Error("the owner went on for a hub that is dead")
	}
	cancel()
	asking.Wait()
}

func nobodyOwnsIt(t *testing.T, w *World) {
	h := w.hub(t, long)
	if _, err := h.Ask(t.Context(), "no-such", Question{Op: "echo"}); !errors.Is(err, errNone) {
		t.Errorf("%v, want that there is none", err)
	}
	still := w.hub(t, long, notLoaded)
	if _, err := still.Ask(t.Context(), "no-such", Question{Op: "echo"}); !errors.Is(err, errNone) {
		t.Errorf("without loading: %v, want that there is none", err)
	}
	if _, err := still.Ask(t.Context(), "a", Question{Op: "echo"}); !errors.Is(err, owner.ErrMoving) {
		t.Errorf("nobody takes it up: %v, want that it is moving", err)
	}
	if n, err := h.leases.Owner(t.Context(), "tally.no-such"); err != nil || n != "" {
		t.Errorf("what does not exist is owned by %q, %v", n, err)
	}
}

func brokenLoad(t *testing.T, w *World) {
	h := w.hub(t, long)
	if _, err := h.Ask(t.Context(), "broken", Question{Op: "echo"}); !errors.Is(err, errRefused) {
		t.Errorf("%v, want why it cannot be loaded", err)
	}
	if n, err := h.leases.Owner(t.Context(), "tally.broken"); err != nil || n != "" {
		t.Errorf("it is owned by %q, %v; want nobody", n, err)
	}
}

func sameThing(t *testing.T, w *World) {
	h, other := w.hub(t, long), w.hub(t, long)
	all := make([]*tally, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], _ = h.Take(t.Context(), "a") })
	}
	wg.Wait()
	for _, it := range all {
		if it == nil || it != all[0] {
			t.Errorf("%p and %p, want one thing for all", it, all[0])
		}
	}
	_, err := other.Take(t.Context(), "a")
	if held, ok := errors.AsType[*lease.HeldError](err); !ok || held.Owner != h.leases.ID() {
		t.Errorf("another hub: %v, want that it is held", err)
	}
}

func endingIsWaitedFor(t *testing.T, w *World) {
	h := w.hub(t, long)
	first := h.own("a")
	h.Leaving("a", first)
	got := make(chan *tally)
	go func() {
		it, err := h.Take(t.Context(), "a")
		if err != nil {
			t.Errorf("taking it again: %v", err)
		}
		got <- it
	}()
	h.letGo("a", first)
	second := <-got
	if second == first || second.lease.Epoch() <= first.lease.Epoch() {
		t.Errorf("epoch %d then %d, want a new life of the thing", first.lease.Epoch(), second.lease.Epoch())
	}
}

func movedOn(t *testing.T, w *World) {
	first, second, asker := w.hub(t, long), w.hub(t, long), w.hub(t, long)
	it := first.own("a")
	if a := asker.ask("a", Question{Op: "echo"}); a.Hub != first.leases.ID() {
		t.Fatalf("answered by %s, want %s", a.Hub, first.leases.ID())
	}
	first.letGo("a", it)
	second.own("a")
	if a := asker.ask("a", Question{Op: "echo"}); a.Hub != second.leases.ID() {
		t.Errorf("answered by %s, want the new owner %s", a.Hub, second.leases.ID())
	}
}

func ownerKilled(t *testing.T, w *World) {
	doomed, asker := w.hub(t, brief), w.hub(t, long)
	doomed.own("a")
	asker.ask("a", Question{Op: "add", N: 1})
	doomed.leases.Abandon()
	if err := doomed.bus.Close(); err != nil {
		t.Fatal(err)
	}
	if a := asker.ask("a", Question{Op: "add", N: 1}); a.N != 2 || a.Hub != asker.leases.ID() {
		t.Errorf("%d from %s, want 2 from the heir", a.N, a.Hub)
	}
}

// The owner's process was stopped for longer than its lease, and goes on as if nothing
// had happened. Whoever remembers it as the owner must not be answered by it.
func ownerSlept(t *testing.T, w *World) {
	sleeper, heir, asker := w.hub(t, brief), w.hub(t, long), w.hub(t, long)
	old := sleeper.own("a")
	asker.ask("a", Question{Op: "add", N: 1})
	sleeper.leases.Abandon() // and its bus goes on
	for {
		if _, err := heir.Take(t.Context(), "a"); err == nil {
			break
		}
		pause(t, 10*time.Millisecond)
	}
	if a := asker.ask("a", Question{Op: "add", N: 1}); a.Hub != heir.leases.ID() || a.N != 2 {
		t.Errorf("%d from %s, want 2 from the heir", a.N, a.Hub)
	}
	select {
	case <-old.lease.Lost():
	default:
		t.Error("the sleeper does not know that it lost the thing")
	}
}

func ownerHangs(t *testing.T, w *World) {
	hung, asker := w.hub(t, brief), w.hub(t, long, func(k *owner.Kind[*tally, Question, Answer]) { k.Repeatable = false })
	hung.own("a")
	done := make(chan error, 1)
	go func() {
		_, err := asker.Ask(t.Context(), "a", Question{Op: "wait"})
		done <- err
	}()
	w.waitBegun(t)
	hung.leases.Abandon()
	if err := <-done; !errors.Is(err, owner.ErrSilent) {
		t.Errorf("%v, want that the owner is silent", err)
	}
}

func movedUnderLoad(t *testing.T, w *World) {
	hubs := []*hub{w.hub(t, long), w.hub(t, long), w.hub(t, long)}
	const askers, each = 6, 20
	var counted atomic.Int64
	var wg sync.WaitGroup
	for i := range askers {
		wg.Go(func() {
			for range each {
				if _, err := hubs[i%len(hubs)].Ask(t.Context(), "a", Question{Op: "add", N: 1}); err != nil {
					t.Errorf("a question was not answered: %v", err)
					return
				}
				counted.Add(1)
			}
		})
	}
	stop, moved := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(moved)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			h := hubs[i%len(hubs)]
			if it, ok := h.Get("a"); ok {
				h.letGo("a", it)
			}
			pause(t, 5*time.Millisecond)
		}
	}()
	wg.Wait()
	close(stop)
	<-moved
	if w.saved["a"] != askers*each || int64(w.saved["a"]) != counted.Load() {
		t.Errorf("%d counted, %d answered, %d asked: want all of them once", w.saved["a"], counted.Load(), askers*each)
	}
}

func allHubs(t *testing.T, w *World) {
	a, b, c := w.hub(t, long), w.hub(t, long), w.hub(t, long)
	got, err := a.AskHubs(t.Context(), time.Minute, Question{Op: "echo", Text: "who"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v: want two answers", got, err)
	}
	for _, g := range got {
		if g.Answer.Hub != g.Hub || g.Hub != b.leases.ID() && g.Hub != c.leases.ID() {
			t.Errorf("%+v is neither %s nor %s", g, b.leases.ID(), c.leases.ID())
		}
	}
	if got, err := a.AskHubs(t.Context(), time.Minute, Question{Op: "refuse"}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v: want nobody who agrees", got, err)
	}
}

func boundIsFound(t *testing.T, w *World) {
	bound := func(k *owner.Kind[*tally, Question, Answer]) {
		k.Bound, k.Load, k.Repeatable = true, nil, false
		k.Unowned = func(context.Context, string) error { return errNone }
		k.Holds = func(*tally) *lease.Lease { return nil }
	}
	here, there, third := w.hub(t, brief, bound), w.hub(t, long, bound), w.hub(t, long, bound)
	if err := here.Add("a", &tally{id: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*hub{there, third, there} {
		if a := h.ask("a", Question{Op: "echo"}); a.Hub != here.leases.ID() {
			t.Errorf("answered by %s, want %s", a.Hub, here.leases.ID())
		}
	}
	if _, err := there.Ask(t.Context(), "b", Question{Op: "echo"}); !errors.Is(err, errNone) {
		t.Errorf("what is nowhere: %v, want that there is none", err)
	}
	here.leases.Abandon()
	if err := here.bus.Close(); err != nil {
		t.Fatal(err)
	}
	// What was on its way when the connection broke is lost: that is silence.
	_, err := there.Ask(t.Context(), "a", Question{Op: "echo"})
	if errors.Is(err, owner.ErrSilent) {
		_, err = there.Ask(t.Context(), "a", Question{Op: "echo"})
	}
	if !errors.Is(err, errNone) {
		t.Errorf("its hub is dead: %v, want that there is none", err)
	}
}

func followed(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	for _, h := range []*hub{here, there} {
		s, err := h.Follow(t.Context(), "a", Question{N: 500})
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 500; n++ {
			if a, err := s.Next(t.Context()); err != nil || a.N != n {
				t.Fatalf("%d, %v: want %d", a.N, err, n)
			}
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the last one: %v, want the end", err)
		}
		s.Close()
		if _, err := h.Follow(t.Context(), "a", Question{Op: "refuse"}); !errors.Is(err, errRefused) {
			t.Errorf("%v, want that it is refused", err)
		}
	}
}

func streamOfDeadOwner(t *testing.T, w *World) {
	doomed, h := w.hub(t, brief), w.hub(t, long)
	doomed.own("a")
	s, err := h.Follow(t.Context(), "a", Question{Op: "never"})
	if err != nil {
		t.Fatal(err)
	}
	doomed.leases.Abandon()
	if _, err := s.Next(t.Context()); !errors.Is(err, owner.ErrMoving) {
		t.Errorf("%v, want that the thing is moving", err)
	}
	s.Close()
}

// The follower gives up waiting and asks again: what was on its way comes again.
func slowFollower(t *testing.T, w *World) {
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	s, err := there.Follow(t.Context(), "a", Question{N: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := 1; n <= 1000; {
		ctx, cancel := context.WithCancel(t.Context())
		if n%7 == 0 {
			cancel()
		}
		a, err := s.Next(ctx)
		cancel()
		switch {
		case errors.Is(err, context.Canceled) && n%7 == 0:
			if a, err = s.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		case err != nil:
			t.Fatal(err)
		}
		if a.N != n {
			t.Fatalf("%d after %d: something was lost or came twice", a.N, n-1)
		}
		n++
	}
}

// The views of a hub that died must not count for ever.
func forgottenStream(t *testing.T, w *World) {
	if !w.Quick {
		return // a minute of real time; the bubble shows the same
	}
	here, there := w.hub(t, long), w.hub(t, long)
	here.own("a")
	if _, err := there.Follow(t.Context(), "a", Question{Op: "never"}); err != nil {
		t.Fatal(err)
	}
	<-w.forgotten
}

// pause lets time pass: that of the bubble, or a little of everybody's.
func pause(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
