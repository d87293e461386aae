package approval_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// watcher collects events on its own goroutine.
type watcher struct {
	events chan approval.Event
	err    chan error
	stop   context.CancelFunc
}

func watch(t testing.TB, in *approval.Inbox, principal string) *watcher {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &watcher{events: make(chan approval.Event, 10_000), err: make(chan error, 1), stop: stop}
	var done sync.WaitGroup
	done.Go(func() {
		for event, err := range in.Watch(ctx, principal) {
			if err != nil {
				w.err <- err
				return
			}
			w.events <- event
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
	return w
}

func (w *watcher) next(t testing.TB) approval.Event {
	t.Helper()
	select {
	case e := <-w.events:
		return e
	case err := <-w.err:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(30 * time.Second):
		t.Fatal("no event")
	}
	return approval.Event{}
}

func (w *watcher) want(t testing.TB, kind approval.EventKind, id string) {
	t.Helper()
	if e := w.next(t); e.Kind != kind || e.Item.ID != id {
		t.Fatalf("event %s %s, want %s %s", e.Kind, e.Item.ID, kind, id)
	}
}

func TestAWatcherSeesWhatWaitsThenWhatChangesOnAnyHub(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		shared := newBus(t)
		peer := shared.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		here, there := open(t, db, shared, approval.Options{}), open(t, db, peer, approval.Options{})
		first, second := ask(t, here, request()), ask(t, there, request())
		other := request()
		other.Principal = "id-bob"
		bobs := ask(t, here, other)
		mine, all := watch(t, there, "id-alice"), watch(t, here, "")
		mine.want(t, approval.Added, first.ID())
		mine.want(t, approval.Added, second.ID())
		mine.want(t, approval.Ready, "")
		all.want(t, approval.Added, first.ID())
		all.want(t, approval.Added, second.ID())
		all.want(t, approval.Added, bobs.ID())
		all.want(t, approval.Ready, "")
		answer(t, here, alice, first.ID(), approval.Answer{Approved: true})
		mine.want(t, approval.Resolved, first.ID())
		all.want(t, approval.Resolved, first.ID())
		third := ask(t, here, request())
		mine.want(t, approval.Added, third.ID())
		all.want(t, approval.Added, third.ID())
		mine.stop()
		if err := <-mine.err; !errors.Is(err, context.Canceled) {
			t.Errorf("stopped with %v", err)
		}
		_ = here.Close()
		if err := <-all.err; !errors.Is(err, approval.ErrClosed) {
			t.Errorf("closed with %v", err)
		}
	})
}

func TestAHubThatHearsNothingLearnsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		here, deaf := open(t, db, newBus(t), approval.Options{}), open(t, db, newBus(t), approval.Options{})
		p := ask(t, here, request())
		w := watch(t, deaf, "id-alice")
		w.want(t, approval.Added, p.ID())
		w.want(t, approval.Ready, "")
		far, err := deaf.Resume(t.Context(), p.ID())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		answer(t, here, alice, p.ID(), approval.Answer{Approved: true})
		if out := wait(t, far); !out.Approved() || time.Since(start) > time.Second {
			t.Errorf("%+v after %v", out, time.Since(start))
		}
		w.want(t, approval.Resolved, p.ID())
		w.stop()
		_, _ = here.Close(), deaf.Close()
	})
}

func TestAWatchHasNoGapWhileThingsChange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		in := open(t, db, newBus(t), approval.Options{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i := range 10 {
					p := ask(t, in, request())
					if i%2 == 0 {
						answer(t, in, alice, p.ID(), approval.Answer{Approved: true})
					}
				}
			})
		}
		var watchers []*watcher
		for range 4 {
			watchers = append(watchers, watch(t, in, "id-alice"))
		}
		group.Wait()
		last := ask(t, in, request())
		for _, w := range watchers {
			waiting := map[string]bool{}
			for {
				e := w.next(t)
				switch e.Kind {
				case approval.Added:
					if waiting[e.Item.ID] {
						t.Error("added twice")
					}
					waiting[e.Item.ID] = true
				case approval.Resolved:
					if !waiting[e.Item.ID] {
						t.Error("resolved what was never added")
					}
					delete(waiting, e.Item.ID)
				}
				if e.Item.ID == last.ID() {
					break
				}
			}
			if len(waiting) != 21 {
				t.Errorf("a watcher believes that %d wait, want 21", len(waiting))
			}
		}
	})
}

func TestAWatcherThatFallsBehindCatchesUp(t *testing.T) {
	in := open(t, storetest.SQLite(t), newBus(t), approval.Options{})
	first := ask(t, in, request())
	waiting := map[string]bool{}
	ready, target := false, ""
	for e, err := range in.Watch(t.Context(), "id-alice") {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case approval.Ready:
			// While the reader is busy here, more happens than its queue holds.
			for range 300 {
				ask(t, in, request())
			}
			answer(t, in, alice, first.ID(), approval.Answer{})
			target = ask(t, in, request()).ID()
			p, err := in.Resume(t.Context(), first.ID())
			if err != nil {
				t.Fatal(err)
			}
			wait(t, p)
			ready = true
		case approval.Added:
			waiting[e.Item.ID] = true
		case approval.Resolved:
			delete(waiting, e.Item.ID)
		}
		if ready && waiting[target] && !waiting[first.ID()] && len(waiting) == 301 {
			break
		}
	}
	if len(waiting) != 301 {
		t.Errorf("%d wait", len(waiting))
	}
}
