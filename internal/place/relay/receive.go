package relay

import (
	"context"
	"strings"
	"time"

	"parley.internal/internal/store"
)

// Receiving is a request for what is in a queue, and what came of it.
type Receiving struct {
	// Who receives is for the judge.
	Who   any
	Queue string
	Limit int
	// Lease hides messages for so long instead of removing them; 0 removes.
	Lease time.Duration
	Took  []*Message
	More  bool
}

// Receive hands out the front of a queue. What it removes is gone from the queue when
// Receive returns, though perhaps not from the disk.
func (r *Relay) Receive(ctx context.Context, q *Receiving) error {
	return r.turns.Do(ctx, &request{take: q})
}

func (t *turn) take(q *request) (err error) {
	w := q.take
	if w == nil {
		return nil
	}
	w.Took, w.More = nil, false
	if err := t.r.d.Judge.Receives(t.tx, w); err != nil {
		return err
	}
	if w.Took, w.More, err = t.r.ledger.front(t, w.Queue, w.Limit); err != nil || len(w.Took) == 0 {
		return err
	}
	if w.Lease > 0 {
		return t.lendAll(w)
	}
	for _, m := range w.Took {
		if err := t.end(m, Received, Dequeue, ""); err != nil {
			return err
		}
	}
	return nil
}

var lendRows = store.ManyRows(`UPDATE place_messages SET leased_until = ?, attempt = attempt + 1, changed_at = ? WHERE num IN (`, `?`, `)`)

func (t *turn) lendAll(w *Receiving) error {
	until := t.now.Add(w.Lease)
	nums := make([]any, 0, len(w.Took))
	for _, m := range w.Took {
		m.Attempt++
		m.LeasedUntil = until
		nums = append(nums, m.Num)
	}
	t.r.ledger.lend(w.Queue, nums, until)
	return lendRows.Run(t.tx, nums, func(query string, args []any) error {
		_, err := t.tx.Exec(query, append([]any{store.Micros(until), store.Micros(t.now)}, args...)...)
		return err
	})
}

// Settling is what a receiver says of messages that were lent to it.
type Settling struct {
	Queue string
	// Done are read, Back go back to their place in the queue.
	Done, Back []string
	// Guard decides whether the caller may.
	Guard func(tx *store.Tx) error
	// Unknown are ids of nothing that is lent.
	Acked, Released, Unknown []string
}

// Settle ends leases. It is durable when Settle returns.
func (r *Relay) Settle(ctx context.Context, s *Settling) error {
	return r.turns.Do(ctx, &request{other: s.run, durable: true})
}

func (s *Settling) run(t *turn) error {
	s.Acked, s.Released, s.Unknown = []string{}, []string{}, []string{}
	if err := s.Guard(t.tx); err != nil {
		return err
	}
	settled := map[int64]bool{}
	each := func(ids []string, told *[]string, do func(*Message) error) error {
		for _, id := range ids {
			m, err := t.lent(s.Queue, id)
			if err != nil {
				return err
			}
			if m == nil || settled[m.Num] {
				s.Unknown = append(s.Unknown, id)
				continue
			}
			settled[m.Num] = true
			if err := do(m); err != nil {
				return err
			}
			*told = append(*told, id)
		}
		return nil
	}
	if err := each(s.Done, &s.Acked, func(m *Message) error { return t.end(m, Received, Dequeue, "") }); err != nil {
		return err
	}
	return each(s.Back, &s.Released, t.release)
}

// lent finds a message of a queue that was handed out; nil when there is none.
func (t *turn) lent(queue, id string) (*Message, error) {
	if strings.ContainsRune(id, 0) {
		return nil, nil // no database keeps such a text
	}
	m, err := t.r.ledger.lent(t, queue, id)
	if err != nil || m == nil || m.Recipient != queue || m.State != Queued || m.Attempt == 0 {
		return nil, err
	}
	return m, nil
}

func (t *turn) release(m *Message) error {
	t.r.ledger.lend(m.Recipient, []any{m.Num}, time.Time{})
	_, err := t.tx.Exec(`UPDATE place_messages SET leased_until = 0 WHERE num = ?`, m.Num)
	return err
}

const sweepBatch = 2_000

// Expire ends what has expired, and says what it was. What is expired is never served,
// swept or not.
func (r *Relay) Expire(ctx context.Context) (gone []*Message, err error) {
	// It looks before anything is written, since mostly there is nothing.
	if some, err := r.ledger.overdue(ctx, r.d.Now()); err != nil || !some {
		return nil, err
	}
	err = r.turns.Do(ctx, &request{other: func(t *turn) (err error) {
		if gone, err = r.ledger.expired(t, sweepBatch); err != nil {
			return err
		}
		for _, m := range gone {
			if err := t.end(m, Expired, Expiry, ""); err != nil {
				return err
			}
		}
		return nil
	}})
	return gone, err
}
