package eventlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"parley.internal/internal/store"
)

// ErrBadCondense says that what should take the place of events does not cover
// exactly those.
var ErrBadCondense = errors.New("the events do not cover those they should replace")

// Condense puts fewer events in the place of the oldest ones of a stream. What it
// is given covers, without gap or overlap, the numbers from the oldest kept event
// to some other: each event stands for those from its From to its Seq, or for itself
// if From is 0. The numbers stay: who reads after one of them gets the event that
// stands for the next. Nothing is published; readers who have the events keep them.
func (l *Log) Condense(ctx context.Context, guard Guard, stream string, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var id int64
	e := &entry{}
	e.alone = func(tx *store.Tx) (err error) {
		if guard != nil {
			if err := guard.Check(tx); err != nil {
				return err
			}
		}
		id, err = l.condense(tx, stream, events)
		return err
	}
	e.then = func() { l.journal.drop(id) }
	return l.turns.Do(ctx, e)
}

func (l *Log) condense(tx *store.Tx, stream string, events []Event) (id int64, err error) {
	var b Bounds
	err = tx.QueryRow(`SELECT id, oldest_seq, last_seq FROM streams WHERE name = ?`+tx.ForUpdate(), stream).Scan(&id, &b.Oldest, &b.Last)
	if err != nil {
		return 0, err
	}
	last := events[len(events)-1].Seq
	if !cover(events, b.Oldest) || last > b.Last {
		return 0, fmt.Errorf("%w: %s, %d to %d", ErrBadCondense, stream, events[0].first(), last)
	}
	if err := l.journal.expel(tx, id); err != nil {
		return 0, err
	}
	for _, query := range []string{`DELETE FROM events WHERE stream = ? AND seq <= ?`, `DELETE FROM event_runs WHERE stream = ? AND last_seq <= ?`} {
		if _, err := tx.Exec(query, id, last); err != nil {
			return 0, err
		}
	}
	if err := behead(tx, id, last); err != nil {
		return 0, err
	}
	var args []any
	for _, r := range packed(events) {
		args = append(args, id, r.last, r.data)
	}
	return id, inRows(args, runWidth, putRuns, func(query string, args []any) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// cover tells whether events follow one another from the given number on.
func cover(events []Event, from int64) bool {
	for i := range events {
		if events[i].first() != from || events[i].Seq < from {
			return false
		}
		from = events[i].Seq + 1
	}
	return true
}

// expel puts what the journal has of a stream into its place.
func (j *journal) expel(tx *store.Tx, id int64) error {
	if !j.loaded {
		return moveLeftovers(tx) // done again by the next append, which finds nothing
	}
	p := j.pending[id]
	if p == nil {
		return nil
	}
	if err := placeRuns(tx, []*pending{p}); err != nil {
		return err
	}
	return j.scrub(tx, id)
}

// behead takes the events up to a number out of the run that goes beyond it.
func behead(tx *store.Tx, id, upTo int64) error {
	var last int64
	var data []byte
	err := tx.QueryRow(`SELECT last_seq, data FROM event_runs WHERE stream = ? AND last_seq > ? ORDER BY last_seq LIMIT 1`, id, upTo).Scan(&last, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	events, err := decode(data)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(events, func(ev Event) bool { return ev.Seq <= upTo })
	if len(kept) == 0 || kept[0].first() <= upTo {
		return fmt.Errorf("%w: %d is inside of another", ErrBadCondense, upTo)
	}
	b := beginRun(nil, kept[0].first())
	for _, ev := range kept {
		b = appendStored(b, ev)
	}
	_, err = tx.Exec(`UPDATE event_runs SET data = ? WHERE stream = ? AND last_seq = ?`, b, id, last)
	return err
}

// packed makes runs of events, about as large as those of the journal.
func packed(events []Event) (runs []run) {
	for i := range events {
		ev := events[i]
		n := len(runs) - 1
		if n < 0 || len(runs[n].data) > joinedRun {
			runs = append(runs, run{first: ev.first(), data: beginRun(nil, ev.first())})
			n++
		}
		runs[n].last, runs[n].data = ev.Seq, appendStored(runs[n].data, ev)
	}
	return runs
}

// appendStored adds an event that has its time and may stand for several.
func appendStored(b []byte, ev Event) []byte {
	ev.Kind = storedKind(&ev)
	return appendRun(b, ev.At, []Event{ev})
}
