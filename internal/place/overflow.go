package place

import (
	"parley/internal/store"
	"parley/protocol/mmp"
)

// A queue that one sender has filled must not be closed to all others. Where a full
// queue refuses, a sender that has few messages in it is let in all the same; where
// it drops, whoever has most in it loses the oldest.

// fewOf is how many messages a sender may have in a full queue: a tenth of it.
func fewOf(limit int) int64 { return int64(max(1, limit/10)) }

// overflow makes room in a full queue, or refuses, by policy; never silently.
func (b *batch) overflow(s *sending) error {
	if b.quick {
		return errNotQuick
	}
	p, m := b.p, s.m
	_, from := mmp.SplitAddress(m.sender)
	at, err := b.key(m.recipient)
	if err != nil {
		return err
	}
	// What is looked at may be of this transaction.
	if err := b.move(p.front.queues[m.recipient]); err != nil {
		return err
	}
	if err := b.write(); err != nil {
		return err
	}
	letIn := b.letIn
	if refuses := p.c.Auth == Strict || p.c.Auth == TOFU && at > 0 || m.peer != "" || from != ""; !refuses {
		letIn = b.dropOne
	}
	if in, err := letIn(s); in || err != nil {
		return err
	}
	s.refusal = mmp.ErrQueueFull.WithRetry(5)
	p.name(b.dialect(), m, b.now)
	return b.note(actRefused, m, "queue_full")
}

// letIn tells whether a queue that refuses takes one more of a sender that has few
// in it. Twice its limit is the end for everybody.
func (b *batch) letIn(s *sending) (bool, error) {
	limit := b.p.c.QueueLimit
	if b.waiting[s.m.recipient] >= 2*int64(limit) {
		return false, nil
	}
	var held int64
	err := b.tx.QueryRow(`SELECT count(*) FROM place_messages WHERE recipient = ? AND sender = ? AND state = 0 AND expires_at > ?`,
		s.m.recipient, s.m.sender, store.Micros(b.now)).Scan(&held)
	return held < fewOf(limit), err
}

// dropOne drops the oldest message of whoever has most in the queue. Leased ones stay.
func (b *batch) dropOne(s *sending) (bool, error) {
	now := store.Micros(b.now)
	const waits = ` FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ? AND leased_until <= ?`
	oldest, err := messages(b.tx, false, `SELECT `+messageColumns+waits+` AND sender =
		(SELECT sender`+waits+` GROUP BY sender ORDER BY count(*) DESC, min(num) LIMIT 1) ORDER BY num LIMIT 1`,
		s.m.recipient, now, now, s.m.recipient, now, now)
	if err != nil || len(oldest) == 0 {
		return false, err
	}
	s.dropped = oldest[0]
	return true, b.drop(s.dropped)
}

func (b *batch) drop(m *message) error {
	if err := m.finish(b.tx, stateDropped, "queue_full", b.now); err != nil {
		return err
	}
	b.waiting[m.recipient]--
	_, err := b.tx.Exec(`INSERT INTO place_dropped (agent, count, at) VALUES (?, 1, ?)
		ON CONFLICT (agent) DO UPDATE SET count = place_dropped.count + 1, at = excluded.at`, m.recipient, store.Micros(b.now))
	if err != nil {
		return err
	}
	return b.note(actDropped, m, "queue_full")
}
