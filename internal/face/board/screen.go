package board

import (
	"context"
	"errors"

	"parley.internal/internal/identity"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// screen is a connection as its desk sees it. It only leaves out what the connection
// may not see; the order is the desk's.
type screen struct{ *conn }

var _ work.Screen = screen{}

// join opens the connection's desk and lets the client in: what waits comes right
// behind, then whatever happens.
func (c *conn) join(l *login, letIn func()) {
	desk, err := c.face.d.Work.Desk(c.ctx, l.session.Person.ID, screen{c}, letIn)
	if err != nil {
		if c.ctx.Err() == nil {
			screen{c}.Lost(err)
		}
		return
	}
	c.mu.Lock()
	c.desk = desk
	ending := c.ending
	c.mu.Unlock()
	if ending {
		desk.Close() // Closed may have run already
	}
}

// Show sends what the connection may see.
func (s screen) Show(shown work.Shown) {
	s.mu.Lock()
	login, asked := s.login, s.asked
	s.mu.Unlock()
	if p := visible(shown, login.session.Scopes, asked); p != nil {
		s.send(p, shown.ReplyTo)
	}
}

// visible is what a connection with these scopes sees of something; nil if nothing. What
// it asked for itself, it sees.
func visible(s work.Shown, scopes identity.Scopes, asked bool) viber.Payload {
	sees := s.Own || s.ReplyTo != "" || scopes.Has(identity.TaskRead)
	switch p := s.Payload.(type) {
	case *viber.StatusAgent:
		// Until the first request, only what waits and what begins or ends is told.
		sees = asked && (scopes.Has(identity.StatusRead) || scopes.Has(identity.TaskRead))
	case *viber.TaskSnapshot:
		return cutSnapshot(p, scopes)
	case *viber.ApprovalRequired:
		return visibleQuestion(s, &p.TaskRef, scopes, sees)
	case *viber.ApprovalResolved:
		return visibleQuestion(s, &p.TaskRef, scopes, sees)
	}
	if !sees {
		return nil
	}
	return s.Payload
}

// visibleQuestion is what is seen of a question. Who follows the task and may not see
// questions gets something else in their place, so that no number is missing.
func visibleQuestion(s work.Shown, ref *viber.TaskRef, scopes identity.Scopes, sees bool) viber.Payload {
	switch {
	case scopes.Has(identity.ApprovalRead) && (!s.Followed || sees):
		return s.Payload
	case s.Followed && sees:
		return &viber.TaskProgress{TaskRef: *ref, Status: viber.Executing, Message: "waiting for a person, or no longer"}
	}
	return nil
}

// cutSnapshot is a snapshot without what the connection may not see.
func cutSnapshot(s *viber.TaskSnapshot, scopes identity.Scopes) *viber.TaskSnapshot {
	if scopes.Has(identity.ApprovalRead) {
		return s
	}
	cut := *s
	cut.PendingApprovals = []viber.ApprovalRequired{}
	return &cut
}

// Room waits until a long answer may go on.
func (s screen) Room(ctx context.Context) error { return s.room(ctx) }

// Lost ends a connection that would no longer be told what happens. Coming back helps.
func (s screen) Lost(err error) {
	switch {
	case errors.Is(err, work.ErrShuttingDown):
		return // the goodbye says it
	case errors.Is(err, work.ErrLagged):
		s.fatal(viber.NewRateLimited(viber.ReasonSlowConsumer, "reading too slowly; come back and resume", viber.RetryBusy), viber.CloseSlowConsumer, "")
		return
	}
	s.face.log.Warn("a client loses sight of its tasks", "error", err)
	s.fatal(viber.NewError(viber.CodeInternalError, "", "the hub cannot tell what happens right now; come back and resume"), viber.CloseInternal, "")
}
