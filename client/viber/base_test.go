package viber_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	client "parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
)

func TestBaseServerRunsATask(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) {
		auth := c.hello()
		if auth.Token != "secret" || auth.DeviceID != "laptop" || auth.Role != wire.RoleOperator {
			c.t.Errorf("%+v", auth)
		}
		s, _ := expect[*wire.TaskSubmit](c)
		if s.IdempotencyKey == "" || s.Goal != "g" {
			c.t.Errorf("%+v", s)
		}
		c.push(c.started(s.IdempotencyKey), &wire.TaskProgress{TaskRef: c.ref(2), Status: wire.Planning}, c.text(3, "a"), c.asks(4, "a1"))
		r, _ := expect[*wire.ApprovalResponse](c)
		if r.ApprovalID != "a1" || !r.Yes() {
			c.t.Errorf("%+v", r)
		}
		if m, _ := expect[*wire.TaskMessage](c); m.Message.Content != "hurry" || m.InjectionMode != wire.Steer {
			c.t.Errorf("%+v", m)
		}
		c.push(c.text(5, "b"), c.completed(6, "ab"))
		c.bye()
	}}
	with(t, b, client.Options{Token: "secret", DeviceID: "laptop"}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		if task.ID() != "t1" || task.Started().IdempotencyKey == "" {
			t.Errorf("%+v; want task.ID() to be \"t1\", task.Started().IdempotencyKey not to be \"\"", task.Started())
		}
		for e, err := range c.Approvals(t.Context()) {
			if err != nil || e.Required == nil || e.Required.ApprovalID != "a1" {
				t.Errorf("%+v, %v; want no error, e.Required not to be nil, e.Required.ApprovalID to be \"a1\"", e, err)
			}
			break
		}
		if resolved, err := c.Approve(t.Context(), "a1"); err != nil || resolved != nil {
			t.Errorf("%v, %v; want no error, nil", resolved, err)
		}
		if ack, err := task.Message(t.Context(), "hurry", wire.Steer); err != nil || ack != nil {
			t.Errorf("%v, %v; want no error, nil", ack, err)
		}
		events, err := collect(t, task)
		want := []string{"task:started", "task:progress", "a", "approval:required", "b", "task:completed"}
		if diff := cmp.Diff(want, events); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestBaseServerIsNotAskedForMore(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) { c.hello(); c.bye() }}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		for name, call := range map[wire.Capability]func() error{
			wire.CapResume:           func() error { _, err := c.Follow(ctx, "t1", 0); return err },
			wire.CapTaskList:         func() error { _, err := c.Tasks(ctx, wire.TaskList{}); return err },
			wire.CapApprovalResolved: func() error { _, err := c.PendingApprovals(ctx); return err },
			wire.CapTerminalCreate:   func() error { _, err := c.OpenTerminal(ctx, &wire.TerminalCreate{}); return err },
			wire.CapRefresh:          func() error { _, err := c.Refresh(ctx, nil); return err },
			wire.CapTakeover: func() error {
				_, err := c.Submit(ctx, &wire.TaskSubmit{Goal: "g", Options: &wire.TaskOptions{OnRestart: wire.OnRestartContinue}})
				return err
			},
		} {
			if e, ok := errors.AsType[*client.UnsupportedError](call()); !ok || e.Capability != name {
				t.Errorf("%s: %v; want ok, e.Capability to be %v", name, e, name)
			}
		}
		if c.Has(wire.CapResume) || !c.Has(wire.CapTerminal) || c.Welcome().DaemonVersion != "1.2.0" || c.Session().SessionID != "s1" {
			t.Error(c.Welcome(), c.Session())
		}
	})
}

func TestBaseServerTellsErrorsApartByTask(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) {
		c.hello()
		s, _ := expect[*wire.TaskSubmit](c)
		c.push(c.started(s.IdempotencyKey))
		// A failure of the first task while the second submit waits.
		second, _ := expect[*wire.TaskSubmit](c)
		c.push(
			&wire.TaskError{TaskRef: c.ref(0), Error: wire.ErrorInfo{Type: wire.CodeInternalError, Message: "boom"}},
			&wire.TaskError{TaskRef: wire.TaskRef{TaskID: "t9"}, Error: wire.ErrorInfo{Type: wire.CodeAlreadyRunning, Message: second.IdempotencyKey}},
		)
		stop, _ := expect[*wire.TaskStop](c)
		c.push(&wire.TaskError{TaskRef: wire.TaskRef{TaskID: stop.TaskID}, Error: wire.ErrorInfo{Type: wire.CodeTaskNotFound}})
		expect[*wire.TaskSubmit](c)
		c.push(&wire.ConnectionError{Code: wire.CodeRateLimited, Message: "slow down", RetryAfterMS: 1500})
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		_, err := c.Submit(t.Context(), &wire.TaskSubmit{Goal: "g", IdempotencyKey: "k2"})
		e, ok := errors.AsType[*client.Error](err)
		if !ok || !errors.Is(err, client.ErrAlreadyRunning) || e.TaskID != "t9" || e.Message != "k2" {
			t.Errorf("%v; want ok, client.ErrAlreadyRunning, e.TaskID to be \"t9\", e.Message to be \"k2\"", err)
		}
		if _, err := task.Wait(t.Context()); !errors.Is(err, client.ErrInternal) {
			t.Errorf("%v; want client.ErrInternal", err)
		}
		if err := c.Stop(t.Context(), "t7", ""); !errors.Is(err, client.ErrTaskNotFound) {
			t.Errorf("%v; want client.ErrTaskNotFound", err)
		}
		_, err = c.Submit(t.Context(), &wire.TaskSubmit{Goal: "g"})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != wire.CodeRateLimited || e.RetryAfter.Milliseconds() != 1500 {
			t.Errorf("%v; want ok, e.Code to be %v, e.RetryAfter.Milliseconds() to be 1500", err, wire.CodeRateLimited)
		}
	})
}

func TestBaseServerStops(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) {
		c.hello()
		s, _ := expect[*wire.TaskSubmit](c)
		c.push(c.started(s.IdempotencyKey))
		expect[*wire.TaskStop](c)
		c.push(&wire.TaskStopped{TaskRef: c.ref(0), PartialResult: &wire.PartialResult{Text: "so far"}})
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		if err := task.Stop(t.Context(), "enough"); err != nil {
			t.Error(err)
		}
		_, err := task.Wait(t.Context())
		if e, ok := errors.AsType[*client.StoppedError](err); !ok || e.PartialResult.Text != "so far" {
			t.Errorf("%v; want ok, e.PartialResult.Text to be \"so far\"", err)
		}
	})
}

func TestBaseServerShowsATerminal(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) {
		c.hello()
		expect[*wire.TerminalList](c)
		c.push(&wire.TerminalListResponse{Terminals: []wire.Terminal{{ID: "x1", Name: "sh"}}})
		expect[*wire.TerminalAttach](c)
		c.push(&wire.TerminalOutput{TerminalID: "x1", Data: "$ "})
		if in, _ := expect[*wire.TerminalInput](c); in.Data != "ls\r" {
			c.t.Errorf("%+v", in)
		}
		expect[*wire.TerminalResize](c)
		c.push(&wire.TerminalOutput{TerminalID: "x1", Data: "a b"})
		expect[*wire.TerminalDetach](c)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		list, err := c.Terminals(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		term, err := c.Attach(t.Context(), list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(term.Input(t.Context(), "ls\r"), term.Resize(t.Context(), 40, 120)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := term.Detach(t.Context()); err != nil {
			t.Error(err)
		}
		var out string
		for m, err := range term.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			out += m.Body.(*wire.TerminalOutput).Data
		}
		if out != "$ a b" {
			t.Errorf("%q; want out to be \"$ a b\"", out)
		}
	})
}

func TestBaseServerThatIsLostLosesItsStreams(t *testing.T) {
	b := &board{base: true, handle: func(c *conn) {
		c.hello()
		if c.n == 1 {
			s, _ := expect[*wire.TaskSubmit](c)
			c.push(c.started(s.IdempotencyKey), c.text(0, "a"))
			expect[*wire.TerminalAttach](c)
			c.cut()
			return
		}
		s, _ := expect[*wire.TaskSubmit](c)
		c.push(c.started(s.IdempotencyKey), c.completed(0, "done"))
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		term, err := c.Attach(t.Context(), "x1")
		if err != nil {
			t.Fatal(err)
		}
		events, err := collect(t, task)
		if !errors.Is(err, client.ErrConnectionLost) || len(events) != 2 {
			t.Errorf("%v, %v; want client.ErrConnectionLost, len(events) to be 2", events, err)
		}
		for _, err := range term.Events(t.Context()) {
			if !errors.Is(err, client.ErrConnectionLost) {
				t.Errorf("%v; want client.ErrConnectionLost", err)
			}
		}
		if done, err := submit(t, c).Wait(t.Context()); err != nil || done.Result.Text != "done" {
			t.Errorf("%v, %v; want no error, done.Result.Text to be \"done\"", done, err)
		}
	})
}
