package board

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/work"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/viber"
)

// violation answers a frame that breaks the protocol. Too many of them end the
// connection: whoever is there does not speak it.
func (c *conn) violation(v *viber.Violation, id string) {
	if v.Close != 0 {
		c.fatal(v.Answer(), v.Close, id)
		return
	}
	c.protocolError(v.Answer(), id)
}

func (c *conn) protocolError(e *viber.ConnectionError, id string) {
	now := time.Now()
	c.mu.Lock()
	recent := c.errors[:0]
	for _, at := range c.errors {
		if now.Sub(at) < viber.ProtocolErrorWindow {
			recent = append(recent, at)
		}
	}
	c.errors = append(recent, now)
	last := len(c.errors) >= viber.MaxProtocolErrors
	c.mu.Unlock()
	if last {
		c.fatal(e, viber.CloseProtocol, id)
		return
	}
	c.send(e, id)
}

// protocol is protocolError with a reason.
func (r *request) protocol(reason viber.Reason, field, text string) {
	e := viber.NewError(viber.CodeProtocolError, reason, text)
	e.Details.Field = field
	r.c.protocolError(e, r.id)
}

// fatal says why and closes, behind what waits. Nothing more is taken.
func (c *conn) fatal(e *viber.ConnectionError, code viber.CloseCode, id string) {
	c.mu.Lock()
	first := !c.ending
	c.ending = true
	c.mu.Unlock()
	if !first {
		return
	}
	c.send(e, id)
	c.cancel(errors.New(e.Message))
	reason := string(e.Code)
	if e.Details != nil && e.Details.Reason != "" {
		reason += "/" + string(e.Details.Reason)
	}
	_ = c.ws.Close(wsconn.Code(code), reason) // the codes are all sendable
}

// lastWords is what a client is told before a close that the connection itself
// decided on.
func (f *Face) lastWords(why wsconn.Close) []byte {
	var p viber.Payload
	switch why.Code {
	case wsconn.CodeGoingAway:
		p = &viber.Close{Reason: viber.GoodbyeShutdown}
	case wsconn.CodeTooLarge:
		p = viber.NewError(viber.CodeProtocolError, viber.ReasonTooLarge, why.Reason)
	case wsconn.Code(viber.CloseSlowConsumer):
		p = viber.NewRateLimited(viber.ReasonSlowConsumer, "reading too slowly; come back and resume", viber.RetryBusy)
	case wsconn.Code(viber.CloseTimeout):
		p = viber.NewError(viber.CodeProtocolError, "silent", "nothing was heard from the client for too long")
	case wsconn.CodeInvalid:
		p = viber.NewError(viber.CodeProtocolError, viber.ReasonBadJSON, "the frame is not UTF-8")
	case wsconn.CodeInternal:
		p = viber.NewError(viber.CodeInternalError, "", "something went wrong in the hub; its log has the cause")
	default:
		p = viber.NewError(viber.CodeProtocolError, viber.ReasonBadEnvelope, "not a valid WebSocket stream: "+why.Reason)
	}
	data, err := viber.Encode(viber.Header{ID: ids.New(), At: time.Now()}, p)
	if err != nil {
		return nil
	}
	return data
}

// fail answers a request that could not be done. task is what it was about, as
// the client named it.
func (r *request) fail(err error, task string) {
	if v, ok := errors.AsType[*viber.Violation](err); ok {
		r.c.violation(v, r.id)
		return
	}
	if limit, ok := errors.AsType[*work.LimitError](err); ok {
		r.answer(viber.NewRateLimited(limit.Reason, limit.Message, limit.RetryAfter))
		return
	}
	if refused, ok := errors.AsType[*work.RefusedError](err); ok {
		r.answer(refused.Event)
		return
	}
	switch {
	case errors.Is(err, work.ErrNotFound):
		r.answer(viber.NewTaskNotFound(task))
	case errors.Is(err, work.ErrFinished):
		r.answer(viber.NewTaskFinished(task))
	case errors.Is(err, work.ErrConflict):
		r.protocol(viber.ReasonIdempotencyConflict, "/idempotency_key", work.ErrConflict.Error())
	case errors.Is(err, work.ErrBadCursor):
		r.protocol(viber.ReasonBadCursor, "/after_seq", work.ErrBadCursor.Error())
	case errors.Is(err, work.ErrNoApproval), errors.Is(err, approval.ErrNotFound):
		r.protocol(viber.ReasonApprovalNotFound, "/approval_id", work.ErrNoApproval.Error())
	case errors.Is(err, work.ErrForbidden), errors.Is(err, approval.ErrForbidden):
		r.answer(viber.NewInsufficientScope(viber.ScopeApprovalRespond, r.who().Scopes.Sorted()))
	case errors.Is(err, approval.ErrInvalid), errors.Is(err, identity.ErrInvalid):
		r.protocol(viber.ReasonBadPayload, "", err.Error())
	case errors.Is(err, work.ErrShuttingDown):
		r.answer(viber.NewError(viber.CodeInternalError, viber.ReasonShuttingDown, work.ErrShuttingDown.Error()))
	case errors.Is(err, work.ErrLagged):
		r.c.fatal(viber.NewRateLimited(viber.ReasonSlowConsumer, "reading too slowly; come back and resume", viber.RetryBusy), viber.CloseSlowConsumer, r.id)
	default:
		r.internal(err)
	}
}

// internal is our own fault, or nobody's: the cause is for the log.
func (r *request) internal(err error) {
	if r.c.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return // nobody is there to read it
	}
	if errors.Is(err, work.ErrUnavailable) {
		r.answer(viber.NewError(viber.CodeInternalError, "unavailable", work.ErrUnavailable.Error()))
		return
	}
	id := rand.Text()[:12]
	r.c.face.log.Error("a board request failed", "log_id", id, "error", err)
	r.answer(viber.NewError(viber.CodeInternalError, "", "something went wrong in the hub; its log has the cause under "+id))
}
