package audit

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

// run is the one goroutine of the log: it gathers, writes and signs.
func (l *Chain) run(last Checkpoint) {
	defer close(l.done)
	l.tellNew() // signed while this hub, or its witness, was away
	w := &writer{log: l, signed: last.Seq, written: last.Seq, due: time.NewTimer(l.opts.CheckpointEvery)}
	defer w.due.Stop()
	for {
		var noteTimer <-chan time.Time
		if l.pendingNotes() {
			noteTimer = time.After(w.patience())
		}
		select {
		case <-l.wake:
			if !l.urgent() {
				continue // only notes: give them time to gather
			}
		case <-noteTimer:
		case <-w.due.C:
			w.due.Reset(l.opts.CheckpointEvery)
			w.checkpoint()
			continue
		}
		w.flush()
		if l.isClosed() {
			w.finish()
			return
		}
	}
}

func (l *Chain) pendingNotes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.notes) > 0
}

func (l *Chain) urgent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || len(l.waiting) > 0 || len(l.notes) >= maxGroup
}

func (l *Chain) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// writer is the state of the goroutine.
type writer struct {
	log *Chain
	// signed is the last checkpoint, written the last entry this hub saw.
	signed, written int64
	due             *time.Timer
	failures        int
}

// patience is how long notes wait: for company, and longer while the database
// does not take them.
func (w *writer) patience() time.Duration { return noteDelay << min(w.failures, 5) }

// flush writes everything that waits, in groups. It stops when a group of notes
// alone fails; those stay and are tried again.
func (w *writer) flush() {
	for {
		g := w.log.nextGroup()
		if len(g.entries) == 0 {
			return
		}
		end, err := w.log.write(g.entries)
		for _, j := range g.jobs {
			j.result <- err
		}
		if err != nil {
			w.failures++
			w.log.opts.Logger.Error("the audit trail cannot be written", "entries", len(g.entries), "error", err)
			w.log.putBack(g)
			if len(g.jobs) == 0 {
				return
			}
			continue
		}
		w.failures, w.written = 0, end.seq
		if w.written-w.signed >= w.log.opts.CheckpointEntries {
			w.checkpoint()
		}
	}
}

// finish is the end of Close: notes get one more try, then the last signature.
func (w *writer) finish() {
	w.flush()
	w.log.mu.Lock()
	lost := len(w.log.notes)
	w.log.mu.Unlock()
	if lost > 0 {
		w.log.opts.Logger.Error("audit notes lost at shutdown", "entries", lost)
	}
	w.checkpoint()
}

func (w *writer) checkpoint() {
	cp, err := w.log.checkpoint(context.Background())
	if err != nil {
		w.log.opts.Logger.Error("the audit trail cannot be signed", "error", err)
		return
	}
	w.signed = max(w.signed, cp.Seq)
}

// group is what one transaction writes.
type group struct {
	entries []canonicalEntry
	jobs    []*job
	notes   []canonicalEntry
	dropped int
}

// nextGroup gathers waiting jobs and notes up to a group's size.
func (l *Chain) nextGroup() group {
	l.mu.Lock()
	defer l.mu.Unlock()
	var g group
	for len(l.waiting) > 0 && len(g.entries) < maxGroup {
		g.jobs = append(g.jobs, l.waiting[0])
		g.entries = append(g.entries, l.waiting[0].entries...)
		l.waiting = l.waiting[1:]
	}
	n := min(len(l.notes), max(maxGroup-len(g.entries), 0))
	g.notes = l.notes[:n:n]
	l.notes = l.notes[n:]
	g.entries = append(g.entries, g.notes...)
	if g.dropped = l.dropped; g.dropped > 0 && n > 0 {
		l.dropped = 0
		if gap, err := l.prepare(Entry{Actor: "hub", Action: TrailDropped, Outcome: "lost", Detail: map[string]any{"entries": g.dropped}}); err == nil {
			g.entries = append(g.entries, gap)
		}
	}
	return g
}

// putBack returns the notes of a group that could not be written.
func (l *Chain) putBack(g group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(g.notes, l.notes...)
	l.dropped += g.dropped
}

// writeTimeout keeps a database that hangs from holding callers for ever.
const writeTimeout = 30 * time.Second

func (l *Chain) write(entries []canonicalEntry) (end head, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err = l.db.Write(ctx, func(tx *store.Tx) error {
		end, err = l.appendPrepared(tx, entries)
		return err
	})
	if err == nil {
		l.mu.Lock()
		l.seen = end
		l.mu.Unlock()
	}
	return end, err
}
