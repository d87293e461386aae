package talk

import (
	"context"
	"sync"
	"time"

	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

// keepEvery is how often the text of running turns goes to disk: what a crash may cost.
const keepEvery = time.Second

// keeper stores the text of running turns while it grows, all of them in one
// transaction: a thousand turns cost one write a second.
type keeper struct {
	mu      sync.Mutex
	running map[*running]int // how much of its text was stored last
}

// keep has a run's text kept until done is called.
func (k *keeper) keep(r *running) (done func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		k.running = map[*running]int{}
	}
	k.running[r] = 0
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.running, r)
	}
}

func (k *keeper) loop(t *Talk) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		if parts := k.grown(); len(parts) > 0 {
			k.store(t, parts)
		}
	}
}

func (k *keeper) store(t *Talk, parts []memory.Part) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := t.d.Memory.Write(ctx, func(tx *store.Tx) error { return t.d.Memory.KeepParts(tx, parts) })
	if err != nil {
		t.d.Log.Warn("the text of running turns is not on disk", "error", err)
	}
}

// grown is what was said since the last time. A text that is as long as it was has not
// changed: it only grows, or begins again.
func (k *keeper) grown() (parts []memory.Part) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for r, had := range k.running {
		p := memory.Part{Run: r.tn.id, Parts: r.parts.Load(), Guard: r.c.lease}
		p.Text = r.c.feed.textSoFar()
		if k.running[r] = len(p.Text); len(p.Text) != had && p.Text != "" {
			parts = append(parts, p)
		}
	}
	return parts
}
