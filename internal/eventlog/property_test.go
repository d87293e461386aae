package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// rowdyBus loses, repeats and reorders what it is given.
type rowdyBus struct {
	bus.Bus
	mu   sync.Mutex
	rng  *rand.Rand
	late []func()
}

func (b *rowdyBus) Publish(subject string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	send := func() { _ = b.Bus.Publish(subject, data) }
	switch b.rng.IntN(6) {
	case 0: // lost
	case 1: // twice
		send()
		send()
	case 2: // later
		b.late = append(b.late, send)
	default:
		send()
	}
	if len(b.late) > 0 && b.rng.IntN(2) == 0 {
		b.late[0]()
		b.late = b.late[1:]
	}
	return nil
}

// world is one database under several hubs that write one stream in turn, while
// readers follow it. The database is closed and opened again between phases.
type world struct {
	t       *testing.T
	path    string
	rng     *rand.Rand
	acked   map[int64]string
	mu      sync.Mutex
	readers []*reader
	faults  []string
}

type reader struct {
	from int64
	seen []string
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// phase runs writers and readers against one opening of the database.
func (w *world) phase(n, hubs, rounds int) {
	db := storetest.Open(w.t, w.path)
	local := bus.NewLocal()
	seed := w.rng.Uint64()
	noisy := &rowdyBus{Bus: local, rng: rand.New(rand.NewPCG(seed, 1))}
	log := eventlog.New(db, noisy, quiet())
	log.UseJournal(w.rng.IntN(3), w.rng.IntN(20))
	ctx, cancel := context.WithCancel(w.t.Context())

	var readers, writers sync.WaitGroup
	for _, r := range w.readers {
		readers.Go(func() { w.follow(ctx, log, r) })
	}
	for h := range hubs {
		name := fmt.Sprintf("p%d-hub%d", n, h)
		rng := rand.New(rand.NewPCG(seed, uint64(h)+2))
		writers.Go(func() { w.write(log, db, name, rng, rounds) })
	}
	writers.Wait()
	// Lost news is made good by the reader's own check of the store.
	<-time.After(time.Minute)
	cancel()
	readers.Wait()
	w.check(log)
	_ = local.Close()
}

// write takes the lease when it can, appends, and gives it back or dies.
func (w *world) write(log *eventlog.Log, db *store.DB, hub string, rng *rand.Rand, rounds int) {
	leases, err := lease.Join(w.t.Context(), db, hub, lease.Options{})
	if err != nil {
		w.fault("join: %v", err)
		return
	}
	for i := range rounds {
		mine, err := leases.Acquire(w.t.Context(), "stream")
		if _, ok := errors.AsType[*lease.HeldError](err); ok {
			<-time.After(time.Duration(rng.IntN(3000)) * time.Millisecond)
			continue
		}
		if err != nil {
			w.fault("acquire: %v", err)
			return
		}
		w.append(log, mine, hub, i, rng)
		if rng.IntN(2) == 0 {
			w.giveUp(log, mine)
		}
	}
	if rng.IntN(2) == 0 {
		leases.Abandon()
		return
	}
	if err := leases.Close(w.t.Context()); err != nil {
		w.fault("close: %v", err)
	}
}

func (w *world) append(log *eventlog.Log, mine *lease.Lease, hub string, round int, rng *rand.Rand) {
	events := make([]eventlog.Event, 1+rng.IntN(3))
	for i := range events {
		events[i] = text(fmt.Sprintf("%s/%d/%d", hub, round, i))
	}
	first, err := log.Append(w.t.Context(), mine, "stream", events...)
	if errors.Is(err, lease.ErrLost) {
		return
	}
	if err != nil {
		w.fault("append: %v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, ev := range events {
		w.acked[first+int64(i)] = string(ev.Data)
	}
}

// giveUp releases the lease and checks that the former owner is fenced off.
func (w *world) giveUp(log *eventlog.Log, mine *lease.Lease) {
	if err := mine.Release(w.t.Context()); err != nil {
		w.fault("release: %v", err)
	}
	if _, err := log.Append(w.t.Context(), mine, "stream", text("stale")); !errors.Is(err, lease.ErrLost) {
		w.fault("an append after the lease was given back: %v", err)
	}
}

func (w *world) follow(ctx context.Context, log *eventlog.Log, r *reader) {
	for ev, err := range log.Follow(ctx, "stream", r.from+int64(len(r.seen))) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				w.fault("follow: %v", err)
			}
			return
		}
		if want := r.from + int64(len(r.seen)) + 1; ev.Seq != want {
			w.fault("a reader from %d saw %d instead of %d", r.from, ev.Seq, want)
			return
		}
		r.seen = append(r.seen, string(ev.Data))
	}
}

// check compares what readers saw with what was acknowledged.
func (w *world) check(log *eventlog.Log) {
	bounds, err := log.Bounds(w.t.Context(), "stream")
	if err != nil {
		w.fault("bounds: %v", err)
		return
	}
	if int64(len(w.acked)) != bounds.Last {
		w.fault("%d events were acknowledged, the stream has %d", len(w.acked), bounds.Last)
	}
	for _, r := range w.readers {
		if last := r.from + int64(len(r.seen)); last != bounds.Last {
			w.fault("a reader stopped at %d of %d", last, bounds.Last)
		}
		for i, got := range r.seen {
			if want := w.acked[r.from+int64(i)+1]; got != want {
				w.fault("event %d reads %q, %q was acknowledged", r.from+int64(i)+1, got, want)
			}
		}
	}
	// Newcomers of the next phase start anywhere.
	w.readers = append(w.readers, &reader{from: w.rng.Int64N(bounds.Last + 1)})
}

func TestNoReaderEverSeesAGapADuplicateOrAReordering(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		hubs := rapid.IntRange(1, 4).Draw(rt, "hubs")
		phases := rapid.IntRange(1, 3).Draw(rt, "phases")
		rounds := rapid.IntRange(1, 12).Draw(rt, "rounds")
		var w *world
		synctest.Test(t, func(t *testing.T) {
			w = &world{t: t, path: storetest.File(t), rng: rand.New(rand.NewPCG(seed, 0)), acked: map[int64]string{}}
			w.readers = []*reader{{}, {}}
			for n := range phases {
				w.phase(n, hubs, rounds)
			}
		})
		for _, fault := range w.faults {
			rt.Error(fault)
		}
	})
}

// The same promise on PostgreSQL with real time: two hubs on two connections
// to one server race for the lease while readers follow.
func TestReadersOnPostgresSeeEveryEventOnce(t *testing.T) {
	db := storetest.Postgres(t)
	local := bus.NewLocal()
	defer func() { _ = local.Close() }()
	log := eventlog.New(db, local, quiet())
	const perWriter, writers = 50, 4
	var wg sync.WaitGroup
	seen := make([][]int64, 3)
	for i := range seen {
		wg.Go(func() {
			for ev, err := range log.Follow(t.Context(), "stream", 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if seen[i] = append(seen[i], ev.Seq); len(seen[i]) == perWriter*writers {
					return
				}
			}
		})
	}
	for range writers {
		wg.Go(func() {
			for range perWriter {
				if _, err := log.Append(t.Context(), nil, "stream", text("x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, got := range seen {
		for i, seq := range got {
			if seq != int64(i)+1 {
				t.Fatalf("event %d came in place of %d", seq, i+1)
			}
		}
	}
}
