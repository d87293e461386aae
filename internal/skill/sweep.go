package skill

import (
	"context"
	"errors"

	"parley.internal/internal/approval"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/meeting"
)

// expired is how time decides.
var expired = approval.Outcome{State: approval.StateExpired}

// sweepPage bounds one transaction of the sweep.
const sweepPage = 200

// Sweep ends what is late, asks again what nobody was asked, and forgets what is
// old.
func (s *Skills) Sweep(ctx context.Context) error {
	for _, h := range s.Hosts() {
		if err := errors.Join(s.sweepExchanges(ctx, h), s.sweepThreads(ctx, h), s.sweepExtensions(ctx, h), s.sweepNotes(ctx, h), s.sweepKeys(ctx, h)); err != nil {
			return err
		}
		if err := s.askAgain(ctx, h); err != nil {
			return err
		}
	}
	if err := s.sweepPlaces(ctx); err != nil {
		return err
	}
	now := store.Micros(s.now())
	return s.d.DB.Write(ctx, func(tx *store.Tx) error {
		for query, arg := range map[string]int64{
			`DELETE FROM skill_messages WHERE at < ?`:       store.Micros(s.now().Add(-keepMessages)),
			`DELETE FROM skill_notes WHERE at < ?`:          store.Micros(s.now().Add(-keepMessages)),
			`DELETE FROM skill_refused WHERE until < ?`:     now,
			`DELETE FROM skill_outbox WHERE expires_at < ?`: now,
		} {
			if _, err := tx.Exec(query, arg); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweepExchanges ends what took too long. Who accepted and got nothing says so.
func (s *Skills) sweepExchanges(ctx context.Context, h Host) error {
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		var late []Exchange
		err := tx.Each(store.IntoBy(&late, scanExchange), `SELECT `+exchangeColumns+` FROM skill_exchanges WHERE me = ? AND deadline <= ? AND state <> 'quarantined' LIMIT ?`, h.ID, store.Micros(s.now()), sweepPage)
		if err != nil {
			return err
		}
		for _, e := range late {
			if err := s.late(tx, h, e); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (s *Skills) late(tx *store.Tx, h Host, e Exchange) error {
	was := e.State
	e.Reason = "timeout"
	if err := e.become(tx, was.WhenLate(), s.now()); err != nil {
		return err
	}
	if was != meeting.ExAccepted || e.Side != meeting.SideReceiving || !e.Relayed {
		return nil
	}
	m, err := meeting.NewMessage(meeting.ActionError, h.ID, e.Peer, meeting.ErrorPayload{ErrorCode: meeting.CodeTimeout, Message: "The skill did not arrive in time", Recoverable: true}, s.now())
	if err != nil {
		return err
	}
	m.InReplyTo = &e.Opening
	return s.enqueue(tx, h, e.Place, m, false)
}

// askAgain makes sure that each skill in quarantine has its question, and each
// question somebody who waits for the answer.
func (s *Skills) askAgain(ctx context.Context, h Host) error {
	var waiting []Item
	err := s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		waiting, err = listItems(tx, `WHERE me = ? AND state = 'quarantined' ORDER BY received_at`, h.ID)
		return err
	})
	for _, i := range waiting {
		switch {
		case i.Level == L2 && !i.Asked:
			if s.now().Sub(i.Received) > meeting.QuarantineTTL {
				err = errors.Join(err, s.decide(ctx, i.ID, expired))
			}
		case !s.awaited(i.Approval):
			s.ask(ctx, i.ID)
		}
	}
	return err
}
