package eventlog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"parley.internal/internal/store"
)

// A reader reads this many events at once from the store: few enough to start
// yielding at once, many enough that a long replay costs few queries.
const page = 256

// Read gives up to limit events after the given number. One that Condense has made
// counts for those it stands for; it may begin before the number and end after the
// limit.
func (l *Log) Read(ctx context.Context, stream string, after int64, limit int) (events []Event, err error) {
	err = l.db.Read(ctx, func(tx *store.Tx) error {
		events, err = l.ReadTx(tx, stream, after, limit)
		return err
	})
	return events, err
}

// ReadTx is Read inside a transaction, to fit what else is read there.
func (l *Log) ReadTx(tx *store.Tx, stream string, after int64, limit int) ([]Event, error) {
	var id int64
	var b Bounds
	err := tx.QueryRow(`SELECT id, oldest_seq, last_seq FROM streams WHERE name = ?`, stream).Scan(&id, &b.Oldest, &b.Last)
	if errors.Is(err, sql.ErrNoRows) {
		b, err = Bounds{Oldest: 1}, nil
	}
	if err != nil {
		return nil, err
	}
	if after+1 < b.Oldest {
		return nil, &TrimmedError{Stream: stream, Oldest: b.Oldest}
	}
	if after > b.Last {
		return nil, ErrBadCursor
	}
	last := min(b.Last, after+int64(limit))
	if after == last {
		return nil, nil
	}
	return l.readTo(tx, id, after, last)
}

// readTo reads the events after a number up to another, all of which exist. They
// may be in three places: in rows of their own, packed in runs, in the journal.
func (l *Log) readTo(tx *store.Tx, id, after, last int64) ([]Event, error) {
	r := &reading{id: id, after: after, last: last, events: make([]Event, 0, min(last-after, page))}
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

// complete puts the events in order and reports whether none is missing. One that
// is just being moved or condensed may have been found in two places.
func (r *reading) complete() bool {
	slices.SortFunc(r.events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.first(), b.first()), cmp.Compare(b.Seq, a.Seq))
	})
	at := r.after
	r.events = slices.DeleteFunc(r.events, func(ev Event) bool {
		have := ev.Seq <= at
		if ev.first() <= at+1 {
			at = max(at, ev.Seq)
		}
		return have
	})
	return at >= r.last
}

// keep keeps an event that is wanted, and reports whether it reaches the last.
func (r *reading) keep(ev Event) (past bool) {
	if ev.Seq > r.after && ev.first() <= r.last {
		r.events = append(r.events, ev)
	}
	return ev.Seq >= r.last
}

var errEnough = errors.New("eventlog: enough")

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

func (r *reading) runs(tx *store.Tx) error {
	return enough(tx.Each(func(row *sql.Rows) error {
		var data []byte
		if err := row.Scan(&data); err != nil {
			return err
		}
		past, err := r.unpack(data)
		if err == nil && past {
			return errEnough
		}
		return err
	}, `SELECT data FROM event_runs WHERE stream = ? AND last_seq > ? ORDER BY last_seq`, r.id, r.after))
}

func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// unpack takes what is wanted of a run, and reports whether it goes beyond.
func (r *reading) unpack(data []byte) (past bool, err error) {
	c := cursor{}
	if err := c.begin(data); err != nil {
		return false, err
	}
	for c.more() && !past {
		ev, err := c.next()
		if err != nil {
			return false, err
		}
		past = r.keep(ev)
	}
	return past, nil
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
