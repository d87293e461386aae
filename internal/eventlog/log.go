package eventlog

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"parley/internal/bus"
	"parley/internal/store"
)

// A reader reads this many events at once from the store: few enough to start
// yielding at once, many enough that a long replay costs few queries.
const page = 256

// A reader that hears nothing asks the store this often, in case news from
// another hub was lost.
const recheck = 5 * time.Second

// Log is the event log of a hub.
type Log struct {
	db     *store.DB
	bus    bus.Bus
	logger *slog.Logger
}

// New makes a log on a store and a bus.
func New(db *store.DB, b bus.Bus, logger *slog.Logger) *Log {
	return &Log{db: db, bus: b, logger: logger}
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

// Read gives up to limit events after the given number.
func (l *Log) Read(ctx context.Context, stream string, after int64, limit int) (events []Event, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		events = nil
		b, err := LastSeq(tx, stream)
		if err != nil {
			return err
		}
		if after+1 < b.Oldest {
			return &TrimmedError{Stream: stream, Oldest: b.Oldest}
		}
		if after > b.Last {
			return ErrBadCursor
		}
		return tx.Each(func(row *sql.Rows) error {
			var ev Event
			var at int64
			if err := row.Scan(&ev.Seq, &at, &ev.Kind, &ev.Data); err != nil {
				return err
			}
			ev.At = store.Time(at)
			events = append(events, ev)
			return nil
		}, `SELECT seq, at, kind, data FROM events WHERE stream = (SELECT id FROM streams WHERE name = ?) AND seq > ? ORDER BY seq LIMIT ?`, stream, after, limit)
	})
	return events, err
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
		_, err = tx.Exec(`DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = ?) AND seq < ?`, stream, keep)
		return err
	})
}

// Delete forgets a stream altogether; its numbers start anew.
func (l *Log) Delete(ctx context.Context, guard Guard, stream string) error {
	return l.db.Write(ctx, func(tx *store.Tx) error {
		if guard != nil {
			if err := guard.Check(tx); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = ?)`, stream); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM streams WHERE name = ?`, stream)
		return err
	})
}

func subject(stream string) string { return "events." + bus.Token(stream) }

func numberSize(seq int64) int { return len(binary.AppendUvarint(nil, uint64(seq))) }
