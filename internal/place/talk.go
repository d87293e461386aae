package place

import (
	"context"
	"database/sql"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// maxTalks is how many sessions of one agent are remembered.
const maxTalks = 1000

// talkLife is for how long.
const talkLife = 30 * 24 * time.Hour

// Talk is a session: a stretch of direct talk between an agent of this hub and a
// peer. It has one name from its start to its end.
type Talk struct {
	ID        string   `json:"session_id"`
	Peer      string   `json:"peer_id"`
	StartedAt mmp.Time `json:"started_at"`
	EndedAt   mmp.Time `json:"ended_at"`
	Summary   *string  `json:"summary"`
}

// opener names who opened a session: an agent by its token, one of this hub's people, or whoever else.
func (c Visitor) opener() string {
	switch {
	case c.Agent != "":
		return "agent:" + c.Agent
	case c.OfHub():
		return "person:" + c.Actor.Person.ID
	}
	return ""
}

// StartTalk opens a session with a peer; one that was open with it ends.
func (p *Place) StartTalk(ctx context.Context, who Visitor, agent, peer string) (Talk, error) {
	peer, err := mmp.ActAs(peer, who.Agent)
	if err != nil {
		return Talk{}, err
	}
	now := p.now()
	t := Talk{ID: mmp.NewSessionID(), Peer: peer, StartedAt: mmp.At(now)}
	return t, p.write(ctx, func(tx *store.Tx) error {
		us := store.Micros(now)
		if _, err := tx.Exec(`UPDATE place_meetings SET ended_at = ? WHERE agent = ? AND peer = ? AND opened_by = ? AND ended_at = 0`, us, agent, peer, who.opener()); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO place_meetings (id, agent, peer, opened_by, started_at, ended_at, summary) VALUES (?, ?, ?, ?, ?, 0, '')`,
			t.ID, agent, peer, who.opener(), us); err != nil {
			return err
		}
		_, err := tx.Exec(`DELETE FROM place_meetings WHERE agent = ? AND started_at <
			(SELECT started_at FROM place_meetings WHERE agent = ? ORDER BY started_at DESC LIMIT 1 OFFSET 1000)`, agent, agent)
		return err
	})
}

// EndTalk ends the session the caller opened last, or the one it names.
func (p *Place) EndTalk(ctx context.Context, who Visitor, agent string, req meeting.SessionEnd) (Talk, error) {
	if err := clean("summary", req.Summary, "session_id", req.SessionID); err != nil {
		return Talk{}, err
	}
	var t Talk
	err := p.write(ctx, func(tx *store.Tx) error {
		query, args := `SELECT id, peer, started_at FROM place_meetings WHERE agent = ? AND opened_by = ? AND ended_at = 0`, []any{agent, who.opener()}
		if req.SessionID != "" {
			query, args = query+` AND id = ?`, append(args, req.SessionID)
		}
		if req.PeerID != "" {
			query, args = query+` AND peer = ?`, append(args, req.PeerID)
		}
		var started int64
		err := tx.QueryRow(query+` ORDER BY started_at DESC, id LIMIT 1`+tx.ForUpdate(), args...).Scan(&t.ID, &t.Peer, &started)
		if noRows(err) {
			return mmp.ErrNoSession
		}
		if err != nil {
			return err
		}
		now := p.now()
		t.StartedAt, t.EndedAt, t.Summary = mmp.At(store.Time(started)), mmp.At(now), optional(req.Summary)
		_, err = tx.Exec(`UPDATE place_meetings SET ended_at = ?, summary = ? WHERE id = ?`, store.Micros(now), req.Summary, t.ID)
		return err
	})
	return t, err
}

// Talks lists an agent's sessions, newest first; peer may be empty for all.
func (p *Place) Talks(ctx context.Context, agent, peer string, limit int) ([]Talk, error) {
	out := []Talk{}
	err := p.read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(r *sql.Rows) error {
			var t Talk
			var started, ended int64
			var summary string
			err := r.Scan(&t.ID, &t.Peer, &started, &ended, &summary)
			t.StartedAt, t.EndedAt, t.Summary = mmp.At(store.Time(started)), mmp.At(store.Time(ended)), optional(summary)
			out = append(out, t)
			return err
		}, `SELECT id, peer, started_at, ended_at, summary FROM place_meetings WHERE agent = ? AND (? = '' OR peer = ?) ORDER BY started_at DESC, id LIMIT ?`,
			agent, peer, peer, min(limit, maxTalks))
	})
	return out, err
}
