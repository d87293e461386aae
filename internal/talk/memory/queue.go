package memory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley.internal/internal/store"
)

// ErrQueueFull says that too many turns wait already.
var ErrQueueFull = errors.New("too many turns wait already")

// Waiting is a turn or compaction that waits for its conversation. What it is
// to do is the owner's business: Order is opaque here.
type Waiting struct {
	Run   string
	Order []byte
	At    time.Time
}

// Enqueue makes a waiting turn durable. At most limit may wait. front puts it
// before all others.
func (m *Memory) Enqueue(ctx context.Context, guard Guard, id string, w Waiting, limit int, front bool) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		num, _, err := byID(tx, id)
		if err != nil {
			return err
		}
		var n, low, high int64
		err = tx.QueryRow(`SELECT count(*), coalesce(min(place), 0), coalesce(max(place), 0) FROM talk_queue WHERE conversation = ?`, num).Scan(&n, &low, &high)
		if err != nil {
			return err
		}
		if n >= int64(limit) {
			return ErrQueueFull
		}
		place := high + 1
		if front {
			place = low - 1
		}
		_, err = tx.Exec(`INSERT INTO talk_queue (run, conversation, place, payload, at) VALUES (?, ?, ?, ?, ?)`, w.Run, num, place, w.Order, store.Micros(time.Now()))
		return err
	})
}

// Dequeue removes a waiting turn inside the transaction that begins or ends it.
func (m *Memory) Dequeue(tx *store.Tx, run string) error {
	_, err := tx.Exec(`DELETE FROM talk_queue WHERE run = ?`, run)
	return err
}

// TakeBack removes a waiting turn nobody has begun; false if somebody has.
func (m *Memory) TakeBack(ctx context.Context, run string) (was bool, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM talk_queue WHERE run = ?`, run)
		was = n > 0
		return err
	})
	return was, err
}

// Drop removes waiting turns that will never run.
func (m *Memory) Drop(ctx context.Context, guard Guard, runs ...string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		if err := fenced(tx, guard); err != nil {
			return err
		}
		for _, run := range runs {
			if err := m.Dequeue(tx, run); err != nil {
				return err
			}
		}
		return nil
	})
}

// Queue lists what waits, next first.
func (m *Memory) Queue(ctx context.Context, id string) (list []Waiting, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		list, err = readQueue(tx, id)
		return err
	})
	return list, err
}

func readQueue(tx *store.Tx, id string) (list []Waiting, err error) {
	err = tx.Each(func(row *sql.Rows) error {
		var w Waiting
		var at int64
		err := row.Scan(&w.Run, &w.Order, &at)
		w.At = store.Time(at)
		list = append(list, w)
		return err
	}, `SELECT q.run, q.payload, q.at FROM talk_queue q JOIN talk_conversations c ON c.num = q.conversation WHERE c.id = ? ORDER BY q.place, q.at, q.run`, id)
	return list, err
}
