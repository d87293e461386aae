package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
)

// sending is one message on its way into a queue.
type sending struct {
	m       *message
	answer  mmp.SendAnswer
	dropped *message
	// refusal is an answer that is audited, so its transaction must commit.
	refusal error
}

// Send stores a sealed message. It is durable when Send returns.
func (p *Place) Send(ctx context.Context, who Caller, req *mmp.SendRequest) (mmp.SendAnswer, error) {
	if err := clean("message_type", req.MessageType, "idempotency_key", req.IdempotencyKey); err != nil {
		return mmp.SendAnswer{}, err
	}
	if p.figures.bytesAbout()+int64(len(req.Blob)) > p.c.MaxBytes {
		return mmp.SendAnswer{}, mmp.ErrPlaceFull
	}
	now := p.now()
	m := &message{
		id: p.relayID(now), sender: req.From, recipient: req.To, kind: req.MessageType, hash: req.BlobHash, size: int64(len(req.Blob)),
		blob: []byte(req.Blob), idem: req.IdempotencyKey, created: now, expires: now.Add(p.c.RelayTTL),
	}
	var s *sending
	err := p.write(ctx, func(tx *store.Tx) error {
		fresh := *m
		s = &sending{m: &fresh}
		return p.send(tx, who, s)
	})
	if err != nil {
		return mmp.SendAnswer{}, err
	}
	if who.Agent == "" {
		p.touch(req.From)
	}
	return p.sent(s)
}

// relayID is a name that sorts by time, so that the newest are neighbours on disk:
// milliseconds, and a count that began at random, since other hubs count too.
func (p *Place) relayID(now time.Time) string {
	const bits = 22
	n := uint64(now.UnixMilli())<<bits | p.relayed.Add(1)&(1<<bits-1) //nolint:gosec // not before 1970
	return fmt.Sprintf("relay_%016x", n)
}

// sent tells the waiting and counts, after the commit.
func (p *Place) sent(s *sending) (mmp.SendAnswer, error) {
	if s.refusal != nil {
		return mmp.SendAnswer{}, s.refusal
	}
	if s.answer.Duplicate {
		return s.answer, nil
	}
	p.figures.bytes.Add(s.m.size)
	if s.dropped != nil {
		p.figures.bytes.Add(-s.dropped.size)
	}
	p.figures.stale()
	if s.m.peer != "" {
		p.nudgeOutbox()
	} else {
		p.hints.add(s.m.recipient)
		p.tell(subjectWake, s.m.recipient)
	}
	return s.answer, nil
}

func (p *Place) send(tx *store.Tx, who Caller, s *sending) (err error) {
	m := s.m
	m.proven = who.proves(m.sender)
	if !m.proven && (who.Agent != "" || who.Operator) {
		return mmp.ErrNotYourAgent
	}
	if m.idem != "" {
		if done, err := p.repeated(tx, who, s); done || err != nil {
			return err
		}
	}
	if err := p.address(tx, m); err != nil {
		return err
	}
	m.tracked = m.proven || m.idem != ""
	return p.enqueue(tx, s)
}

// repeated finds the first message of an idempotency key.
func (p *Place) repeated(tx *store.Tx, who Caller, s *sending) (done bool, err error) {
	m := s.m
	if _, err := p.guard(tx, who, m.sender); err != nil {
		return false, err
	}
	first, err := scanMessage(tx.QueryRow(`SELECT `+messageColumns+` FROM place_messages WHERE sender = ? AND idem = ? AND idem <> ''`, m.sender, m.idem), false)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case !first.created.Add(keepFates).After(m.created):
		_, err = tx.Exec(`UPDATE place_messages SET idem = '' WHERE num = ?`, first.num)
		return false, err
	case first.recipient != m.recipient || !mmp.SameHash(first.hash, m.hash):
		return false, mmp.ErrIdempotency
	}
	s.answer = mmp.SendAnswer{RelayID: first.id, Status: string(mmp.FateQueued), ExpiresAt: mmp.At(first.expires), Duplicate: true}
	return true, nil
}

// address settles whether a message stays here or goes to a peered place.
func (p *Place) address(tx *store.Tx, m *message) error {
	_, peer := mmp.SplitAddress(m.recipient)
	if peer == "" {
		return nil
	}
	if !p.c.Federation {
		return mmp.ErrUnknownRecipient
	}
	if !m.proven {
		return mmp.ErrAuthRequired
	}
	var name string
	err := tx.QueryRow(`SELECT name FROM place_peers WHERE name = ?`, peer).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return mmp.ErrUnknownRecipient
	}
	m.peer, m.next = peer, m.created
	return err
}

// standing is what decides whether a message may be queued.
type standing struct {
	sender    int64 // when the sender proved its key, 0 if never
	recipient int64 // the same of the recipient; -1 when it has no key at all
	known     int64 // the recipient is registered
	waiting   int64
}

func (p *Place) look(tx *store.Tx, m *message) (st standing, err error) {
	// One sender at a time per queue: the limit is exact, and numbers come in the
	// order of commits.
	if err := alone(tx, "queue "+m.recipient); err != nil {
		return st, err
	}
	err = tx.QueryRow(`SELECT COALESCE((SELECT proven_at FROM place_keys WHERE agent = ?), 0),
		COALESCE((SELECT proven_at FROM place_keys WHERE agent = ?), -1),
		(SELECT count(*) FROM place_agents WHERE id = ?),
		(SELECT count(*) FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ?)`,
		m.sender, m.recipient, m.recipient, m.recipient, store.Micros(m.created)).Scan(&st.sender, &st.recipient, &st.known, &st.waiting)
	return st, err
}

// alone keeps others that name the same thing waiting until the transaction ends.
// SQLite has one writer and needs nothing.
func alone(tx *store.Tx, thing string) error {
	if tx.Dialect() != store.Postgres {
		return nil
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(thing))
	_, err := tx.Exec(`SELECT pg_advisory_xact_lock(?)`, int64(h.Sum64())) //nolint:gosec // any number will do
	return err
}

func (p *Place) enqueue(tx *store.Tx, s *sending) error {
	m := s.m
	st, err := p.look(tx, m)
	if err != nil {
		return err
	}
	if !m.proven && (st.sender != 0 || p.c.Auth == Strict) {
		return mmp.ErrAuthRequired
	}
	if unknown := m.peer == "" && st.recipient < 0 && st.known == 0; unknown {
		if _, from := mmp.SplitAddress(m.sender); p.c.Auth == Strict || from != "" {
			return mmp.ErrUnknownRecipient
		}
		if st.waiting == 0 && p.figures.strangers.Add(1) > p.c.MaxUnknown {
			return mmp.ErrPlaceFull
		}
	}
	if st.waiting >= int64(p.c.QueueLimit) {
		if err := p.overflow(tx, s, st); err != nil || s.refusal != nil {
			return err
		}
	}
	if err := m.insert(tx); err != nil {
		return err
	}
	s.answer = mmp.SendAnswer{RelayID: m.id, Status: string(mmp.FateQueued), ExpiresAt: mmp.At(m.expires)}
	if s.dropped != nil {
		s.answer.Dropped = &mmp.Dropped{RelayID: s.dropped.id, Reason: "queue_full"}
	}
	return p.noteRelay(tx, actEnqueue, m, "")
}

// overflow makes room in a full queue, or refuses, by policy; never silently.
func (p *Place) overflow(tx *store.Tx, s *sending, st standing) error {
	_, from := mmp.SplitAddress(s.m.sender)
	refuses := p.c.Auth == Strict || p.c.Auth == TOFU && st.recipient > 0 || s.m.peer != "" || from != ""
	if !refuses {
		oldest, err := messages(tx, false, `SELECT `+messageColumns+` FROM place_messages
			WHERE recipient = ? AND state = 0 AND expires_at > ? AND leased_until <= ? ORDER BY num LIMIT 1`,
			s.m.recipient, store.Micros(s.m.created), store.Micros(s.m.created))
		if err != nil {
			return err
		}
		if len(oldest) > 0 {
			s.dropped = oldest[0]
			return p.drop(tx, s.dropped)
		}
	}
	s.refusal = mmp.ErrQueueFull.WithRetry(5)
	return p.noteRelay(tx, actRefused, s.m, "queue_full")
}

func (p *Place) drop(tx *store.Tx, m *message) error {
	now := p.now()
	if err := m.finish(tx, stateDropped, "queue_full", now); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO place_dropped (agent, count, at) VALUES (?, 1, ?)
		ON CONFLICT (agent) DO UPDATE SET count = place_dropped.count + 1, at = excluded.at`, m.recipient, store.Micros(now))
	if err != nil {
		return err
	}
	return p.noteRelay(tx, actDropped, m, "queue_full")
}
