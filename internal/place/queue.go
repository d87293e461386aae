package place

import (
	"context"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	wire "parley.internal/protocol/mmp/relay"
)

// Peek looks at the queue without taking anything.
func (p *Place) Peek(ctx context.Context, who Visitor, q wire.ReceiveQuery) (wire.PeekAnswer, error) {
	out := wire.PeekAnswer{Messages: []wire.Message{}}
	err := p.read(ctx, func(tx *store.Tx) error {
		if _, err := p.guard(tx, who, q.AgentID); err != nil {
			return err
		}
		found, total, err := p.relay.Peek(tx, q.AgentID, q.Limit)
		for _, m := range found {
			out.Messages = append(out.Messages, m.Wire())
		}
		out.TotalPending = total
		return err
	})
	out.Count = len(out.Messages)
	out.More = out.TotalPending > out.Count
	return out, err
}

// Ack settles leased messages: done, or back to their place in the queue.
func (p *Place) Ack(ctx context.Context, who Visitor, req *wire.AckRequest) (wire.AckAnswer, error) {
	s := &relay.Settling{Queue: req.AgentID, Done: req.IDs, Back: req.Release, Guard: func(tx *store.Tx) error {
		_, err := p.guard(tx, who, req.AgentID)
		return err
	}}
	if err := p.storage(p.relay.Settle(ctx, s)); err != nil {
		return wire.AckAnswer{}, err
	}
	p.figures.stale()
	if len(s.Released) > 0 {
		p.tell(subjectWake, req.AgentID)
	}
	return wire.AckAnswer{Acked: s.Acked, Released: s.Released, Unknown: s.Unknown}, nil
}

// QueueStatus tells how full a queue is. Its agent's person may look, and the operator at any.
func (p *Place) QueueStatus(ctx context.Context, who Visitor, agent string) (wire.StatusAnswer, error) {
	out := wire.StatusAnswer{AgentID: agent, Limit: p.c.QueueLimit}
	mine, err := p.manages(ctx, who, agent)
	if err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		if !mine {
			if _, err := p.guard(tx, who, agent); err != nil {
				return err
			}
		}
		s, err := p.relay.Status(tx, agent)
		out.PendingCount, out.LeasedCount, out.DroppedCount = s.Pending, s.Leased, s.Dropped
		out.OldestAt, out.NewestAt = mmp.At(s.Oldest), mmp.At(s.Newest)
		return err
	})
	if err == nil && who.Agent == "" && !who.OfHub() {
		p.touch(agent)
	}
	return out, err
}

// Sent tells an agent what became of its messages, newest first.
func (p *Place) Sent(ctx context.Context, who Visitor, q wire.SentQuery) (wire.SentAnswer, error) {
	out := wire.SentAnswer{Messages: []wire.SentMessage{}}
	if !who.holds(q.AgentID) {
		return out, mmp.ErrAuthRequired
	}
	if err := clean("relay_id", q.RelayID); err != nil {
		return out, mmp.InvalidParam("relay_id")
	}
	err := p.read(ctx, func(tx *store.Tx) error {
		found, err := p.relay.Sent(tx, q.AgentID, q.RelayID, q.Limit)
		now := p.now()
		for _, m := range found {
			out.Messages = append(out.Messages, wire.SentMessage{
				RelayID: m.ID, To: m.Recipient, MessageType: m.Kind, SizeBytes: int(m.Size), BlobHash: m.Hash, Status: m.Fate(now), Reason: m.Reason,
				CreatedAt: mmp.At(m.Created), ExpiresAt: mmp.At(m.Expires), ChangedAt: mmp.At(m.Changed),
			})
		}
		return err
	})
	out.Count = len(out.Messages)
	return out, err
}

// RelayStats sums all queues.
func (p *Place) RelayStats(ctx context.Context, who Visitor) (wire.Stats, error) {
	if err := p.admit(who); err != nil {
		return wire.Stats{}, err
	}
	f, err := p.counted(ctx)
	return f.relay, err
}

// Queues lists the fullest queues: of the caller's agents, or all for the operator.
func (p *Place) Queues(ctx context.Context, who Visitor, limit int) ([]Queue, error) {
	var out []Queue
	mine, err := p.reach(ctx, who)
	if err != nil {
		return nil, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		found, err := p.relay.Fullest(tx, limit, mine.Has)
		if err != nil {
			return err
		}
		for _, s := range found {
			key, err := keyOf(tx, s.Queue, false)
			if err != nil {
				return err
			}
			out = append(out, Queue{
				Agent: s.Queue, Pending: s.Pending, Leased: s.Leased, Bytes: s.Bytes, Dropped: s.Dropped, Oldest: s.Oldest, Newest: s.Newest,
				Limit: p.c.QueueLimit, Proven: key.isProven(), Outgoing: s.Outgoing,
			})
		}
		return nil
	})
	return out, err
}
