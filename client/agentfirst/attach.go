package agentfirst

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	wire "parley.internal/protocol/agentfirst"
)

// Attach follows a conversation as one of its devices: stored messages after
// AfterSeq (or the last History ones), caught_up, then everything live, on a
// connection of its own. Leaving the loop detaches.
//
// When the connection is lost after a first success, Attach dials again, pausing
// a little longer each time, and goes on after the last message it has yielded;
// no stored message comes twice. A run that was going on is then told anew: a
// start with a run id you know replaces the text you have of it, and caught_up
// comes again. Whoever gives lost hears, before each new try, why the one before ended. It ends with the conversation (deleted), with ctx, or with an
// answer that trying again would not change.
func (c *Client) Attach(ctx context.Context, attach *wire.Attach, lost ...func(error)) iter.Seq2[*wire.ConversationEvent, error] {
	return func(yield func(*wire.ConversationEvent, error) bool) {
		a := attachment{client: c, at: position{after: attach.GetAfterSeq(), history: attach.GetHistory()}, attach: attach, yield: yield}
		for try := 0; ; try++ {
			err := a.once(ctx)
			if a.over {
				return
			}
			if err == nil || !a.worked || !worthRetrying(ctx, err) {
				yield(nil, orLost(err))
				return
			}
			if a.progress {
				try, a.progress = 0, false
			}
			for _, hear := range lost {
				hear(err)
			}
			if err := c.pause(ctx, try); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

type attachment struct {
	client *Client
	attach *wire.Attach
	yield  func(*wire.ConversationEvent, error) bool

	at       position
	worked   bool // some connection has brought an event
	progress bool // the present connection has
	over     bool // deleted, or the consumer has left
}

// position is how far an attachment has come.
type position struct {
	after   uint64
	history uint32
}

// once follows the conversation over one connection, until that ends.
func (a *attachment) once(ctx context.Context) error {
	l, err := a.client.connectExtended(ctx)
	if err != nil {
		return err
	}
	defer a.client.drop(l)
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Attach{Attach: &wire.Attach{
		Agent: a.attach.GetAgent(), Sender: a.attach.GetSender(), Thread: a.attach.GetThread(),
		AfterSeq: a.at.after, History: a.at.history,
	}}}
	deleted := func(m *wire.ServerMessage) bool { return m.GetConversationEvent().GetDeleted() }
	for m, err := range l.frames(ctx, req, &call{last: deleted}) {
		if err != nil {
			return err
		}
		if err := a.event(m.GetConversationEvent()); err != nil || a.over {
			return err
		}
	}
	return nil
}

func (a *attachment) event(e *wire.ConversationEvent) error {
	if e == nil {
		return ErrUnexpectedAnswer
	}
	a.worked, a.progress = true, true
	if a.at.seen(e) {
		return nil
	}
	a.over = !a.yield(e, nil) || e.GetDeleted()
	return nil
}

// seen notes how far e brings us, and tells when it is a message that was
// yielded before.
func (p *position) seen(e *wire.ConversationEvent) bool {
	seq := e.GetStream().GetEnd().GetSeq()
	if m := e.GetMessage(); m != nil {
		if seq = max(m.GetSeq(), e.GetSeq()); seq != 0 && seq <= p.after {
			return true
		}
	}
	if seq > p.after {
		// From here on we know where we are; "the last n" was for the beginning.
		p.after, p.history = seq, 0
	}
	return false
}

// worthRetrying reports whether a lost attachment may come back.
func worthRetrying(ctx context.Context, err error) bool {
	var answer *ServerError
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrClosed), errors.Is(err, ErrPlain), errors.Is(err, ErrUnexpectedAnswer):
		return false
	case errors.As(err, &answer):
		return answer.Code.Temporary()
	}
	return true
}

func orLost(err error) error {
	if err == nil {
		return ErrConnectionLost
	}
	return err
}

// pause waits before try number try: doubling, with jitter so that many clients
// of a restarted server do not all come at once.
func (c *Client) pause(ctx context.Context, try int) error {
	longest := min(c.opts.RetryMax, c.opts.RetryMin<<min(try, 16))
	wait := time.NewTimer(longest/2 + rand.N(longest/2+1))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SubscribeEvents yields all activity we may see, on a connection of its own,
// until ctx ends, the loop is left or the connection is lost. Empty agent or
// sender = any; a plain server knows no filters and sends everything.
func (c *Client) SubscribeEvents(ctx context.Context, agent, sender string) iter.Seq2[*wire.AgentEvent, error] {
	req := &wire.ClientMessage{Message: &wire.ClientMessage_SubscribeEvents{
		SubscribeEvents: &wire.SubscribeEvents{Agent: agent, Sender: sender},
	}}
	never := func(*wire.ServerMessage) bool { return false }
	return func(yield func(*wire.AgentEvent, error) bool) {
		l, err := c.connect(ctx, true)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.drop(l)
		for m, err := range l.frames(ctx, req, &call{last: never}) {
			if err == nil && m.GetAgentEvent() == nil {
				err = ErrUnexpectedAnswer
			}
			if !yield(m.GetAgentEvent(), err) || err != nil {
				return
			}
		}
	}
}
