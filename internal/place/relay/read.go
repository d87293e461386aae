package relay

import (
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/store"
)

// Waits tells whether something can be handed out of a queue, and else when the first
// lease ends.
func (r *Relay) Waits(tx *store.Tx, queue string) (some bool, lapse time.Time, err error) {
	now := store.Micros(r.d.Now())
	line, err := r.ledger.entries(tx, nil, queue, r.d.Now())
	for i := range line {
		switch e := &line[i]; {
		case e.free(now):
			return true, time.Time{}, err
		case lapse.IsZero() || e.leased < store.Micros(lapse):
			lapse = store.Time(e.leased)
		}
	}
	return false, lapse, err
}

// Peek reads the front of a queue and counts what can be handed out.
func (r *Relay) Peek(tx *store.Tx, queue string, limit int) (found []*Message, total int, err error) {
	now := store.Micros(r.d.Now())
	line, err := r.ledger.entries(tx, nil, queue, r.d.Now())
	if err != nil {
		return nil, 0, err
	}
	var nums []any
	for i := range line {
		if !line[i].free(now) {
			continue
		}
		if total++; len(nums) < limit {
			nums = append(nums, line[i].num)
		}
	}
	found, err = byNumber(tx, true, nums)
	return found, total, err
}

// tally counts the messages of a queue.
func (s *Status) tally(line []entry, now int64) {
	for i := range line {
		switch e := &line[i]; {
		case e.free(now):
			s.Pending++
			s.Bytes += e.size
		case e.waits(now):
			s.Leased++
			s.Bytes += e.size
		}
	}
}

// Status tells how full a queue is.
func (r *Relay) Status(tx *store.Tx, queue string) (s Status, err error) {
	now := r.d.Now()
	line, err := r.ledger.entries(tx, nil, queue, now)
	if err != nil {
		return s, err
	}
	s.Queue = queue
	s.tally(line, store.Micros(now))
	if len(line) > 0 {
		if s.Oldest, err = createdAt(tx, line[0].num); err == nil {
			s.Newest, err = createdAt(tx, line[len(line)-1].num)
		}
		if err != nil {
			return s, err
		}
	}
	err = tx.QueryRow(`SELECT COALESCE(sum(count), 0) FROM place_dropped WHERE agent = ?`, queue).Scan(&s.Dropped)
	return s, err
}

// createdAt is the zero time for a message that has just gone.
func createdAt(tx *store.Tx, num int64) (time.Time, error) {
	var us int64
	err := tx.QueryRow(`SELECT created_at FROM place_messages WHERE num = ?`, num).Scan(&us)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return store.Time(us), err
}

// Fullest lists the fullest of some queues, and then those that lost messages and are
// empty.
func (r *Relay) Fullest(tx *store.Tx, limit int, which func(queue string) bool) ([]Status, error) {
	out, err := r.ledger.fullest(tx, limit, which, r.d.Now())
	if err != nil {
		return nil, err
	}
	at := map[string]*Status{}
	for i := range out {
		at[out[i].Queue] = &out[i]
	}
	var empty []Status
	err = tx.Each(func(row *sql.Rows) error {
		var agent string
		var n int64
		err := row.Scan(&agent, &n)
		if s := at[agent]; s != nil {
			s.Dropped = n
		} else if len(out)+len(empty) < limit && which(agent) {
			empty = append(empty, Status{Queue: agent, Dropped: n})
		}
		return err
	}, `SELECT agent, count FROM place_dropped ORDER BY at DESC`)
	return append(out, empty...), err
}

// Sum is about all queues.
func (r *Relay) Sum(tx *store.Tx) (Sum, error) { return r.ledger.sum(tx, r.d.Now()) }

// Queues names the agents of this place for whom something waits.
func (r *Relay) Queues(tx *store.Tx) ([]string, error) { return r.ledger.names(tx) }

// Sent lists what a sender may ask for, newest first; with an id it is that one.
func (r *Relay) Sent(tx *store.Tx, sender, id string, limit int) ([]*Message, error) {
	const mine = `sender = ? AND tracked = 1`
	switch {
	case id == "":
		return heads(tx, selectHeads+mine+` ORDER BY num DESC LIMIT ?`, sender, limit)
	case tx.Dialect() != store.SQLite:
		return heads(tx, selectHeads+mine+` AND id = ?`, sender, id)
	}
	found, err := heads(tx, selectHeads+`num = ? AND id = ? AND `+mine, numOf(id), id, sender)
	if err != nil || len(found) > 0 {
		return found, err
	}
	// One that came here from another database.
	return heads(tx, selectHeads+mine+` AND num < ? AND id = ?`, sender, firstClocked, id)
}
