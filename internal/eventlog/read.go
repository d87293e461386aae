package eventlog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"parley/internal/store"
)

// A reader reads this many events at once from the store: few enough to start
// yielding at once, many enough that a long replay costs few queries.
const page = 256

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
		last := min(b.Last, after+int64(limit))
		if after == last {
			return nil
		}
		events, err = l.readTo(tx, stream, after, last)
		return err
	})
	return events, err
}

// readTo reads the events after a number up to another, all of which exist. They
// may be in three places: in rows of their own, packed in runs, in the journal.
func (l *Log) readTo(tx *store.Tx, stream string, after, last int64) ([]Event, error) {
	var id int64
	if err := tx.QueryRow(`SELECT id FROM streams WHERE name = ?`, stream).Scan(&id); err != nil {
		return nil, err
	}
	r := &reading{id: id, after: after, last: last, events: make([]Event, 0, last-after)}
	for _, place := range []func(*store.Tx) error{r.rows, r.runs, r.memory(&l.journal), r.journal} {
		if err := place(tx); err != nil {
			return nil, err
		}
		if r.complete() {
			break
		}
	}
	return r.events, nil
}

// reading collects the events of a stream after a number up to another.
type reading struct {
	id, after, last int64
	events          []Event
}

// complete puts the events in order and reports whether none is missing. One
// that is just being moved may have been found in two places.
func (r *reading) complete() bool {
	slices.SortFunc(r.events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	r.events = slices.CompactFunc(r.events, func(a, b Event) bool { return a.Seq == b.Seq })
	return int64(len(r.events)) == r.last-r.after
}

func (r *reading) rows(tx *store.Tx) error {
	return tx.Each(func(row *sql.Rows) error {
		var ev Event
		var at int64
		if err := row.Scan(&ev.Seq, &at, &ev.Kind, &ev.Data); err != nil {
			return err
		}
		ev.At = store.Time(at)
		r.events = append(r.events, ev)
		return nil
	}, `SELECT seq, at, kind, data FROM events WHERE stream = ? AND seq > ? AND seq <= ? ORDER BY seq`, r.id, r.after, r.last)
}

var errEnough = errors.New("eventlog: enough")

func (r *reading) runs(tx *store.Tx) error {
	err := tx.Each(func(row *sql.Rows) error {
		var data []byte
		if err := row.Scan(&data); err != nil {
			return err
		}
		past, err := r.unpack(data)
		if err == nil && past {
			return errEnough
		}
		return err
	}, `SELECT data FROM event_runs WHERE stream = ? AND last_seq > ? ORDER BY last_seq`, r.id, r.after)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// unpack takes what is wanted of a run, and reports whether it goes beyond.
func (r *reading) unpack(data []byte) (past bool, err error) {
	events, err := decode(data)
	for _, ev := range events {
		if ev.Seq > r.after && ev.Seq <= r.last {
			r.events = append(r.events, ev)
		}
		past = past || ev.Seq >= r.last
	}
	return past, err
}

// memory looks at what this log itself has put into the journal.
func (r *reading) memory(j *journal) func(*store.Tx) error {
	return func(*store.Tx) error {
		j.mu.RLock()
		defer j.mu.RUnlock()
		p := j.pending[r.id]
		if p == nil {
			return nil
		}
		for _, run := range p.runs {
			if run.last <= r.after || run.first > r.last {
				continue
			}
			if _, err := r.unpack(run.data); err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *reading) journal(tx *store.Tx) error {
	return eachRow(tx, func(_ int64, block []byte) error {
		return eachRun(block, func(id int64, data []byte) (err error) {
			if id == r.id {
				_, err = r.unpack(data)
			}
			return err
		})
	})
}
