package owner

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// lookEvery is how often somebody who waits looks whether the other hub lives. One
	// look is for all who wait.
	lookEvery = 250 * time.Millisecond
	// lookFirst spares the look for what is answered soon, which is nearly everything.
	lookFirst = 250 * time.Millisecond
	// lookTime bounds one look.
	lookTime = 2 * time.Second
)

// watch ends what waits for a hub that is dead: a hub that hangs answers nothing, and
// nobody says so.
type watch struct {
	living func(context.Context) ([]string, error)
	run    func(func()) bool // beside the caller; false: the hub stops
	quit   <-chan struct{}

	mu      sync.Mutex
	waits   map[*wait]struct{}
	looking bool
}

type wait struct {
	hub   string
	since time.Time
	end   context.CancelCauseFunc
}

// during is a context that also ends, with ErrSilent, when the hub does not live.
func (w *watch) during(ctx context.Context, hub string) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	it := &wait{hub: hub, since: time.Now(), end: end}
	w.mu.Lock()
	w.waits[it] = struct{}{}
	start := !w.looking
	w.looking = true
	w.mu.Unlock()
	if start && !w.run(w.look) {
		w.mu.Lock()
		w.looking = false
		w.mu.Unlock()
	}
	return ctx, func() {
		w.mu.Lock()
		delete(w.waits, it)
		w.mu.Unlock()
		end(nil)
	}
}

// look goes on while somebody waits.
func (w *watch) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.quit:
			return
		}
		now := time.Now()
		waits, over := w.old(now)
		if over {
			return
		}
		if len(waits) > 0 {
			w.endOf(waits, now)
		}
	}
}

// old are those who wait for long; over: nobody waits at all.
func (w *watch) old(now time.Time) (waits []*wait, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waits) == 0 {
		w.looking = false
		return nil, true
	}
	for it := range w.waits {
		if now.Sub(it.since) >= lookFirst {
			waits = append(waits, it)
		}
	}
	return waits, false
}

func (w *watch) endOf(waits []*wait, now time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(lookTime))
	defer cancel()
	hubs, err := w.living(ctx)
	if err != nil {
		return // nobody is dead because the database is away
	}
	for _, it := range waits {
		if !slices.Contains(hubs, it.hub) {
			it.end(ErrSilent)
		}
	}
}
