package skill

import (
	"context"
	"database/sql"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// enqueue puts a message on its way, in the transaction that decided to send it.
func (s *Skills) enqueue(tx *store.Tx, h Host, at string, m meeting.Message, auto bool) error {
	raw, err := mmp.Encode(m)
	if err != nil {
		return err
	}
	now := s.now()
	_, err = tx.Exec(`INSERT INTO skill_outbox (id, seq, me, place, peer, action, message, attempts, next_at, expires_at, problem)
		VALUES (?, (SELECT COALESCE(max(seq), 0) + 1 FROM skill_outbox), ?, ?, ?, ?, ?, 0, ?, ?, '')`,
		m.ID, h.ID, at, m.Recipient(), m.Action, string(raw), store.Micros(now), store.Micros(now.Add(outboxFor)))
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO skill_messages (me, peer, id, outgoing, auto, action, level, direct, note, result, place, at) VALUES (?, ?, ?, 1, ?, ?, '', 0, '', '{}', ?, ?)
		ON CONFLICT (me, peer, id, outgoing) DO NOTHING`, h.ID, m.Recipient(), m.ID, store.Bool(auto), m.Action, at, store.Micros(now))
	return err
}

type outgoing struct {
	id, me, place, peer, message string
	attempts                     int
}

// flush sends what is due. A peer that cannot be reached holds up nobody else.
func (s *Skills) flush(ctx context.Context) {
	for _, h := range s.Hosts() {
		due, err := s.due(ctx, h.ID)
		if err != nil {
			if ctx.Err() == nil {
				s.d.Log.Warn("skills: reading the outbox", "error", err)
			}
			return
		}
		blocked := map[string]bool{} // messages to one peer stay in order
		for _, o := range due {
			if line := s.line(o.me, o.place); line != nil && !blocked[o.peer] && ctx.Err() == nil {
				blocked[o.peer] = !s.send(ctx, line, o)
			}
		}
	}
}

func (s *Skills) due(ctx context.Context, me string) (out []outgoing, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(func(row *sql.Rows) error {
			var o outgoing
			err := row.Scan(&o.id, &o.me, &o.place, &o.peer, &o.message, &o.attempts)
			out = append(out, o)
			return err
		}, `SELECT id, me, place, peer, message, attempts FROM skill_outbox WHERE me = ? AND next_at <= ? ORDER BY seq, id LIMIT 100`, me, store.Micros(s.now()))
	})
	return out, err
}

const (
	sendTime  = 30 * time.Second
	mostPause = 5 * time.Minute
)

// send hands one message over and strikes it off. After a crash in between it goes
// out twice, under the same id, which has no second effect.
func (s *Skills) send(ctx context.Context, line Line, o outgoing) bool {
	var m meeting.Message
	err := mmp.Decode([]byte(o.message), &m)
	if err == nil {
		sending, cancel := context.WithTimeout(ctx, sendTime)
		err = line.Send(sending, o.peer, m)
		cancel()
	}
	if ctx.Err() != nil {
		return false
	}
	failed := err
	err = s.d.DB.Write(ctx, func(tx *store.Tx) error {
		if failed == nil {
			_, err := tx.Exec(`DELETE FROM skill_outbox WHERE id = ?`, o.id)
			return err
		}
		pause := min(time.Second<<min(o.attempts, 9), mostPause)
		_, err := tx.Exec(`UPDATE skill_outbox SET attempts = attempts + 1, next_at = ?, problem = ? WHERE id = ?`,
			store.Micros(s.now().Add(pause)), fit.Storable(fit.Clip(failed.Error(), 500)), o.id)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.d.Log.Warn("skills: the outbox", "error", err)
	}
	return failed == nil && err == nil
}
