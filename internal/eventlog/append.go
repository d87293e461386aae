package eventlog

import (
	"bytes"
	"context"
	"errors"
	"time"

	"parley.internal/internal/pause"
	"parley.internal/internal/store"
)

// Append writes the events to the stream, in one transaction, and returns the
// number of the first. guard may be nil for streams without an owner. Appends
// that wait at the same time share a transaction, whatever their streams.
func (l *Log) Append(ctx context.Context, guard Guard, stream string, events ...Event) (first int64, err error) {
	if guard == nil && len(events) == 0 {
		return 0, ctx.Err()
	}
	e := &entry{guard: guard, stream: stream, events: events}
	if err := l.turns.Do(ctx, e); err != nil {
		return 0, err
	}
	return e.first, nil
}

// AppendSoon is Append for a writer that has something else to do: it returns at
// once, and done is called when the events are on disk or refused. Events that come
// shortly after one another share a transaction, whatever their streams, for which
// none of them waits longer than a few milliseconds beyond the one before it.
//
// done runs on the log's goroutine and must not wait for anything. Until it was
// called, the writer appends nothing else to the stream.
func (l *Log) AppendSoon(guard Guard, stream string, done func(first int64, err error), events ...Event) {
	e := &entry{guard: guard, stream: stream, events: events}
	l.turns.Soon(context.Background(), e, func(err error) { done(e.first, err) })
}

// Appended is what AppendTx wrote: hand it to Publish once the transaction is
// committed.
type Appended struct {
	stream string
	events []Event
}

// First is the number of the first event, 0 if there was none.
func (a Appended) First() int64 {
	if len(a.events) == 0 {
		return 0
	}
	return a.events[0].Seq
}

// Events are the events as numbered.
func (a Appended) Events() []Event { return a.events }

// AppendTx writes the events inside a transaction that also does other things.
// The caller must call Publish after the commit. The time of an event that
// has one is that of all.
func (l *Log) AppendTx(tx *store.Tx, guard Guard, stream string, events ...Event) (Appended, error) {
	if guard != nil {
		if err := guard.Check(tx); err != nil {
			return Appended{}, err
		}
	}
	if len(events) == 0 {
		return Appended{stream: stream}, nil
	}
	l.known.forget(stream)
	heads := []head{{name: stream, more: int64(len(events))}}
	if err := advance(tx, heads); err != nil {
		return Appended{}, err
	}
	now := time.Now()
	for i := range events {
		if !events[i].At.IsZero() {
			now = events[i].At
		}
	}
	numbered := make([]Event, len(events))
	args := make([]any, 0, eventWidth*len(events))
	for i, ev := range events {
		ev.Seq, ev.At = heads[0].first()+int64(i), now
		numbered[i] = ev
		args = appendRow(args, heads[0].id, ev.Seq, store.Micros(now), ev)
	}
	return Appended{stream: stream, events: numbered}, insertRows(tx, args)
}

// Publish tells readers, here and on other hubs, what was committed. Losing it
// costs them time only.
func (l *Log) Publish(added Appended) {
	if len(added.events) > 0 {
		l.send(subject(added.stream), added.First(), encode(added.events))
	}
}

// Resolve decides about a transaction that ended with err and had these events in it. When
// nobody knows whether its commit counts it is looked for, and run again if it does not.
func (l *Log) Resolve(ctx context.Context, err error, added Appended, fill func(*store.Tx) error) error {
	if !errors.Is(err, store.ErrUnsure) {
		return err
	}
	switch written, unknown := l.written(ctx, added); {
	case unknown != nil:
		return err
	case written:
		return nil
	}
	return l.db.Write(ctx, fill)
}

// written finds out whether a transaction that ended with [store.ErrUnsure] counts: whether
// the first of its events stands where it would. It waits for the database a while.
func (l *Log) written(ctx context.Context, added Appended) (bool, error) {
	if len(added.events) == 0 {
		return false, store.ErrUnsure
	}
	want, there := added.events[0], false
	for late := time.Now().Add(store.Outage); ; {
		err := l.db.Read(ctx, func(tx *store.Tx) error {
			bounds, err := LastSeq(tx, added.stream)
			if there = false; err != nil || bounds.Last < want.Seq {
				return err
			}
			got, err := l.ReadTx(tx, added.stream, want.Seq-1, 1)
			there = err == nil && len(got) > 0 && got[0].Seq == want.Seq && store.Micros(got[0].At) == store.Micros(want.At) && bytes.Equal(got[0].Data, want.Data)
			return err
		})
		if !errors.Is(err, store.ErrUnavailable) || time.Now().After(late) || pause.For(ctx, writtenPause) != nil {
			return there, err
		}
	}
}

// writtenPause is between two looks whether something was written.
const writtenPause = 100 * time.Millisecond

// send publishes a run.
func (l *Log) send(subject string, first int64, run []byte) {
	if len(run) > l.bus.MaxPayload() {
		// Too large to carry: the number alone wakes readers, who ask the store.
		run = beginRun(nil, first)
	}
	if err := l.bus.Publish(subject, run); err != nil {
		l.logger.Debug("eventlog: no news sent", "subject", subject, "error", err)
	}
}
