package viber

import (
	"context"
	"errors"

	wire "parley.internal/protocol/viber"
)

// Submit hands over a goal and follows the task. Without an idempotency key it
// makes one. A key that is in progress is ErrAlreadyRunning; its *Error names the
// task, which Follow follows.
func (c *Client) Submit(ctx context.Context, submit *wire.TaskSubmit) (*Task, error) {
	s := *submit
	if s.IdempotencyKey == "" {
		s.IdempotencyKey = newID()
	}
	for again := false; ; again = true {
		l, err := c.reach(ctx, &s)
		if err != nil {
			return nil, err
		}
		if s.Opts().OnRestart != "" && !l.welcome.Has(wire.CapTakeover) {
			return nil, &UnsupportedError{wire.CapTakeover}
		}
		t, err := c.submit(ctx, l, &s)
		if e, ok := errors.AsType[*Error](err); again && ok && e.Code == wire.CodeAlreadyRunning {
			return c.Follow(ctx, e.TaskID, 0) // our own first attempt
		}
		// The key makes it safe to ask again, where one can find the task again.
		if !errors.Is(err, ErrConnectionLost) || !l.welcome.Has(wire.CapResume) {
			return t, err
		}
	}
}

func (c *Client) submit(ctx context.Context, l *link, s *wire.TaskSubmit) (*Task, error) {
	var t *Task // guarded by c.mu, as the answer may come while we leave
	left := false
	_, err := l.do(ctx, s, &request{
		answers: func(p wire.Payload) bool { return c.answersSubmit(p, s.IdempotencyKey) },
		// Before the reader goes on: the next frame may be the task's.
		accept: func(m wire.Message) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if started, ok := m.Body.(*wire.TaskStarted); ok && !left {
				t = c.follow(l, started)
			}
		},
	})
	c.mu.Lock()
	left = true
	task := t
	c.mu.Unlock()
	if err == nil && task == nil {
		err = ErrFollowed
	}
	if err != nil && task != nil {
		task.Close() // nobody waits for it any more
		task = nil
	}
	return task, err
}

// answersSubmit recognises the answer to a submit: a start with its key, or an
// error about the key or about no task we know.
func (c *Client) answersSubmit(p wire.Payload, key string) bool {
	switch p := p.(type) {
	case *wire.TaskStarted:
		return p.IdempotencyKey == key
	case *wire.TaskError:
		if p.IdempotencyKey != "" {
			return p.IdempotencyKey == key
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return p.Error.Type == wire.CodeAlreadyRunning || p.Error.Type != wire.CodeTaskNotFound && c.tasks[p.TaskID] == nil
	}
	return false
}

// follow makes the handle of a task that has just been started; nil if there is one.
func (c *Client) follow(l *link, started *wire.TaskStarted) *Task {
	if c.tasks[started.TaskID] != nil {
		return nil
	}
	t := &Task{c: c, id: started.TaskID, q: newQueue[wire.Message](c.opts.MaxBuffered), on: l, live: true, started: started}
	c.tasks[t.id] = t
	return t
}

// Follow follows a task of ours that was started elsewhere or before, beginning
// after event number afterSeq; 0 = all of it.
func (c *Client) Follow(ctx context.Context, taskID string, afterSeq int64) (*Task, error) {
	resume := &wire.TaskResume{TaskID: taskID, AfterSeq: afterSeq}
	l, err := c.reach(ctx, resume)
	if err != nil {
		return nil, err
	}
	t := &Task{c: c, id: taskID, q: newQueue[wire.Message](c.opts.MaxBuffered), on: l, last: afterSeq}
	c.mu.Lock()
	if c.tasks[taskID] != nil {
		c.mu.Unlock()
		return nil, ErrFollowed
	}
	c.tasks[taskID] = t
	c.mu.Unlock()
	if _, err := l.do(ctx, resume, &request{answers: t.isSnapshot}); err != nil {
		t.giveUp(err)
		return nil, err
	}
	return t, nil
}

// Tasks lists our tasks, newest first, a page at a time.
func (c *Client) Tasks(ctx context.Context, filter wire.TaskList) (*wire.TaskListResponse, error) {
	m, err := c.ask(ctx, &filter, &request{answers: is[*wire.TaskListResponse]})
	return answer[*wire.TaskListResponse](m, err)
}

// Stop ends a task. One that has ended by itself meanwhile is no error to a base
// server; Parley says ErrTaskNotFound.
func (c *Client) Stop(ctx context.Context, taskID, reason string) error {
	m, err := c.ask(ctx, &wire.TaskStop{TaskID: taskID, Reason: reason}, &request{answers: func(p wire.Payload) bool {
		switch p := p.(type) {
		case *wire.TaskStopped:
			return p.TaskID == taskID
		case *wire.TaskCompleted:
			return p.TaskID == taskID
		case *wire.TaskError:
			return p.TaskID == taskID
		}
		return false
	}})
	if e, ok := m.Body.(*wire.TaskError); ok && e.Ends() {
		return nil // it failed before it could be stopped
	}
	return err
}

// Message says something to a running task: at once, after the current turn, or
// together with other things. The acknowledgement is nil when the server gives none.
func (c *Client) Message(ctx context.Context, taskID, text string, mode wire.InjectionMode) (*wire.TaskMessageAck, error) {
	if mode == "" {
		mode = wire.Followup
	}
	msg := &wire.TaskMessage{TaskID: taskID, Message: wire.ChatMessage{Role: wire.RoleUser, Content: text}, InjectionMode: mode}
	l, err := c.reach(ctx, msg)
	if err != nil {
		return nil, err
	}
	if !l.welcome.Has(wire.CapInjection) {
		return nil, l.send(newID(), msg)
	}
	m, err := l.do(ctx, msg, &request{answers: func(p wire.Payload) bool {
		switch p := p.(type) {
		case *wire.TaskMessageAck:
			return p.TaskID == taskID
		case *wire.TaskError:
			return p.TaskID == taskID && !p.Ends()
		}
		return false
	}})
	return answer[*wire.TaskMessageAck](m, err)
}

// answer expects one kind of answer.
func answer[P wire.Payload](m wire.Message, err error) (P, error) {
	var none P
	if err != nil {
		return none, err
	}
	p, ok := m.Body.(P)
	if !ok {
		return none, &Error{Code: wire.CodeProtocolError, Message: "the server answered " + string(m.Type)}
	}
	return p, nil
}
