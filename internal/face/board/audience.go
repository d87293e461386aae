package board

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/internal/identity"
	"parley/internal/work"
	"parley/protocol/viber"
)

// audience is the connections of one person. They share one watch of what happens
// to the person's tasks, so that a connection that only listens costs next to
// nothing.
type audience struct {
	face   *Face
	person identity.Principal
	cancel context.CancelFunc
	users  int           // the face's mu guards it
	ready  chan struct{} // closed when what waits is known, or when it failed

	mu      sync.Mutex // guards the rest; taken before a conn's
	err     error
	members map[*conn]struct{}
	pending []question
}

// question waits for the person until a time.
type question struct {
	asked viber.ApprovalRequired
	until time.Time
}

// join makes a connection part of its person's audience: what waits is sent
// first, then whatever happens.
func (c *conn) join(l *login) {
	a := c.face.enter(l.session.Person)
	select {
	case <-a.ready:
	case <-c.ctx.Done():
		c.face.leave(a, c)
		return
	}
	c.mu.Lock()
	c.audience = a
	ending := c.ending
	c.mu.Unlock()
	if err := a.admit(c); err != nil {
		c.lostWatch(err)
	}
	if ending {
		c.face.leave(a, c)
	}
}

// lostWatch ends a connection that would no longer be told what happens.
func (c *conn) lostWatch(err error) {
	if errors.Is(err, work.ErrShuttingDown) {
		return // the goodbye says it
	}
	c.face.log.Warn("clients lose sight of their tasks", "error", err)
	c.fatal(viber.NewError(viber.CodeInternalError, "", "the hub cannot tell what happens right now; come back"), viber.CloseInternal, "")
}

// enter finds or makes the audience of a person.
func (f *Face) enter(p identity.Principal) *audience {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.audiences[p.ID]
	if a == nil {
		ctx, cancel := context.WithCancel(context.Background())
		a = &audience{face: f, person: p, cancel: cancel, ready: make(chan struct{}), members: map[*conn]struct{}{}}
		f.audiences[p.ID] = a
		f.work.Go(func() { a.run(ctx) })
	}
	a.users++
	return a
}

// leave takes a connection out; the last one ends the watch. Twice is once.
func (f *Face) leave(a *audience, c *conn) {
	c.mu.Lock()
	c.audience = nil
	c.mu.Unlock()
	a.mu.Lock()
	delete(a.members, c)
	a.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.users--; a.users <= 0 {
		a.cancel()
		if f.audiences[a.person.ID] == a {
			delete(f.audiences, a.person.ID)
		}
	}
}

// run watches until nobody is left or the watch breaks.
func (a *audience) run(ctx context.Context) {
	// The person's own things only, whatever else one of the connections may see.
	ready := sync.OnceFunc(func() { close(a.ready) })
	defer ready()
	for n, err := range a.face.d.Work.Watch(ctx, identity.WatchFor(a.person)) {
		if err != nil {
			if ctx.Err() == nil {
				a.fail(err)
			}
			return
		}
		if n.Ready {
			ready()
			continue
		}
		a.deliver(n)
	}
	if ctx.Err() == nil {
		a.fail(work.ErrShuttingDown)
	}
}

// fail ends the connections: what they were told is no longer the whole truth.
func (a *audience) fail(err error) {
	a.face.mu.Lock()
	if a.face.audiences[a.person.ID] == a {
		delete(a.face.audiences, a.person.ID)
	}
	a.face.mu.Unlock()
	a.mu.Lock()
	a.err = err
	members := a.all()
	a.mu.Unlock()
	for _, c := range members {
		c.lostWatch(err)
	}
}

func (a *audience) all() []*conn {
	list := make([]*conn, 0, len(a.members))
	for c := range a.members {
		list = append(list, c)
	}
	return list
}

// admit sends what waits and counts the connection in, in one step.
func (a *audience) admit(c *conn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	if c.may(identity.ApprovalRead) {
		now := time.Now()
		for _, q := range a.pending {
			asked := q.asked
			asked.TimeoutMS = max(q.until.Sub(now).Milliseconds(), 1)
			c.send(&asked, "")
		}
	}
	a.members[c] = struct{}{}
	return nil
}

// deliver passes a notice on to everybody.
func (a *audience) deliver(n work.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e := n.Event.(type) {
	case *viber.ApprovalRequired:
		a.pending = append(a.pending, question{*e, time.Now().Add(time.Duration(e.TimeoutMS) * time.Millisecond)})
	case *viber.ApprovalResolved:
		a.pending = slices.DeleteFunc(a.pending, func(q question) bool { return q.asked.ApprovalID == e.ApprovalID })
	}
	for c := range a.members {
		c.notice(n)
	}
}

// attended reports whether somebody here may answer.
func (a *audience) attended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.all(), func(c *conn) bool { return c.may(identity.ApprovalRespond) })
}

// notice is told what happened to one of the person's tasks. What the connection
// follows comes to it by its own stream.
func (c *conn) notice(n work.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending || c.login == nil {
		return
	}
	f := c.follows[n.Task]
	// The stream of a task submitted here may not have begun yet.
	over := c.ended.has(n.Task)
	coming := n.Origin == c.id && !c.dropped[n.Task] && !over
	_, start := n.Event.(*viber.TaskStarted)
	if n.Event != nil && n.Task != "" && (f != nil || coming || over || start && n.Origin == c.id) {
		return
	}
	if n.Event != nil {
		c.announce(n.Event)
	}
	if n.Status == nil {
		return
	}
	if n.Task != "" && (f != nil && f.sent < n.Seq || f == nil && coming) {
		if c.held == nil {
			c.held = map[string][]heldStatus{}
		}
		c.held[n.Task] = append(c.held[n.Task], heldStatus{n.Seq, n.Status})
		return
	}
	c.sendStatus(n.Status)
}

// announce sends an event of a task that is not followed here. The caller holds mu.
func (c *conn) announce(event viber.TaskEvent) {
	need := identity.TaskRead
	switch event.(type) {
	case *viber.ApprovalRequired, *viber.ApprovalResolved:
		need = identity.ApprovalRead
	}
	if !c.login.session.Scopes.Has(need) {
		return
	}
	c.send(event, c.claimed(event))
}
