package witness

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/wake"
)

// Target is one place where checkpoints are kept.
type Target struct {
	// Name tells people which it is.
	Name string
	// Put keeps checkpoints, or fails and is asked again.
	Put func(ctx context.Context, cps []audit.Checkpoint) error
	// All keeps every checkpoint that waits. Otherwise only the newest wait: each of
	// them signs everything before it.
	All bool
	// Has is the newest it is known to have.
	Has audit.Checkpoint
}

const (
	// maxWaiting is how many wait for a target that is away.
	maxWaiting = 1000
	// maxPut is how many it is given at once.
	maxPut = 100
	// putTime bounds one attempt, closeTime the last one of a hub that stops.
	putTime   = 30 * time.Second
	closeTime = 5 * time.Second
	// Pauses between attempts that fail.
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// Keeper hands checkpoints to its targets.
type Keeper struct {
	log   *slog.Logger
	posts []*post
	done  sync.WaitGroup
}

// New starts a keeper. Close ends it.
func New(log *slog.Logger, targets ...Target) *Keeper {
	k := &Keeper{log: log}
	for _, t := range targets {
		p := &post{Target: t, log: log, wake: wake.New(), closing: make(chan struct{})}
		k.posts = append(k.posts, p)
		k.done.Go(p.run)
	}
	return k
}

// Offer gives a checkpoint to every target. It does not wait.
func (k *Keeper) Offer(cp audit.Checkpoint) {
	for _, p := range k.posts {
		p.offer(cp)
	}
}

// Remind gives the newest checkpoint to targets that may have missed it: the hub may have
// stopped before they took it.
func (k *Keeper) Remind(cp audit.Checkpoint) {
	for _, p := range k.posts {
		if cp.Seq > 0 && p.Has.Hash != cp.Hash {
			p.offer(cp)
		}
	}
}

// Close tries once more to be rid of what waits, and ends the keeper. A target that
// hangs, as a disk on a network can, is not waited for.
func (k *Keeper) Close() error {
	for _, p := range k.posts {
		close(p.closing)
	}
	gone := make(chan struct{})
	go func() { k.done.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(closeTime + time.Second):
		k.log.Error("a witness of the audit trail hangs; it is left behind")
	}
	return nil
}

// State is how a target is.
type State struct {
	Name string
	// Last is the highest entry signed by what it has taken since the hub started.
	Last audit.Checkpoint
	// Waiting are those it has not taken, Failures the attempts that failed since the
	// hub started; Error is the last failure, empty once it takes them again.
	Waiting  int
	Failures int64
	Error    string
}

// States tells how every target is.
func (k *Keeper) States() []State {
	all := make([]State, len(k.posts))
	for i, p := range k.posts {
		p.mu.Lock()
		all[i] = p.state
		all[i].Name, all[i].Waiting = p.Name, len(p.waiting)
		p.mu.Unlock()
	}
	return all
}
