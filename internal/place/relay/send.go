package relay

import (
	"context"
	"database/sql"
	"errors"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// Sending is one message on its way into a queue, and what came of it.
type Sending struct {
	// Who sends is for the judge.
	Who     any
	Message *Message
	// First is the message that was sent before under the same idempotency key; then
	// nothing was done.
	First *Message
	// Dropped made room.
	Dropped *Message
	// Full is a refusal that is told to the audit, so that its turn must be committed.
	Full error
}

// Send stores a message. It is durable when Send returns.
func (r *Relay) Send(ctx context.Context, s *Sending) error {
	if r.full(s.Message.Size) {
		return mmp.ErrPlaceFull
	}
	if err := r.turns.Do(ctx, &request{send: s, durable: true}); err != nil {
		return err
	}
	return s.Full
}

func (t *turn) send(q *request) error {
	s := q.send
	if s == nil {
		return nil
	}
	// The transaction may run again.
	s.First, s.Dropped, s.Full = nil, nil, nil
	judge := t.r.d.Judge
	if s.Message.Key != "" {
		if err := judge.Guard(t.tx, s); err != nil {
			return err
		}
		if err := t.repeated(s); s.First != nil || err != nil {
			return err
		}
	}
	n, err := t.r.ledger.count(t, s.Message.Recipient)
	if err != nil {
		return err
	}
	if err := judge.Admit(t.tx, s, n > 0); err != nil {
		return err
	}
	if n >= int64(t.r.d.Limit) {
		if err := t.overflow(s, n); err != nil || s.Full != nil {
			return err
		}
	}
	t.add(s.Message)
	return nil
}

// repeated finds the first message of an idempotency key.
func (t *turn) repeated(s *Sending) error {
	m := s.Message
	if err := t.write(); err != nil { // it may be of this turn
		return err
	}
	first, err := scan(t.tx.QueryRow(selectHeads+`sender = ? AND idem = ? AND idem <> ''`, m.Sender, m.Key), false)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !first.Created.Add(KeepFates).After(m.Created):
		_, err = t.tx.Exec(`UPDATE place_messages SET idem = '' WHERE num = ?`, first.Num)
		return err
	case first.Recipient != m.Recipient || !mmp.SameHash(first.Hash, m.Hash):
		return mmp.ErrIdempotency
	}
	s.First = first
	return nil
}

// A queue that one sender has filled must not be closed to all others. Where a full
// queue refuses, a sender that has few messages in it is let in all the same; where
// it drops, whoever has most in it loses the oldest.

// fewOf is how many messages a sender may have in a full queue: a tenth of it.
func fewOf(limit int) int { return max(1, limit/10) }

// overflow makes room in a full queue, or refuses, by policy; never silently.
func (t *turn) overflow(s *Sending, n int64) error {
	refuses, err := t.r.d.Judge.Refuses(t.tx, s)
	if err != nil {
		return err
	}
	line, err := t.r.ledger.entries(t.tx, t, s.Message.Recipient, t.now)
	if err != nil {
		return err
	}
	if refuses {
		if n < 2*int64(t.r.d.Limit) && countOf(line, s.Message.Sender) < fewOf(t.r.d.Limit) {
			return nil
		}
	} else if num := victim(line, store.Micros(t.now)); num != 0 {
		return t.drop(s, num)
	}
	s.Full = mmp.ErrQueueFull.WithRetry(5)
	t.r.name(s.Message, t.now)
	t.note(Refusal, s.Message, "queue_full")
	return nil
}

func countOf(line []entry, sender string) (n int) {
	for i := range line {
		if line[i].sender == sender {
			n++
		}
	}
	return n
}

// victim is the oldest message of whoever has most that is not lent; 0 is nobody's. Of
// two with as many it is the one whose message came first.
func victim(line []entry, now int64) (num int64) {
	have, first := map[string]int{}, map[string]int64{}
	for i := range line {
		if e := &line[i]; e.free(now) {
			if have[e.sender]++; have[e.sender] == 1 {
				first[e.sender] = e.num
			}
		}
	}
	most := 0
	for sender, n := range have {
		if n > most || n == most && first[sender] < num {
			most, num = n, first[sender]
		}
	}
	return num
}

func (t *turn) drop(s *Sending, num int64) error {
	if err := t.write(); err != nil { // it may be of this turn
		return err
	}
	found, err := byNumber(t.tx, false, []any{num})
	if err != nil || len(found) == 0 {
		return err
	}
	s.Dropped = found[0]
	if err := t.end(s.Dropped, Dropped, Drop, "queue_full"); err != nil {
		return err
	}
	_, err = t.tx.Exec(`INSERT INTO place_dropped (agent, count, at) VALUES (?, 1, ?)
		ON CONFLICT (agent) DO UPDATE SET count = place_dropped.count + 1, at = excluded.at`, s.Dropped.Recipient, store.Micros(t.now))
	return err
}
