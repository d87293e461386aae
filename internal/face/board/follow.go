package board

import (
	"context"
	"errors"
	"slices"

	"parley/internal/identity"
	"parley/internal/work"
	"parley/protocol/viber"
)

// follow is a task whose events a connection gets.
type follow struct {
	task   string
	own    bool // submitted here: its events need no scope
	cancel context.CancelFunc
	done   chan struct{}
	sent   int64 // the last event; the conn's mu guards it
}

type followOptions struct {
	// own is a task this connection submitted.
	own bool
	// keep leaves a follow that is there alone.
	keep bool
	// replyTo is the request that the first frame answers.
	replyTo string
	// after is the event the client has seen.
	after int64
}

// heldStatus waits for the event that caused it.
type heldStatus struct {
	seq    int64
	status *viber.StatusAgent
}

// follow sends a task's events until its end. One that was there before has
// ended when the snapshot goes out.
func (c *conn) follow(s *work.Stream, o followOptions) {
	ctx, cancel := context.WithCancel(c.ctx)
	f := &follow{task: s.TaskID, own: o.own, cancel: cancel, done: make(chan struct{}), sent: o.after}
	for {
		c.mu.Lock()
		before := c.follows[s.TaskID]
		if before == nil {
			break
		}
		c.mu.Unlock()
		if o.keep {
			cancel()
			return
		}
		f.own = f.own || before.own
		c.stopFollowing(before)
	}
	if c.follows == nil {
		c.follows = map[string]*follow{}
	}
	c.follows[s.TaskID] = f
	delete(c.dropped, s.TaskID)
	c.mu.Unlock()
	if s.Snapshot != nil && !o.keep {
		c.send(c.shown(s.Snapshot), o.replyTo)
		o.replyTo = ""
	}
	c.work.Go(func() {
		defer close(f.done)
		defer cancel()
		c.guard("", func() { c.pump(ctx, f, s, o.replyTo) })
		c.forget(f)
	})
}

// pump sends events as they come. Until the present is reached it goes as fast as
// the client reads; from then on a client that does not read is cut.
func (c *conn) pump(ctx context.Context, f *follow, s *work.Stream, replyTo string) {
	var present int64
	if s.Snapshot != nil {
		present = s.Snapshot.LastSeq
	}
	for event, err := range s.Events(ctx) {
		if err == nil && event.Ref().Seq < present {
			err = c.room(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, work.ErrLagged):
			c.fatal(viber.NewRateLimited(viber.ReasonSlowConsumer, "reading too slowly; come back and resume", viber.RetryBusy), viber.CloseSlowConsumer, "")
			return
		case err != nil:
			c.lost(f, err)
			return
		}
		c.show(f, event, replyTo)
		replyTo = ""
	}
}

// lost says that a task can no longer be followed here. Coming back helps.
func (c *conn) lost(f *follow, err error) {
	if errors.Is(err, work.ErrShuttingDown) {
		return // the goodbye says it
	}
	c.face.log.Warn("a client loses sight of a task", "task", f.task, "error", err)
	c.fatal(viber.NewError(viber.CodeInternalError, "", "the task cannot be followed right now; come back and resume"), viber.CloseInternal, "")
}

// show sends one event, and what waited for it.
func (c *conn) show(f *follow, event viber.TaskEvent, replyTo string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.follows[f.task] != f {
		return
	}
	seq := event.Ref().Seq
	if p := c.visible(f, event); p != nil {
		if id := c.claimed(event); id != "" {
			replyTo = id
		}
		c.send(p, replyTo)
	}
	f.sent = max(f.sent, seq)
	if viber.Ends(event) {
		delete(c.follows, f.task)
		c.ended.add(f.task)
	}
	c.release(f.task, f.sent)
}

// visible is an event as this connection may see it; nil if it may not. Who may
// not see approvals gets something else in their place, so that no number is missing.
func (c *conn) visible(f *follow, event viber.TaskEvent) viber.Payload {
	scopes := c.login.session.Scopes
	if !f.own && !scopes.Has(identity.TaskRead) {
		return nil
	}
	switch event.(type) {
	case *viber.ApprovalRequired, *viber.ApprovalResolved:
		if !scopes.Has(identity.ApprovalRead) {
			return &viber.TaskProgress{TaskRef: *event.Ref(), Status: viber.Executing, Message: "waiting for a person, or no longer"}
		}
	}
	return event
}

// release sends the states of agents that waited for an event. The caller holds mu.
func (c *conn) release(task string, sent int64) {
	left := c.held[task][:0]
	for _, h := range c.held[task] {
		if h.seq > sent {
			left = append(left, h)
			continue
		}
		c.sendStatus(h.status)
	}
	if len(left) == 0 {
		delete(c.held, task)
	} else {
		c.held[task] = left
	}
}

// sendStatus needs mu.
func (c *conn) sendStatus(s *viber.StatusAgent) {
	if scopes := c.login.session.Scopes; c.asked && (scopes.Has(identity.StatusRead) || scopes.Has(identity.TaskRead)) {
		c.send(s, "")
	}
}

// forget takes a follow out that has come to its end.
func (c *conn) forget(f *follow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.follows[f.task] == f {
		delete(c.follows, f.task)
	}
	c.release(f.task, 1<<62)
}

// stopFollowing ends a follow and waits for it: nothing of it comes after.
func (c *conn) stopFollowing(f *follow) {
	c.mu.Lock()
	if c.follows[f.task] == f {
		delete(c.follows, f.task)
	}
	c.mu.Unlock()
	f.cancel()
	<-f.done
}

func (c *conn) unfollow(task string) {
	c.mu.Lock()
	f := c.follows[task]
	if f != nil && f.own {
		if c.dropped == nil {
			c.dropped = map[string]bool{}
		}
		c.dropped[task] = true
	}
	c.mu.Unlock()
	if f != nil {
		c.stopFollowing(f)
	}
}

func (c *conn) following(task string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.follows[task] != nil
}

// recent remembers the last few tasks whose end was sent: the news of it may
// still be on its way by another route.
type recent struct{ ids []string }

const maxRecent = 64

func (r *recent) add(id string) {
	if len(r.ids) >= maxRecent {
		r.ids = slices.Delete(r.ids, 0, 1)
	}
	r.ids = append(r.ids, id)
}

func (r *recent) has(id string) bool { return slices.Contains(r.ids, id) }
