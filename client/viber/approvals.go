package viber

import (
	"context"
	"iter"
	"slices"

	wire "parley.internal/protocol/viber"
)

// ApprovalEvent is a question that came up, or one that is no longer open.
type ApprovalEvent struct {
	// Required is the question, of which the other field is nil.
	Required *wire.ApprovalRequired
	// Resolved is how it ended. Its outcome is empty when that happened out of our
	// sight: while there was no connection, or at a server that does not tell.
	Resolved *wire.ApprovalResolved
}

// Approvals yields the questions that wait for a person, first those that wait
// already, then each as it comes up or is resolved, across reconnections.
func (c *Client) Approvals(ctx context.Context) iter.Seq2[ApprovalEvent, error] {
	return func(yield func(ApprovalEvent, error) bool) {
		feed := newQueue[ApprovalEvent](c.opts.MaxBuffered)
		c.mu.Lock()
		c.approvals.join(feed)
		if c.err != nil {
			feed.finish(c.err)
		}
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.approvals.feeds, feed)
		}()
		stream(ctx, feed)(yield)
	}
}

// PendingApprovals asks the server what waits for a person.
func (c *Client) PendingApprovals(ctx context.Context) ([]wire.ApprovalRequired, error) {
	m, err := c.ask(ctx, &wire.ApprovalList{}, &request{answers: is[*wire.ApprovalListResponse]})
	list, err := answer[*wire.ApprovalListResponse](m, err)
	if err != nil {
		return nil, err
	}
	return list.Approvals, nil
}

// Approve allows what was asked, this once.
func (c *Client) Approve(ctx context.Context, approvalID string) (*wire.ApprovalResolved, error) {
	yes := true
	return c.Respond(ctx, &wire.ApprovalResponse{ApprovalID: approvalID, Approved: &yes})
}

// Reject refuses it; the agent is told the reason.
func (c *Client) Reject(ctx context.Context, approvalID, reason string) (*wire.ApprovalResolved, error) {
	no := false
	return c.Respond(ctx, &wire.ApprovalResponse{ApprovalID: approvalID, Approved: &no, Reason: reason})
}

// Respond answers a question. What comes back is what holds: somebody else may
// have been faster. It is nil when the server does not say.
func (c *Client) Respond(ctx context.Context, response *wire.ApprovalResponse) (*wire.ApprovalResolved, error) {
	l, err := c.reach(ctx, response)
	if err != nil {
		return nil, err
	}
	if !l.welcome.Has(wire.CapApprovalResolved) {
		if err := l.send(newID(), response); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.approvals.drop(response.ApprovalID)
		return nil, nil
	}
	m, err := l.do(ctx, response, &request{answers: func(p wire.Payload) bool {
		r, ok := p.(*wire.ApprovalResolved)
		return ok && r.ApprovalID == response.ApprovalID
	}})
	return answer[*wire.ApprovalResolved](m, err)
}

// reconcile finds out, on a new connection, which questions were resolved while
// there was none.
func (c *Client) reconcile(l *link) {
	c.mu.Lock()
	stale := c.approvals.anyStale()
	c.mu.Unlock()
	if !stale || !l.welcome.Has(wire.CapApprovalResolved) {
		return
	}
	// The list is taken in by the reader, in its place among what is pushed. If it
	// does not come, the next connection tries again.
	_, _ = l.do(c.ctx, &wire.ApprovalList{}, &request{answers: is[*wire.ApprovalListResponse], accept: func(m wire.Message) {
		list, ok := m.Body.(*wire.ApprovalListResponse)
		if !ok {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range list.Approvals {
			c.approvals.required(&list.Approvals[i])
		}
		c.approvals.dropStale()
	}})
}

// inbox is what waits for a person, as far as this client knows, and who wants
// to be told. The client's mu guards it.
type inbox struct {
	open  []*question // in the order they came
	feeds map[*queue[ApprovalEvent]]struct{}
}

type question struct {
	asked *wire.ApprovalRequired
	stale bool // known from an earlier connection only
}

func (b *inbox) find(id string) int {
	return slices.IndexFunc(b.open, func(q *question) bool { return q.asked.ApprovalID == id })
}

// join makes a feed begin with all that waits.
func (b *inbox) join(feed *queue[ApprovalEvent]) {
	if b.feeds == nil {
		b.feeds = make(map[*queue[ApprovalEvent]]struct{})
	}
	b.feeds[feed] = struct{}{}
	for _, q := range b.open {
		feed.put(ApprovalEvent{Required: q.asked}, len(q.asked.ToolCall.Arguments))
	}
}

// required notes a question. After a reconnection the same ones come again.
func (b *inbox) required(p *wire.ApprovalRequired) {
	if i := b.find(p.ApprovalID); i >= 0 {
		b.open[i].asked, b.open[i].stale = p, false
		return
	}
	b.open = append(b.open, &question{asked: p})
	b.publish(ApprovalEvent{Required: p}, len(p.ToolCall.Arguments))
}

func (b *inbox) resolved(p *wire.ApprovalResolved) {
	i := b.find(p.ApprovalID)
	if i < 0 {
		return
	}
	b.open = slices.Delete(b.open, i, i+1)
	b.publish(ApprovalEvent{Resolved: p}, len(p.Reason))
}

// drop closes a question of which nobody will say how it ended.
func (b *inbox) drop(id string) {
	if i := b.find(id); i >= 0 {
		asked := b.open[i].asked
		b.resolved(&wire.ApprovalResolved{TaskRef: wire.TaskRef{TaskID: asked.TaskID}, ApprovalID: id})
	}
}

func (b *inbox) dropTask(id string) {
	b.dropIf(func(q *question) bool { return q.asked.TaskID == id })
}

func (b *inbox) dropStale() { b.dropIf(func(q *question) bool { return q.stale }) }

func (b *inbox) dropIf(gone func(*question) bool) {
	for _, q := range slices.Clone(b.open) {
		if gone(q) {
			b.drop(q.asked.ApprovalID)
		}
	}
}

func (b *inbox) startOver() {
	for _, q := range b.open {
		q.stale = true
	}
}

func (b *inbox) anyStale() bool {
	return slices.ContainsFunc(b.open, func(q *question) bool { return q.stale })
}

func (b *inbox) publish(e ApprovalEvent, size int) {
	for feed := range b.feeds {
		feed.put(e, size)
	}
}

func (b *inbox) finish(err error) {
	for feed := range b.feeds {
		feed.finish(err)
	}
}
