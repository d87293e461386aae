package place

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
	"parley/protocol/mmp/relay"
)

// recheck is how often a waiting request looks by itself when other hubs might
// have stored something and the bus lost their word.
const recheck = 5 * time.Second

// Receive hands out the queue, in order. Without messages it waits as long as the
// query says. A caller whose context ends consumes nothing.
func (p *Place) Receive(ctx context.Context, who Visitor, q relay.ReceiveQuery) (relay.ReceiveAnswer, error) {
	if who.Agent == "" {
		p.touch(q.AgentID)
	}
	if q.Wait <= 0 {
		out, _, err := p.take(ctx, who, q)
		return out, err
	}
	one, ok := p.waiters.join(q.AgentID, p.c.MaxPolls)
	if !ok {
		return relay.ReceiveAnswer{}, mmp.ErrTooManyPolls.WithRetry(1)
	}
	defer p.waiters.leave(q.AgentID, one)
	return p.wait(ctx, who, q, one)
}

// wait looks, sleeps until something changed, and looks again. The waiter was
// there before the first look, so no wake-up is missed.
func (p *Place) wait(ctx context.Context, who Visitor, q relay.ReceiveQuery, one *waiter) (relay.ReceiveAnswer, error) {
	end := time.NewTimer(q.Wait)
	defer end.Stop()
	for {
		out, lapse, err := p.take(ctx, who, q)
		if err != nil || out.Count > 0 {
			return out, err
		}
		again, stop := p.again(lapse)
		select {
		case <-one.wake:
		case <-again:
		case <-one.gone:
			stop()
			return out, nil
		case <-end.C:
			stop()
			return out, nil
		case <-ctx.Done():
			stop()
			return relay.ReceiveAnswer{}, ctx.Err()
		}
		stop()
		if who.token != "" {
			if _, err := p.session(ctx, who.token); err != nil {
				return relay.ReceiveAnswer{}, err
			}
		}
	}
}

// again is when to look without being woken: when a lease lapses, and now and
// then if other hubs are around. Alone and without leases it is never.
func (p *Place) again(lapse time.Time) (at <-chan time.Time, stop func() bool) {
	in := time.Hour // longer than anybody waits
	if p.d.Clustered {
		in = recheck
	} else if lapse.IsZero() {
		return nil, func() bool { return true }
	}
	if !lapse.IsZero() {
		in = min(in, max(lapse.Sub(p.now()), 0)+time.Millisecond)
	}
	t := time.NewTimer(in)
	return t.C, t.Stop
}

const queueRows = `SELECT ` + messageColumns + `, blob FROM place_messages
	WHERE recipient = ? AND state = 0 AND expires_at > ? AND leased_until <= ? ORDER BY num LIMIT `

// fetch reads the front of a queue, and whether more is behind it. SQLite plans a
// query anew for each limit that is a value, so there the limit is part of the text
// and reading just stops.
func fetch(tx *store.Tx, agent string, limit int, now time.Time) (found []*message, more bool, err error) {
	us := store.Micros(now)
	if tx.Dialect() == store.Postgres {
		if found, err = messages(tx, true, queueRows+`? FOR UPDATE SKIP LOCKED`, agent, us, us, limit); err == nil {
			more, err = further(tx, agent, limit, found, us)
		}
		return found, more, err
	}
	errMore := errors.New("more")
	err = tx.Each(func(r *sql.Rows) error {
		if len(found) == limit {
			return errMore
		}
		m, err := scanMessage(r, true)
		found = append(found, m)
		return err
	}, queueRows+`101`, agent, us, us)
	if errors.Is(err, errMore) {
		return found, true, nil
	}
	return found, false, err
}

// take hands out what is there now; lapse is when the next lease ends.
func (p *Place) take(ctx context.Context, who Visitor, q relay.ReceiveQuery) (out relay.ReceiveAnswer, lapse time.Time, err error) {
	out.Messages = []relay.Message{}
	// Looking costs no write: most polls find nothing.
	if q.Limit == 0 || !p.hints.use(q.AgentID) {
		some, lapse, err := p.anything(ctx, who, q)
		if err != nil || !some || q.Limit == 0 {
			out.More = err == nil && some
			return out, lapse, err
		}
	}
	if err := ctx.Err(); err != nil {
		return out, lapse, err
	}
	t := &taking{who: who, q: q}
	if err := p.group.add(&op{ctx: ctx, take: t}); err != nil {
		return relay.ReceiveAnswer{}, lapse, err
	}
	out.More = t.more
	if len(t.took) == 0 && q.Wait > 0 {
		// The hint was stale; a waiting caller must know when a lease ends.
		_, lapse, err = p.anything(ctx, who, q)
	}
	return p.handed(q, t.took, out), lapse, err
}

// taking is one request for what is in a queue.
type taking struct {
	who  Visitor
	q    relay.ReceiveQuery
	took []*message
	more bool
}

// take serves one receiver of the batch.
func (b *batch) take(o *op) error {
	t := o.take
	if t == nil {
		return nil
	}
	t.took, t.more = nil, false
	if err := b.guard(t.who, t.q.AgentID); err != nil {
		return err
	}
	if _, before := b.handed[t.q.AgentID]; before {
		// Another receiver of this queue came first: what it has must be out of it.
		if err := b.remove(); err != nil {
			return err
		}
	}
	f := &b.p.front
	if t.q.ManualAck {
		// What is lent has a row.
		if err := b.move(f.queues[t.q.AgentID]); err != nil {
			return err
		}
	}
	if f.mayHaveRows(t.q.AgentID) {
		var err error
		if t.took, t.more, err = fetch(b.tx, t.q.AgentID, t.q.Limit, b.now); err != nil {
			return err
		}
		if f.on && len(t.took) == 0 {
			if err := b.drain(t.q.AgentID); err != nil {
				return err
			}
		}
	}
	if t.q.ManualAck {
		return b.lend(t)
	}
	if len(t.took) > 0 {
		b.hand(t.q.AgentID, t.took)
	}
	if !f.on || t.more {
		return nil
	}
	var found []*fresh
	found, t.more = f.first(t.q.AgentID, t.q.Limit-len(t.took), b.now)
	took, err := b.handFresh(found)
	t.took = append(t.took, took...)
	return err
}

// drain takes note of a queue that has no rows any more, lent ones included.
func (b *batch) drain(recipient string) error {
	some := false
	err := b.tx.QueryRow(`SELECT count(*) > 0 FROM (SELECT 1 FROM place_messages WHERE recipient = ? AND state = 0 LIMIT 1) t`, recipient).Scan(&some)
	if err != nil || some {
		return err
	}
	if b.drained == nil {
		b.drained = map[string]struct{}{}
	}
	b.drained[recipient] = struct{}{}
	return nil
}

// further tells whether the limit cut the queue short. It is asked apart: locking
// one row too many would make other receivers pass it by.
func further(tx *store.Tx, agent string, limit int, took []*message, now int64) (bool, error) {
	if len(took) < limit {
		return false, nil
	}
	var n int
	err := tx.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM place_messages
		WHERE recipient = ? AND state = 0 AND expires_at > ? AND leased_until <= ? AND num > ? LIMIT 1) t`,
		agent, now, now, took[len(took)-1].num).Scan(&n)
	return n > 0, err
}

// skipLocked lets two receivers of one queue get different messages.
func skipLocked(tx *store.Tx) string {
	if tx.Dialect() == store.Postgres {
		return ` FOR UPDATE SKIP LOCKED`
	}
	return ""
}

var (
	lendRows   = store.ManyRows(`UPDATE place_messages SET leased_until = ?, attempt = attempt + 1, changed_at = ? WHERE num IN (`, `?`, `)`)
	removeRows = store.ManyRows(`DELETE FROM place_messages WHERE num IN (`, `?`, `)`)
)

// lend hides messages until they are acknowledged or the lease ends.
func (b *batch) lend(t *taking) error {
	until := b.now.Add(t.q.Lease)
	nums := make([]any, 0, len(t.took))
	for _, m := range t.took {
		m.attempt++
		m.leasedUntil = until
		nums = append(nums, m.num)
	}
	return lendRows.Run(b.tx, nums, func(query string, args []any) error {
		_, err := b.tx.Exec(query, append([]any{store.Micros(until), store.Micros(b.now)}, args...)...)
		return err
	})
}

// hand keeps messages to be removed at the end of the transaction.
func (b *batch) hand(agent string, took []*message) {
	if b.handed == nil {
		b.handed = map[string]struct{}{}
	}
	b.handed[agent] = struct{}{}
	b.gone = append(b.gone, took...)
}

// remove ends the messages that were handed out; only what somebody may still ask
// for leaves a trace.
func (b *batch) remove() error {
	if len(b.gone) == 0 {
		return nil
	}
	gone := make([]any, 0, len(b.gone))
	for _, m := range b.gone {
		if err := b.note(actDequeue, m, ""); err != nil {
			return err
		}
		if !m.tracked {
			gone = append(gone, m.num)
			continue
		}
		if err := m.finish(b.tx, stateReceived, "", b.now); err != nil {
			return err
		}
	}
	b.gone = nil
	clear(b.handed)
	if err := b.writeRelay(); err != nil {
		return err
	}
	return removeRows.Exec(b.tx, gone)
}

func (p *Place) handed(q relay.ReceiveQuery, took []*message, out relay.ReceiveAnswer) relay.ReceiveAnswer {
	for _, m := range took {
		w := m.wire()
		if q.ManualAck {
			w.Attempt, w.LeasedUntil = m.attempt, mmp.At(m.leasedUntil)
		} else {
			p.figures.bytes.Add(-m.size)
		}
		out.Messages = append(out.Messages, w)
	}
	out.Count = len(out.Messages)
	if out.Count > 0 {
		p.figures.stale()
	}
	return out
}

// anything tells whether something can be handed out, and else when the first
// lease ends. Who is going to wait has another goroutine look: the database needs a
// large stack, and thousands that wait would each keep one.
func (p *Place) anything(ctx context.Context, who Visitor, q relay.ReceiveQuery) (some bool, lapse time.Time, err error) {
	if q.Wait <= 0 {
		return p.look(ctx, who, q.AgentID)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.caught(&err)
		some, lapse, err = p.look(ctx, who, q.AgentID)
	}()
	<-done
	return some, lapse, err
}

func (p *Place) look(ctx context.Context, who Visitor, agent string) (some bool, lapse time.Time, err error) {
	err = p.read(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, agent); err != nil {
			return err
		}
		fresh, mark := p.front.peek(agent, p.now())
		if some = fresh; some || !p.front.mayHaveRows(agent) {
			return nil
		}
		now := store.Micros(p.now())
		var free, leased sql.NullInt64
		err := tx.QueryRow(`SELECT min(CASE WHEN leased_until <= ? THEN num END), min(CASE WHEN leased_until > ? THEN leased_until END)
			FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ?`, now, now, agent, now).Scan(&free, &leased)
		some = free.Valid
		if leased.Valid {
			lapse = store.Time(leased.Int64)
		}
		if !some {
			// What got its row meanwhile is in neither; who takes sees it.
			_, later := p.front.peek(agent, p.now())
			some = later != mark
		}
		return err
	})
	return some, lapse, err
}

// Peek looks at the queue without taking anything.
func (p *Place) Peek(ctx context.Context, who Visitor, q relay.ReceiveQuery) (relay.PeekAnswer, error) {
	out := relay.PeekAnswer{Messages: []relay.Message{}}
	if err := p.settled(ctx, settling{queue: q.AgentID}); err != nil {
		return out, err
	}
	err := p.read(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, q.AgentID); err != nil {
			return err
		}
		now := store.Micros(p.now())
		found, err := messages(tx, true, queueRows+`?`, q.AgentID, now, now, q.Limit)
		if err != nil {
			return err
		}
		for _, m := range found {
			out.Messages = append(out.Messages, m.wire())
		}
		return tx.QueryRow(`SELECT count(*) FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ? AND leased_until <= ?`,
			q.AgentID, now, now).Scan(&out.TotalPending)
	})
	out.Count = len(out.Messages)
	out.More = out.TotalPending > out.Count
	return out, err
}

// Ack settles leased messages: done, or back to their place in the queue.
func (p *Place) Ack(ctx context.Context, who Visitor, req *relay.AckRequest) (relay.AckAnswer, error) {
	var out relay.AckAnswer
	var bytes int64
	err := p.writeSynced(ctx, func(tx *store.Tx) error {
		out, bytes = relay.AckAnswer{Acked: []string{}, Released: []string{}, Unknown: []string{}}, 0
		if _, err := p.guard(tx, who, req.AgentID); err != nil {
			return err
		}
		now := p.now()
		for _, id := range req.IDs {
			m, err := leasedMessage(tx, req.AgentID, id)
			switch {
			case err != nil:
				return err
			case m == nil:
				out.Unknown = append(out.Unknown, id)
				continue
			}
			if err := m.finish(tx, stateReceived, "", now); err != nil {
				return err
			}
			if err := p.noteRelay(tx, actDequeue, m, ""); err != nil {
				return err
			}
			out.Acked = append(out.Acked, id)
			bytes += m.size
		}
		return release(tx, req, &out)
	})
	if err != nil {
		return relay.AckAnswer{}, err
	}
	p.figures.bytes.Add(-bytes)
	p.figures.stale()
	if len(out.Released) > 0 {
		p.tell(subjectWake, req.AgentID)
	}
	return out, nil
}

func release(tx *store.Tx, req *relay.AckRequest, out *relay.AckAnswer) error {
	for _, id := range req.Release {
		m, err := leasedMessage(tx, req.AgentID, id)
		switch {
		case err != nil:
			return err
		case m == nil:
			out.Unknown = append(out.Unknown, id)
			continue
		}
		if _, err := tx.Exec(`UPDATE place_messages SET leased_until = 0 WHERE num = ?`, m.num); err != nil {
			return err
		}
		out.Released = append(out.Released, id)
	}
	return nil
}

// leasedMessage finds a message of the agent's queue that was handed out; nil when
// there is none.
func leasedMessage(tx *store.Tx, agent, id string) (*message, error) {
	if clean("id", id) != nil {
		return nil, nil
	}
	found, err := byID(tx, id)
	if err == nil && len(found) == 0 && tx.Dialect() == store.SQLite {
		// One that came here from another database.
		found, err = messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE recipient = ? AND state = 0 AND id = ?`, agent, id)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	m := found[0]
	if m.recipient != agent || m.state != stateQueued || m.attempt == 0 {
		return nil, nil
	}
	return m, nil
}

// byID finds a message whose id says its number, or any where ids have an index.
func byID(tx *store.Tx, id string) ([]*message, error) {
	if tx.Dialect() == store.SQLite {
		return messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE num = ? AND id = ?`, numOf(id), id)
	}
	return messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE id = ?`+tx.ForUpdate(), id)
}
