package eventlog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/store"
)

// Append writes the events to the stream, in one transaction, and returns the
// number of the first. guard may be nil for streams without an owner.
func (l *Log) Append(ctx context.Context, guard Guard, stream string, events ...Event) (first int64, err error) {
	var added Appended
	err = l.db.Write(ctx, func(tx *store.Tx) error {
		added, err = l.AppendTx(tx, guard, stream, events...)
		return err
	})
	if err != nil {
		return 0, err
	}
	l.Publish(added)
	return added.First(), nil
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
// The caller must call Publish after the commit.
func (l *Log) AppendTx(tx *store.Tx, guard Guard, stream string, events ...Event) (Appended, error) {
	if guard != nil {
		if err := guard.Check(tx); err != nil {
			return Appended{}, err
		}
	}
	if len(events) == 0 {
		return Appended{stream: stream}, nil
	}
	id, last, err := advance(tx, stream, int64(len(events)))
	if err != nil {
		return Appended{}, err
	}
	now := time.Now()
	numbered := make([]Event, len(events))
	for i, ev := range events {
		ev.Seq, ev.At = last-int64(len(events)-1-i), now
		if ev.Data == nil {
			ev.Data = []byte{}
		}
		numbered[i] = ev
		_, err := tx.Exec(`INSERT INTO events (stream, seq, at, kind, data) VALUES (?, ?, ?, ?, ?)`, id, ev.Seq, store.Micros(ev.At), ev.Kind, ev.Data)
		if err != nil {
			return Appended{}, err
		}
	}
	return Appended{stream: stream, events: numbered}, nil
}

// advance reserves n numbers of the stream and creates it with its first event.
func advance(tx *store.Tx, stream string, n int64) (id, last int64, err error) {
	const bump = `UPDATE streams SET last_seq = last_seq + ? WHERE name = ? RETURNING id, last_seq`
	err = tx.QueryRow(bump, n, stream).Scan(&id, &last)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, last, err
	}
	if _, err := tx.Exec(`INSERT INTO streams (name, last_seq, oldest_seq) VALUES (?, 0, 1) ON CONFLICT (name) DO NOTHING`, stream); err != nil {
		return 0, 0, err
	}
	err = tx.QueryRow(bump, n, stream).Scan(&id, &last)
	return id, last, err
}

// Publish tells readers, here and on other hubs, what was committed. Losing it
// costs them time only.
func (l *Log) Publish(added Appended) {
	if len(added.events) == 0 {
		return
	}
	data := encode(added.events)
	if len(data) > l.bus.MaxPayload() {
		// Too large to carry: the number alone wakes readers, who ask the store.
		data = encode([]Event{{Seq: added.First()}})[:numberSize(added.First())]
	}
	if err := l.bus.Publish(subject(added.stream), data); err != nil {
		l.logger.Debug("eventlog: no news sent", "stream", added.stream, "error", err)
	}
}
