package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/fit"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// ActionNote is the type of a plain text from one agent to another; it travels as
// the text alone.
const ActionNote = "note"

// maxNote is how much of a note is kept.
const maxNote = 16_000

// Note is a plain text of a peer, or the payload of an action that an extension
// brought, on its way to an agent's conversation.
type Note struct {
	ID    string
	Agent string
	Peer  string
	// Place is where it was said; empty for this hub's own.
	Place string
	Level Level
	Text  string

	me, state string
	attempts  int
}

// Where a note stands.
const (
	noteAsked   = "asked" // a person is asked first
	noteDue     = "due"   // the agent is to read it
	noteDone    = "done"
	noteRefused = "refused"
	noteFailed  = "failed"
)

// What becomes of one that cannot be delivered.
const (
	noteTries = 3
	notePause = 30 * time.Second
)

// keepNote decides by the sender's level what becomes of a text: a trusted peer's
// reaches the agent, a proven peer's after a person said so, a stranger's never.
func (t *turn) keepNote(text string) (fate string, err error) {
	n := &Note{
		ID: t.m.ID, Agent: t.host.Name, Peer: t.from.ID, Place: t.place, Level: t.level, Text: fit.Storable(fit.Clip(text, maxNote)), me: t.host.ID, state: noteDue,
	}
	if t.level != L0 {
		may, err := t.mayAskInbox()
		if err != nil || !may {
			return "Kept; the agent does not read it", err
		}
		n.state, t.note = noteAsked, "asked"
	}
	_, err = t.tx.Exec(`INSERT INTO skill_notes (me, peer, id, agent, place, level, body, state, attempts, next_at, at, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, '')
		ON CONFLICT (me, peer, id) DO NOTHING`, n.me, n.Peer, n.ID, n.Agent, n.Place, string(n.Level), n.Text, n.state, store.Micros(t.now))
	t.kept = n
	if n.state == noteAsked {
		return "A person is asked first", err
	}
	return "Delivered to the agent", err
}

// SendNote puts a plain text to another agent on its way.
func (a Acting) SendNote(ctx context.Context, agent, at, to, text string) error {
	return a.speak(ctx, words{"skill_note", agent, at, to, text}, func(tx *store.Tx, h Host) error {
		m, err := meeting.NewMessage(ActionNote, h.ID, to, map[string]string{"text": fit.Storable(fit.Clip(text, maxNote))}, a.s.now())
		if err != nil {
			return err
		}
		return a.s.enqueue(tx, h, at, m, false)
	})
}

// noted handles a note that came by relay.
func (s *Skills) noted(ctx context.Context, agent, at string, from place.Sender, id, text string) error {
	h, err := s.host(agent)
	if err != nil {
		return err
	}
	level, err := s.believed(ctx, from)
	if err != nil {
		return err
	}
	var t *turn
	var again bool
	err = s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		t = &turn{s: s, tx: tx, host: h, from: from, place: at, level: level, m: meeting.Message{ID: id, Action: ActionNote, From: from.ID}, now: s.now()}
		if _, again, err = t.seen(); err != nil || again {
			return err
		}
		return t.takeNote(text)
	})
	if err != nil || again {
		return err
	}
	s.after(ctx, t)
	return nil
}

func (t *turn) takeNote(text string) error {
	if err := t.pin(); err != nil {
		return err
	}
	if err := t.peer.save(t.tx, t.host.ID, t.from.ID, store.Micros(t.now)); err != nil {
		return err
	}
	if _, err := t.keepNote(text); err != nil {
		return err
	}
	return t.record(meeting.Result{
		Status: meeting.ResultReceived, Action: ActionNote, From: t.from.ID, Fields: map[string]any{"text": fit.Storable(fit.Clip(text, maxNote))},
	})
}

// askNote asks a person whether the agent should read a note. Asking twice is
// harmless: the question has the same id.
func (s *Skills) askNote(ctx context.Context, n Note) {
	args, err := json.Marshal(map[string]any{"from": n.Peer, "level": n.Level, "text": visible.Text(n.Text)})
	question := questionID("note", n.me, n.Peer, n.ID)
	if err == nil {
		err = s.question(ctx, n.Agent, approval.Request{
			ID: question, Kind: approval.KindNote, Title: "A note from " + n.Peer, Arguments: args, Target: n.Agent, RequestedBy: "agent:" + n.Agent, Timeout: day,
			Reason: "approved, " + n.Agent + " reads it as data and may answer",
		})
	}
	if err != nil {
		if ctx.Err() == nil {
			s.d.Log.Warn("skills: asking about a note; it will be tried again", "error", err)
		}
		return
	}
	s.await(question, func(ctx context.Context, o approval.Outcome) error {
		next := noteRefused
		if o.Approved() {
			next = noteDue
		}
		err := s.moveNote(ctx, n, noteAsked, next, firstText(o.Reason, string(o.State)))
		s.wake.Ring()
		return err
	})
}

func (s *Skills) moveNote(ctx context.Context, n Note, from, to, reason string) error {
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE skill_notes SET state = ?, reason = ? WHERE me = ? AND peer = ? AND id = ? AND state = ?`,
			to, fit.Storable(fit.Clip(reason, 500)), n.me, n.Peer, n.ID, from)
		return err
	})
}

func listNotes(tx *store.Tx, rest string, args ...any) ([]Note, error) {
	var out []Note
	err := tx.Each(func(row *sql.Rows) error {
		var n Note
		err := row.Scan(&n.me, &n.Peer, &n.ID, &n.Agent, &n.Place, &n.Level, &n.Text, &n.state, &n.attempts)
		out = append(out, n)
		return err
	}, `SELECT me, peer, id, agent, place, level, body, state, attempts FROM skill_notes `+rest, args...)
	return out, err
}

// sweepNotes waits again for what a person was asked before a restart.
func (s *Skills) sweepNotes(ctx context.Context, h Host) error {
	var asked []Note
	err := s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		asked, err = listNotes(tx, `WHERE me = ? AND state = 'asked' ORDER BY at LIMIT 1000`, h.ID)
		return err
	})
	for _, n := range asked {
		s.askNote(ctx, n)
	}
	return err
}

// deliverDue gives the agents what they are to read, each peer's notes one after
// another.
func (s *Skills) deliverDue(ctx context.Context) {
	if s.d.Deliver == nil {
		return
	}
	for _, h := range s.Hosts() {
		var due []Note
		err := s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
			due, err = listNotes(tx, `WHERE me = ? AND state = 'due' AND next_at <= ? ORDER BY at, id LIMIT 100`, h.ID, store.Micros(s.now()))
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				s.d.Log.Warn("skills: reading notes", "error", err)
			}
			return
		}
		for _, n := range due {
			s.startDelivery(ctx, h, n)
		}
	}
}

// startDelivery runs in the background: an agent may think for minutes.
func (s *Skills) startDelivery(ctx context.Context, h Host, n Note) {
	with := n.me + " " + n.Place + " " + n.Peer
	s.mu.Lock()
	busy := s.reading[with]
	s.reading[with] = true
	s.mu.Unlock()
	if busy {
		return
	}
	s.done.Go(func() {
		if err := s.delivery(ctx, h, n); err != nil && ctx.Err() == nil {
			s.d.Log.Warn("skills: a note for an agent", "agent", n.Agent, "from", n.Peer, "error", err)
		}
		s.mu.Lock()
		delete(s.reading, with)
		s.mu.Unlock()
		s.wake.Ring()
	})
}

// delivery lets the agent read a note. Its answer and that it was read are
// committed together; a crash before that brings the note again, under its id.
func (s *Skills) delivery(ctx context.Context, h Host, n Note) error {
	answer, err := s.d.Deliver(ctx, n)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return errors.Join(err, s.undelivered(ctx, n, err))
	}
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.Exec(`UPDATE skill_notes SET state = ? WHERE me = ? AND peer = ? AND id = ? AND state = ?`, noteDone, n.me, n.Peer, n.ID, noteDue)
		if err != nil || rows == 0 || answer == "" || !mmp.ValidAddress(n.Peer) {
			return err
		}
		return s.answerNote(tx, h, n, fit.Clip(answer, maxNote))
	})
}

// answerNote sends an agent's words, at most so many an hour: two agents that
// answer each other come to an end.
func (s *Skills) answerNote(tx *store.Tx, h Host, n Note, answer string) error {
	t := &turn{s: s, tx: tx, host: h, from: place.Sender{ID: n.Peer}}
	sent, err := t.count(store.Micros(s.now().Add(-time.Hour)), `outgoing = 1 AND auto = 1`)
	if err != nil || sent >= autoHour {
		return err
	}
	m, err := meeting.NewMessage(ActionNote, h.ID, n.Peer, map[string]string{"text": answer}, s.now())
	if err != nil {
		return err
	}
	return s.enqueue(tx, h, n.Place, m, true)
}

func (s *Skills) undelivered(ctx context.Context, n Note, cause error) error {
	state := noteDue
	if n.attempts+1 >= noteTries {
		state = noteFailed
	}
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE skill_notes SET state = ?, attempts = attempts + 1, next_at = ?, reason = ? WHERE me = ? AND peer = ? AND id = ? AND state = 'due'`,
			state, store.Micros(s.now().Add(notePause)), fit.Storable(fit.Clip(cause.Error(), 500)), n.me, n.Peer, n.ID)
		return err
	})
}
