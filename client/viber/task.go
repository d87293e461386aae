package viber

import (
	"context"
	"io"
	"iter"

	wire "parley.internal/protocol/viber"
)

// Task is a task that this client follows.
type Task struct {
	c  *Client
	id string
	q  *queue[wire.Message]

	// Guarded by the client's mu.
	on   *link // where it is followed
	live bool  // its events come; false from a loss until the snapshot of the resume
	last int64 // the highest seq received

	started  *wire.TaskStarted
	snapshot *wire.TaskSnapshot
}

// ID is the task's id.
func (t *Task) ID() string { return t.id }

// Started is how the submit was answered; nil of a task that was followed later.
func (t *Task) Started() *wire.TaskStarted { return t.started }

// Snapshot is the task as it was when Follow found it; nil of one that was submitted.
func (t *Task) Snapshot() *wire.TaskSnapshot { return t.snapshot }

// Events yields what happens in the task, in order, and ends after its last
// event. Approvals of the task are among it. Leaving and ranging again goes on
// where it was left; one consumer at a time. A [*wire.TaskSnapshot] among the
// events says that some are gone for good, and what the text is now. An error
// means that we lost sight of the task, not that it failed.
func (t *Task) Events(ctx context.Context) iter.Seq2[wire.Message, error] {
	return stream(ctx, t.q)
}

// stream yields a queue up to its end.
func stream[T any](ctx context.Context, q *queue[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			item, err := q.next(ctx)
			if ended(err) || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Wait passes over events until the task ends. A task that failed is a
// [*FailedError], one that was stopped a [*StoppedError].
func (t *Task) Wait(ctx context.Context) (*wire.TaskCompleted, error) {
	for m, err := range t.Events(ctx) {
		if err != nil {
			return nil, err
		}
		switch p := m.Body.(type) {
		case *wire.TaskCompleted:
			return p, nil
		case *wire.TaskStopped:
			return nil, &StoppedError{p}
		case *wire.TaskError:
			if p.Ends() {
				return nil, &FailedError{p}
			}
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// Stop ends the task.
func (t *Task) Stop(ctx context.Context, reason string) error { return t.c.Stop(ctx, t.id, reason) }

// Message says something to the task. The acknowledgement is nil when the server
// gives none.
func (t *Task) Message(ctx context.Context, text string, mode wire.InjectionMode) (*wire.TaskMessageAck, error) {
	return t.c.Message(ctx, t.id, text, mode)
}

// Close stops following the task, which goes on.
func (t *Task) Close() {
	t.c.mu.Lock()
	l := t.on
	known := t.c.tasks[t.id] == t
	if known {
		delete(t.c.tasks, t.id)
	}
	t.c.mu.Unlock()
	t.q.finish(ErrClosed)
	if known && l.welcome.Has(wire.CapResume) {
		l.background(&wire.TaskUnsubscribe{TaskID: t.id})
	}
}

// resume goes on after the last event on a new connection.
func (t *Task) resume(l *link) {
	if !l.welcome.Has(wire.CapResume) {
		t.giveUp(ErrConnectionLost)
		return
	}
	t.c.mu.Lock()
	t.on = l
	req := &wire.TaskResume{TaskID: t.id, AfterSeq: t.last}
	t.c.mu.Unlock()
	_, err := l.do(t.c.ctx, req, &request{answers: t.isSnapshot})
	// A connection that is lost once more has another successor.
	if err != nil && l.reason() == nil {
		t.giveUp(err)
	}
}

// isSnapshot recognises the answer to a resume.
func (t *Task) isSnapshot(p wire.Payload) bool {
	switch p := p.(type) {
	case *wire.TaskSnapshot:
		return p.TaskID == t.id
	case *wire.TaskError:
		return p.TaskID == t.id && !p.Ends()
	}
	return false
}

func (t *Task) giveUp(err error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.tasks[t.id] == t {
		delete(t.c.tasks, t.id)
	}
	t.q.finish(err)
}

// routeEvent gives an event to its task. Until the snapshot of a resume, only
// life-cycle frames come, out of turn: the replay has them again.
func (c *Client) routeEvent(m wire.Message, e wire.TaskEvent, size int) {
	ref := e.Ref()
	if wire.Ends(e) && !c.last.welcome.Has(wire.CapApprovalResolved) {
		c.approvals.dropTask(ref.TaskID)
	}
	t := c.tasks[ref.TaskID]
	if t == nil || !t.live || ref.Seq != 0 && ref.Seq <= t.last {
		return
	}
	t.last = max(t.last, ref.Seq)
	t.put(m, size)
	if wire.Ends(e) {
		t.q.finish(io.EOF)
		delete(c.tasks, t.id)
	}
}

func (c *Client) routeSnapshot(m wire.Message, s *wire.TaskSnapshot, size int) {
	t := c.tasks[s.TaskID]
	if t == nil {
		return
	}
	t.live = true
	if t.snapshot == nil && t.started == nil {
		t.snapshot = s
	}
	if s.Gap {
		t.put(m, size)
	}
	if s.Status.Ended() && t.last >= s.LastSeq {
		t.q.finish(io.EOF)
		delete(c.tasks, t.id)
	}
}

// put queues an event; a task whose consumer lags is followed no more.
func (t *Task) put(m wire.Message, size int) {
	if t.q.put(m, size) {
		return
	}
	delete(t.c.tasks, t.id)
	if l := t.on; l.welcome.Has(wire.CapResume) {
		// Not here: a link's lock comes before the client's.
		t.c.wg.Go(func() { l.background(&wire.TaskUnsubscribe{TaskID: t.id}) })
	}
}
