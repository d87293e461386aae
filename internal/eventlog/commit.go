package eventlog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/lease"
	"parley.internal/internal/store"
)

// batch is one transaction: entries of some streams, and older events that move
// from the journal to their places meanwhile. It is made anew when the
// transaction is run again.
type batch struct {
	at    time.Time
	heads []head
	// row is the journal's new row, 0 if everything went to its place at once.
	row     int64
	journal bool
	moved   moved
}

// commit writes entries in one transaction. Only the turn that is under way calls
// it, so nothing else changes the journal.
func (l *Log) commit(ctx context.Context, entries []*entry) (*batch, error) {
	// A write that began is finished whatever becomes of its callers.
	ctx = context.WithoutCancel(ctx)
	if only := entries[0]; only.alone != nil {
		err := l.db.Write(ctx, only.alone)
		if err == nil {
			only.then()
		}
		return nil, err
	}
	var b *batch
	fill := func(tx *store.Tx) (err error) {
		b, err = l.fill(tx, entries)
		return err
	}
	err := l.db.Write(ctx, fill)
	if errors.Is(err, errStale) {
		l.known.forget()
		err = l.db.Write(ctx, fill)
	}
	if err = l.Resolve(ctx, err, b.sample(), fill); err != nil {
		return nil, err
	}
	l.known.remember(b.heads)
	l.journal.done(b)
	return b, nil
}

// sample is the first event of the transaction, which stands for all of them.
func (b *batch) sample() Appended {
	if b == nil {
		return Appended{}
	}
	for i := range b.heads {
		if h := &b.heads[i]; len(h.entries) > 0 {
			ev := h.entries[0].events[0]
			ev.Seq, ev.At = h.first(), b.at
			return Appended{stream: h.name, events: []Event{ev}}
		}
	}
	return Appended{}
}

// publish tells the readers of a transaction; one after the other.
func (l *Log) publish(b *batch) {
	if b == nil {
		return
	}
	for i := range b.heads {
		l.send(l.subjectOf(b.heads[i].name), b.heads[i].first(), b.heads[i].run)
	}
}

func (l *Log) fill(tx *store.Tx, entries []*entry) (*batch, error) {
	entries, err := guarded(tx, entries)
	if err != nil {
		return nil, err
	}
	b := &batch{at: time.UnixMicro(time.Now().UnixMicro()).UTC(), heads: headsOf(entries)}
	if err := l.reserve(tx, b.heads); err != nil {
		return nil, err
	}
	b.journal = tx.Dialect() == store.SQLite && len(b.heads) >= l.journal.from
	for i := range b.heads {
		b.heads[i].number(b.at)
	}
	// Moving comes first: it is about rows of earlier transactions only.
	if b.moved, err = l.journal.move(tx); err != nil {
		return nil, err
	}
	return b, b.insert(tx)
}

// guarded gives the entries that may be written. A lost lease is the entry's
// own failure and none of the transaction.
func guarded(tx *store.Tx, entries []*entry) ([]*entry, error) {
	var fenced []*entry
	var leases []*lease.Lease
	for _, e := range entries {
		e.err = nil
		switch guard := e.guard.(type) {
		case nil:
		case *lease.Lease:
			fenced, leases = append(fenced, e), append(leases, guard)
		default:
			e.err = guard.Check(tx)
		}
	}
	verdicts, err := lease.CheckAll(tx, leases)
	if err != nil {
		return nil, err
	}
	for i, e := range fenced {
		e.err = verdicts[i]
	}
	good := make([]*entry, 0, len(entries))
	for _, e := range entries {
		if e.err == nil && len(e.events) > 0 {
			good = append(good, e)
		}
	}
	return good, nil
}

// head is what one stream gets in a transaction.
type head struct {
	name     string
	entries  []*entry
	more     int64
	id, last int64
	// run is all of it as readers get it.
	run []byte
}

func (h *head) first() int64 { return h.last - h.more + 1 }

// number tells each entry its first number and packs the run.
func (h *head) number(at time.Time) {
	seq, size := h.first(), runHead
	for _, e := range h.entries {
		e.first = seq
		seq += int64(len(e.events))
		size += sizeOf(e.events)
	}
	h.run = beginRun(make([]byte, 0, size), h.first())
	for _, e := range h.entries {
		h.run = appendRun(h.run, at, e.events)
	}
}

// headsOf lists the streams of the entries once each, in the order of their
// names, which every transaction keeps to: two of them never wait for each other.
func headsOf(entries []*entry) []head {
	slices.SortStableFunc(entries, func(a, b *entry) int { return strings.Compare(a.stream, b.stream) })
	heads := make([]head, 0, len(entries))
	for i := 0; i < len(entries); {
		h := head{name: entries[i].stream}
		begin := i
		for ; i < len(entries) && entries[i].stream == h.name; i++ {
			h.more += int64(len(entries[i].events))
		}
		h.entries = entries[begin:i]
		heads = append(heads, h)
	}
	return heads
}
