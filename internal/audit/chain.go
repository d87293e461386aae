package audit

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"time"

	"parley.internal/internal/mask"
	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

// Options tune a log; only Key is needed.
type Options struct {
	// Key signs checkpoints. Without it there are none.
	Key ed25519.PrivateKey
	// Trusted are further keys whose checkpoints count: those of other hubs, and
	// former keys of this one.
	Trusted []ed25519.PublicKey
	// OnCheckpoint is told each checkpoint once it is on disk, those of other hubs
	// on this chain too, to keep it where the database's owner cannot reach. It must
	// not block. Known are those it has kept already.
	OnCheckpoint func(Checkpoint)
	Known        []Checkpoint
	// CheckpointEntries and CheckpointEvery say when to sign (1000, 10 minutes).
	CheckpointEntries int64
	CheckpointEvery   time.Duration
	// Mask is what never gets into the trail; nil knows the hub's own secrets.
	Mask   *mask.Mask
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.CheckpointEntries <= 0 {
		o.CheckpointEntries = 1000
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

const (
	// noteDelay is how long a note may wait for company.
	noteDelay = 200 * time.Millisecond
	// maxGroup bounds one transaction.
	maxGroup = 1024
	// maxNotes bounds what waits while the database is away; beyond it the
	// oldest are dropped and counted in the trail.
	maxNotes = 50_000
)

// Chain is the trail, as this hub writes it.
type Chain struct {
	db   *store.DB
	opts Options

	mu      sync.Mutex
	waiting []*job
	notes   []canonicalEntry
	dropped int
	closed  bool
	seen    head // the end of the chain when this hub last wrote

	// Only the goroutine uses these: what OnCheckpoint was told of lately.
	told   map[Hash]time.Time
	toldAt time.Time

	wake wake.Bell
	done chan struct{}
}

// job is an Append that waits for its commit.
type job struct {
	entries []canonicalEntry
	result  chan error
}

// Open starts the log. Close ends it.
func Open(ctx context.Context, db *store.DB, opts Options) (*Chain, error) {
	l := &Chain{db: db, opts: opts.withDefaults(), wake: wake.New(), done: make(chan struct{}), told: map[Hash]time.Time{}}
	for _, cp := range opts.Known {
		l.hasTold(cp)
	}
	last, err := l.lastCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	go l.run(last)
	return l, nil
}

// Append writes entries and returns once they are on disk. When ctx ends first
// the entries may still be written.
func (l *Chain) Append(ctx context.Context, entries ...Entry) error {
	j := &job{entries: make([]canonicalEntry, len(entries)), result: make(chan error, 1)}
	for i, e := range entries {
		var err error
		if j.entries[i], err = l.prepare(e); err != nil {
			return err
		}
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.waiting = append(l.waiting, j)
	l.mu.Unlock()
	l.wake.Ring()
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Note writes entries soon: within a second while the database answers, and
// before Close returns. It never blocks.
func (l *Chain) Note(entries ...Entry) {
	for _, e := range entries {
		c, err := l.prepare(e)
		if err != nil {
			l.opts.Logger.Error("audit entry refused", "action", e.Action, "error", err)
			continue
		}
		l.mu.Lock()
		switch {
		case l.closed:
			l.opts.Logger.Error("audit entry after the log was closed", "action", e.Action)
		case len(l.notes) >= maxNotes:
			l.notes = append(l.notes[1:], c)
			l.dropped++
		default:
			l.notes = append(l.notes, c)
		}
		first := len(l.notes) == 1
		l.mu.Unlock()
		if first {
			l.wake.Ring()
		}
	}
}

// Close writes what waits, signs a last checkpoint and ends the goroutine.
func (l *Chain) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	l.mu.Unlock()
	if !already {
		l.wake.Ring()
	}
	<-l.done
	return nil
}
