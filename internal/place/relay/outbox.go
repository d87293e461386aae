package relay

import (
	"context"
	"time"

	"parley.internal/internal/store"
)

const outgoing = `peer = ? AND peer <> '' AND state = 0`

// Due are messages for another place that may be tried now, in order.
func (r *Relay) Due(ctx context.Context, peer string, limit int) (due []*Message, err error) {
	now := store.Micros(r.d.Now())
	err = r.d.DB.Read(ctx, func(tx *store.Tx) error {
		due, err = whole(tx, selectWhole+outgoing+` AND next_at <= ? AND expires_at > ? ORDER BY num LIMIT ?`, peer, now, now, limit)
		return err
	})
	return due, err
}

// Outgoing counts what waits for another place.
func (r *Relay) Outgoing(tx *store.Tx, peer string) (n int, err error) {
	err = tx.QueryRow(`SELECT count(*) FROM place_messages WHERE `+outgoing, peer).Scan(&n)
	return n, err
}

// Postpone has a message wait for its next try.
func (r *Relay) Postpone(ctx context.Context, m *Message, until time.Time) error {
	return r.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE place_messages SET attempt = attempt + 1, next_at = ? WHERE num = ?`, store.Micros(until), m.Num)
		return err
	})
}

// Forwarded ends a message that another place has now, or will never take.
func (r *Relay) Forwarded(ctx context.Context, m *Message, reason string) error {
	return r.turns.Do(ctx, &request{durable: true, other: func(t *turn) error {
		found, err := heads(t.tx, selectHeads+`num = ? AND state = 0`+t.tx.ForUpdate(), m.Num)
		if err != nil || len(found) == 0 {
			return err // it expired meanwhile
		}
		if reason != "" {
			return t.end(found[0], Refused, Refusal, reason)
		}
		return t.end(found[0], Forwarded, Forwarder, "")
	}})
}

// RefuseAll ends everything that waits for another place, with what the caller does in
// the same transaction.
func (r *Relay) RefuseAll(ctx context.Context, peer, reason string, with func(tx *store.Tx) error) error {
	return r.turns.Do(ctx, &request{durable: true, other: func(t *turn) error {
		if err := with(t.tx); err != nil {
			return err
		}
		found, err := heads(t.tx, selectHeads+outgoing, peer)
		if err != nil {
			return err
		}
		for _, m := range found {
			if err := t.end(m, Refused, Refusal, reason); err != nil {
				return err
			}
		}
		return nil
	}})
}
