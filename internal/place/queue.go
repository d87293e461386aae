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

// QueueStatus tells how full a queue is. Its agent's person may look, and the operator at any.
func (p *Place) QueueStatus(ctx context.Context, who Visitor, agent string) (relay.StatusAnswer, error) {
	out := relay.StatusAnswer{AgentID: agent, Limit: p.c.QueueLimit}
	mine, err := p.manages(ctx, who, agent)
	if err != nil {
		return out, err
	}
	if err := p.settled(ctx, settling{queue: agent}); err != nil {
		return out, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		if !mine {
			if _, err := p.guard(tx, who, agent); err != nil {
				return err
			}
		}
		now := store.Micros(p.now())
		var oldest, newest sql.NullInt64
		err := tx.QueryRow(`SELECT count(CASE WHEN leased_until <= ? THEN 1 END), count(CASE WHEN leased_until > ? THEN 1 END), min(num), max(num)
			FROM place_messages WHERE recipient = ? AND state = 0 AND expires_at > ?`, now, now, agent, now).
			Scan(&out.PendingCount, &out.LeasedCount, &oldest, &newest)
		if err != nil {
			return err
		}
		if oldest.Valid {
			if out.OldestAt, err = createdAt(tx, oldest.Int64); err == nil {
				out.NewestAt, err = createdAt(tx, newest.Int64)
			}
			if err != nil {
				return err
			}
		}
		out.DroppedCount, err = droppedCount(tx, agent)
		return err
	})
	if err == nil && who.Agent == "" && !who.OfHub() {
		p.touch(agent)
	}
	return out, err
}

func createdAt(tx *store.Tx, num int64) (mmp.Time, error) {
	var us int64
	err := tx.QueryRow(`SELECT created_at FROM place_messages WHERE num = ?`, num).Scan(&us)
	return mmp.At(store.Time(us)), err
}

func droppedCount(tx *store.Tx, agent string) (n int64, err error) {
	err = tx.QueryRow(`SELECT count FROM place_dropped WHERE agent = ?`, agent).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

var fates = map[int]relay.Fate{
	stateReceived: relay.FateReceived, stateForwarded: relay.FateForwarded, stateExpired: relay.FateExpired,
	stateDropped: relay.FateDropped, stateRefused: relay.FateRefused,
}

// fate is what became of a message, by now.
func (m *message) fate(now time.Time) relay.Fate {
	switch {
	case m.state != stateQueued:
		return fates[m.state]
	case !m.expires.After(now):
		return relay.FateExpired
	case m.leasedUntil.After(now):
		return relay.FateLeased
	}
	return relay.FateQueued
}

// Sent tells an agent what became of its messages, newest first.
func (p *Place) Sent(ctx context.Context, who Visitor, q relay.SentQuery) (relay.SentAnswer, error) {
	out := relay.SentAnswer{Messages: []relay.SentMessage{}}
	if !who.holds(q.AgentID) {
		return out, mmp.ErrAuthRequired
	}
	if err := clean("relay_id", q.RelayID); err != nil {
		return out, mmp.InvalidParam("relay_id")
	}
	if err := p.settled(ctx, settling{sender: q.AgentID}); err != nil {
		return out, err
	}
	query, args := `SELECT `+messageColumns+` FROM place_messages WHERE sender = ? AND tracked = 1 ORDER BY num DESC LIMIT ?`, []any{q.AgentID, q.Limit}
	err := p.read(ctx, func(tx *store.Tx) error {
		var found []*message
		var err error
		if q.RelayID != "" {
			found, err = sentOne(tx, q.AgentID, q.RelayID)
		} else {
			found, err = messages(tx, false, query, args...)
		}
		now := p.now()
		for _, m := range found {
			out.Messages = append(out.Messages, relay.SentMessage{
				RelayID: m.id, To: m.recipient, MessageType: m.kind, SizeBytes: int(m.size), BlobHash: m.hash, Status: m.fate(now), Reason: m.reason,
				CreatedAt: mmp.At(m.created), ExpiresAt: mmp.At(m.expires), ChangedAt: mmp.At(m.changed),
			})
		}
		return err
	})
	out.Count = len(out.Messages)
	return out, err
}

// sentOne finds one message of a sender.
func sentOne(tx *store.Tx, sender, id string) ([]*message, error) {
	if tx.Dialect() != store.SQLite {
		return messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE id = ? AND sender = ? AND tracked = 1`, id, sender)
	}
	found, err := messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE num = ? AND id = ? AND sender = ? AND tracked = 1`, numOf(id), id, sender)
	if err != nil || len(found) > 0 {
		return found, err
	}
	// One that came here from another database, where numbers are small.
	return messages(tx, false, `SELECT `+messageColumns+` FROM place_messages WHERE sender = ? AND tracked = 1 AND num < ? AND id = ?`, sender, int64(1)<<40, id)
}

// RelayStats sums all queues.
func (p *Place) RelayStats(ctx context.Context, who Visitor) (relay.Stats, error) {
	if err := p.admit(who); err != nil {
		return relay.Stats{}, err
	}
	f, err := p.counted(ctx)
	return f.relay, err
}

// Queues lists the fullest queues for the operator.
func (p *Place) Queues(ctx context.Context, who Visitor, limit int) ([]Queue, error) {
	var out []Queue
	mine, err := p.reach(ctx, who)
	if err != nil {
		return nil, err
	}
	recipients, ids := mine.Where("recipient")
	agents, _ := mine.Where("agent")
	if err := p.settled(ctx, settling{all: true}); err != nil {
		return nil, err
	}
	err = p.read(ctx, func(tx *store.Tx) error {
		now := store.Micros(p.now())
		err := tx.Each(func(r *sql.Rows) error {
			var q Queue
			var oldest, newest, proven int64
			var peer string
			err := r.Scan(&q.Agent, &q.Pending, &q.Leased, &q.Bytes, &oldest, &newest, &peer, &q.Dropped, &proven)
			q.Oldest, q.Newest, q.Limit, q.Proven, q.Outgoing = store.Time(oldest), store.Time(newest), p.c.QueueLimit, proven != 0, peer != ""
			out = append(out, q)
			return err
		}, `SELECT q.recipient, q.pending, q.leased, q.bytes, q.oldest, q.newest, q.peer, COALESCE(d.count, 0), `+provenSince+` FROM (
				SELECT recipient, count(CASE WHEN leased_until <= ? THEN 1 END) AS pending, count(CASE WHEN leased_until > ? THEN 1 END) AS leased,
					sum(size) AS bytes, min(created_at) AS oldest, max(created_at) AS newest, max(peer) AS peer
				FROM place_messages WHERE state = 0 AND expires_at > ? AND `+recipients+` GROUP BY recipient ORDER BY 2 DESC, 1 LIMIT ?) q
			LEFT JOIN place_dropped d ON d.agent = q.recipient LEFT JOIN place_keys k ON k.agent = q.recipient
			ORDER BY q.pending DESC, q.recipient`, append(append([]any{now, now, now}, ids...), limit)...)
		if err != nil || len(out) >= limit {
			return err
		}
		return tx.Each(func(r *sql.Rows) error {
			q := Queue{Limit: p.c.QueueLimit}
			err := r.Scan(&q.Agent, &q.Dropped)
			out = append(out, q)
			return err
		}, `SELECT agent, count FROM place_dropped WHERE agent NOT IN (SELECT recipient FROM place_messages WHERE state = 0 AND expires_at > ?)
			AND `+agents+` ORDER BY at DESC LIMIT ?`, append(append([]any{now}, ids...), limit-len(out))...)
	})
	return out, err
}
