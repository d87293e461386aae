package eventlog

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/store"
	"parley.internal/internal/turns"
)

// A reader that hears nothing asks the store this often, in case news from
// another hub was lost.
const recheck = 5 * time.Second

// Log is the event log of a hub.
type Log struct {
	db      *store.DB
	bus     bus.Bus
	logger  *slog.Logger
	turns   *turns.Group[*entry]
	journal journal
	known   known
	// subjects are those of streams that were written lately; whoever tells the readers
	// has them, and that is one at a time.
	subjects map[string]string
}

// New makes a log on a store and a bus.
func New(db *store.DB, b bus.Bus, logger *slog.Logger) *Log {
	l := &Log{db: db, bus: b, logger: logger, journal: newJournal(), subjects: map[string]string{}}
	l.turns = turns.New(maxGroup, (*entry).weight, l.turn)
	return l
}

// Bounds says which events of a stream exist. An unknown stream is empty:
// Last 0, Oldest 1.
type Bounds struct {
	Oldest, Last int64
}

// LastSeq reads the bounds inside a transaction, to fit a snapshot read there.
func LastSeq(tx *store.Tx, stream string) (Bounds, error) {
	b := Bounds{Oldest: 1}
	err := tx.QueryRow(`SELECT oldest_seq, last_seq FROM streams WHERE name = ?`, stream).Scan(&b.Oldest, &b.Last)
	if errors.Is(err, sql.ErrNoRows) {
		return b, nil
	}
	return b, err
}

// Bounds reads the bounds of a stream.
func (l *Log) Bounds(ctx context.Context, stream string) (b Bounds, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		b, err = LastSeq(tx, stream)
		return err
	})
	return b, err
}

// Trim forgets the events before keep. Readers that still want them get a
// *TrimmedError.
func (l *Log) Trim(ctx context.Context, guard Guard, stream string, keep int64) error {
	return l.db.Write(ctx, func(tx *store.Tx) error {
		if guard != nil {
			if err := guard.Check(tx); err != nil {
				return err
			}
		}
		n, err := tx.Exec(`UPDATE streams SET oldest_seq = ? WHERE name = ? AND oldest_seq < ? AND last_seq >= ? - 1`, keep, stream, keep, keep)
		if err != nil || n == 0 {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = ?) AND seq < ?`, stream, keep); err != nil {
			return err
		}
		_, err = tx.Exec(`DELETE FROM event_runs WHERE stream = (SELECT id FROM streams WHERE name = ?) AND last_seq < ?`, stream, keep)
		return err
	})
}

// Delete forgets a stream altogether; its numbers start anew.
func (l *Log) Delete(ctx context.Context, guard Guard, stream string) error {
	var id int64
	e := &entry{then: func() { l.journal.drop(id); l.known.forget(stream) }, alone: func(tx *store.Tx) (err error) {
		if guard != nil {
			if err := guard.Check(tx); err != nil {
				return err
			}
		}
		id, err = l.deleteStream(tx, stream)
		return err
	}}
	return l.turns.Do(ctx, e)
}

func (l *Log) deleteStream(tx *store.Tx, stream string) (id int64, err error) {
	err = tx.QueryRow(`DELETE FROM streams WHERE name = ? RETURNING id`, stream).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, query := range []string{`DELETE FROM events WHERE stream = ?`, `DELETE FROM event_runs WHERE stream = ?`} {
		if _, err := tx.Exec(query, id); err != nil {
			return 0, err
		}
	}
	return id, l.journal.scrub(tx, id)
}

func subject(stream string) string { return "events." + bus.Token(stream) }

// maxSubjects bounds the subjects that are remembered.
const maxSubjects = 1 << 14

// subjectOf is subject for publish, which needs the same ones again and again.
func (l *Log) subjectOf(stream string) string {
	name, ok := l.subjects[stream]
	if !ok {
		if len(l.subjects) >= maxSubjects {
			clear(l.subjects)
		}
		name = subject(stream)
		l.subjects[stream] = name
	}
	return name
}
