package viber_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	client "parley.internal/client/viber"
	wire "parley.internal/protocol/viber"
)

func TestOneRunWithAnApproval(t *testing.T) {
	b := &board{handle: func(c *conn) {
		if auth := c.hello(); auth.ProtocolVersion != "1" || auth.Client.Name != "parley-go" {
			c.t.Errorf("%+v", auth)
		}
		s, m := expect[*wire.TaskSubmit](c)
		c.send(c.started(s.IdempotencyKey), m.ID)
		c.push(c.text(2, "a"), c.asks(3, "a1"))
		r, m := expect[*wire.ApprovalResponse](c)
		if r.Yes() || r.Reason != "not now" {
			c.t.Errorf("%+v", r)
		}
		c.send(&wire.ApprovalResolved{TaskRef: c.ref(4), ApprovalID: "a1", Outcome: wire.Rejected}, m.ID)
		_, m = expect[*wire.TaskMessage](c)
		c.send(&wire.TaskMessageAck{TaskID: "t1", MessageID: "m1", Disposition: wire.Queued, Position: 1}, m.ID)
		c.push(c.completed(5, "a"))
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		feed := make(chan client.ApprovalEvent)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for e := range c.Approvals(ctx) {
				select {
				case feed <- e:
				case <-ctx.Done():
					return
				}
			}
		})
		if e := <-feed; e.Required == nil || e.Required.ApprovalID != "a1" {
			t.Errorf("%+v; want e.Required not to be nil, e.Required.ApprovalID to be \"a1\"", e)
		}
		if resolved, err := c.Reject(t.Context(), "a1", "not now"); err != nil || resolved.Outcome != wire.Rejected {
			t.Errorf("%v, %v; want no error, resolved.Outcome to be %v", resolved, err, wire.Rejected)
		}
		if e := <-feed; e.Resolved == nil || e.Resolved.Outcome != wire.Rejected {
			t.Errorf("%+v; want e.Resolved not to be nil, e.Resolved.Outcome to be %v", e, wire.Rejected)
		}
		if ack, err := task.Message(t.Context(), "more", ""); err != nil || ack.Position != 1 {
			t.Errorf("%v, %v; want no error, ack.Position to be 1", ack, err)
		}
		events, err := collect(t, task)
		want := []string{"task:started", "a", "approval:required", "approval:resolved", "task:completed"}
		if diff := cmp.Diff(want, events); diff != "" || err != nil {
			t.Error(diff, err)
		}
		cancel()
		wg.Wait()
	})
}

func TestAnswersFindTheirRequestsInAnyOrder(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		var waiting []*wire.Message
		for range 3 {
			waiting = append(waiting, c.recv())
		}
		for _, m := range slices.Backward(waiting) {
			status := m.Body.(*wire.TaskList).Status
			if status == wire.TaskPaused {
				c.send(wire.NewInsufficientScope(wire.ScopeTaskRead, nil), m.ID)
				continue
			}
			c.send(&wire.TaskListResponse{NextCursor: string(status)}, m.ID)
		}
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		var wg sync.WaitGroup
		for _, status := range []wire.TaskStatus{wire.TaskRunning, wire.TaskDone, wire.TaskPaused} {
			wg.Go(func() {
				list, err := c.Tasks(t.Context(), wire.TaskList{Status: status})
				if status == wire.TaskPaused {
					if e, ok := errors.AsType[*client.Error](err); !ok || e.Reason != wire.ReasonInsufficientScope || e.Details.Required[0] != "task:read" {
						t.Errorf("%v; want ok, e.Reason to be %v, e.Details.Required[0] to be \"task:read\"", err, wire.ReasonInsufficientScope)
					}
					return
				}
				if err != nil || list.NextCursor != string(status) {
					t.Errorf("%s: %v, %v", status, list, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestResumeGoesOnAfterTheLastEvent(t *testing.T) {
	var after []int64
	b := &board{handle: func(c *conn) {
		c.hello()
		if c.n == 1 {
			s, m := expect[*wire.TaskSubmit](c)
			c.send(c.started(s.IdempotencyKey), m.ID)
			c.push(c.text(2, "a"), c.text(3, "b"))
			c.cut()
			return
		}
		// Life-cycle frames may come before the resume; they are out of turn.
		c.push(c.completed(5, "abc"))
		r, m := expect[*wire.TaskResume](c)
		after = append(after, r.AfterSeq)
		c.send(&wire.TaskSnapshot{TaskID: "t1", Status: wire.TaskDone, LastSeq: 5, OldestSeq: 1, Text: "abc"}, m.ID)
		c.push(c.text(3, "b"), c.text(4, "c"), c.completed(5, "abc"))
		c.bye()
	}}
	var changes []error
	opts := client.Options{OnChange: func(why error) { changes = append(changes, why) }}
	with(t, b, opts, func(t *testing.T, c *client.Client) {
		events, err := collect(t, submit(t, c))
		if diff := cmp.Diff([]string{"task:started", "a", "b", "c", "task:completed"}, events); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
	if diff := cmp.Diff([]int64{3}, after); diff != "" {
		t.Error(diff)
	}
	if len(changes) < 3 || changes[0] != nil || !errors.Is(changes[1], client.ErrConnectionLost) || changes[2] != nil {
		t.Errorf("%v; want len(changes) to be at least 3, changes[0] to be nil, client.ErrConnectionLost, changes[2] to be nil", changes)
	}
}

func TestGapIsShownAndFinishedTasksEnd(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		_, m := expect[*wire.TaskResume](c)
		c.send(&wire.TaskSnapshot{TaskID: "t1", Status: wire.TaskRunning, LastSeq: 9, OldestSeq: 9, Text: "so far", Gap: true}, m.ID)
		_, m = expect[*wire.TaskList](c)
		c.send(&wire.TaskListResponse{}, m.ID)
		c.push(c.completed(10, "so far"))
		_, m = expect[*wire.TaskResume](c)
		c.send(&wire.TaskSnapshot{TaskID: "t1", Status: wire.TaskDone, LastSeq: 10, Text: "so far"}, m.ID)
		_, m = expect[*wire.TaskResume](c)
		c.send(wire.NewTaskNotFound("t2"), m.ID)
		_, m = expect[*wire.TaskResume](c)
		c.send(wire.NewError(wire.CodeProtocolError, wire.ReasonBadCursor, "no"), m.ID)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task, err := c.Follow(t.Context(), "t1", 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Follow(t.Context(), "t1", 2); !errors.Is(err, client.ErrFollowed) {
			t.Error(err)
		}
		if _, err := c.Tasks(t.Context(), wire.TaskList{}); err != nil {
			t.Error(err)
		}
		if events, err := collect(t, task); err != nil || !cmp.Equal(events, []string{"gap:so far", "task:completed"}) || task.Snapshot().LastSeq != 9 {
			t.Errorf("%v, %v; want no error, cmp.Equal(events, []string{\"gap:so far\", \"task:completed\"}), task.Snapshot().LastSeq to be 9", events, err)
		}
		task, err = c.Follow(t.Context(), "t1", 10)
		if err != nil {
			t.Fatal(err)
		}
		if events, err := collect(t, task); len(events) != 0 || err != nil {
			t.Errorf("%v, %v; want no error, len(events) to be 0", events, err)
		}
		if _, err := c.Follow(t.Context(), "t2", 0); !errors.Is(err, client.ErrTaskNotFound) {
			t.Error(err)
		}
		if _, err := c.Follow(t.Context(), "t3", 99); !errors.Is(err, client.ErrProtocol) {
			t.Error(err)
		}
	})
}

func TestSubmitIsTriedAgainAndFindsItsTask(t *testing.T) {
	var keys []string
	b := &board{handle: func(c *conn) {
		c.hello()
		s, m := expect[*wire.TaskSubmit](c)
		keys = append(keys, s.IdempotencyKey)
		if c.n == 1 {
			c.cut() // it has started the task, and nobody heard
			return
		}
		c.send(wire.NewAlreadyRunning("t1", s.IdempotencyKey), m.ID)
		_, m = expect[*wire.TaskResume](c)
		c.send(&wire.TaskSnapshot{TaskID: "t1", Status: wire.TaskRunning, LastSeq: 1, OldestSeq: 1}, m.ID)
		c.push(c.started(s.IdempotencyKey), c.completed(2, "done"))
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		if done, err := submit(t, c).Wait(t.Context()); err != nil || done.Result.Text != "done" {
			t.Errorf("%v, %v; want no error, done.Result.Text to be \"done\"", done, err)
		}
	})
	if len(keys) != 2 || keys[0] != keys[1] {
		t.Error(keys)
	}
}

func TestPausesGrowFromOneSecondToThirty(t *testing.T) {
	b := &board{handle: func(c *conn) {
		if c.n < 9 {
			c.hello()
			c.cut()
			return
		}
		c.hello()
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		for len(b.times()) < 9 {
			<-time.After(time.Second)
		}
		times := b.times()
		base := time.Second
		for i := 1; i < 9; i++ {
			pause := times[i].Sub(times[i-1])
			if pause < base/2 || pause > base {
				t.Errorf("pause %d is %v, of %v", i, pause, base)
			}
			base = min(2*base, 30*time.Second)
		}
		synctest.Wait()
	})
}

func TestRefusedClientsDoNotComeBack(t *testing.T) {
	for name, code := range map[string]wire.CloseCode{"auth": wire.CloseAuth, "protocol": wire.CloseProtocol, "replaced": wire.CloseReplaced, "refused": wire.CloseRefused} {
		t.Run(name, func(t *testing.T) {
			b := &board{handle: func(c *conn) {
				c.hello()
				c.push(wire.NewError(wire.CodeInvalidToken, wire.ReasonRevoked, "gone"))
				c.hangUp(code)
			}}
			with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
				<-c.Done()
				closed, ok := errors.AsType[*client.CloseError](c.Err())
				if !ok || closed.Code != code || !errors.Is(c.Err(), client.ErrInvalidToken) {
					t.Errorf("%v; want ok, closed.Code to be %v, client.ErrInvalidToken", c.Err(), code)
				}
				if _, err := c.Tasks(t.Context(), wire.TaskList{}); !errors.Is(err, client.ErrInvalidToken) {
					t.Errorf("%v; want client.ErrInvalidToken", err)
				}
				for _, err := range c.Approvals(t.Context()) {
					if !errors.Is(err, client.ErrInvalidToken) {
						t.Errorf("%v; want client.ErrInvalidToken", err)
					}
				}
			})
			if n := len(b.times()); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

func TestExpiredSessionsComeBack(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		if c.n == 1 {
			c.push(wire.NewError(wire.CodeInvalidToken, wire.ReasonSessionExpired, "a day is over"))
			c.hangUp(wire.CloseAuth)
			return
		}
		_, m := expect[*wire.TaskList](c)
		c.send(&wire.TaskListResponse{}, m.ID)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		synctest.Wait()
		if _, err := c.Tasks(t.Context(), wire.TaskList{}); err != nil {
			t.Error(err)
		}
	})
}

func TestLeavingServersAreWaitedFor(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		if c.n == 1 {
			c.push(&wire.Close{Reason: wire.GoodbyeShutdown})
			if m := c.recv(); m != nil {
				c.t.Errorf("%s after a close", m.Type)
			}
			return
		}
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		<-time.After(2 * time.Second)
		if n := len(b.times()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

func dialError(t *testing.T, handle func(*conn), opts client.Options) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &board{t: t, handle: handle}
		opts.HTTPClient = b.start()
		var c *client.Client
		if c, err = client.Dial(t.Context(), "ws://board/ws", opts); err == nil {
			c.Close()
		}
		opts.HTTPClient.CloseIdleConnections()
		b.stop()
	})
	return err
}

func TestDialSaysWhyItWasRefused(t *testing.T) {
	welcome := func(c *conn, version string) {
		c.push(&wire.Welcome{ProtocolVersion: version, Challenge: "n"})
	}
	err := dialError(t, func(c *conn) {
		welcome(c, "1")
		_, m := expect[*wire.Auth](c)
		c.send(wire.NewError(wire.CodeAuthFailed, wire.ReasonUnknownToken, "who?"), m.ID)
		c.hangUp(wire.CloseAuth)
	}, client.Options{})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Reason != wire.ReasonUnknownToken || !errors.Is(err, client.ErrAuthFailed) {
		t.Errorf("%v; want ok, e.Reason to be %v, client.ErrAuthFailed", err, wire.ReasonUnknownToken)
	}
	err = dialError(t, func(c *conn) { welcome(c, "2"); c.recv() }, client.Options{})
	if !errors.Is(err, client.ErrVersion) {
		t.Errorf("%v; want client.ErrVersion", err)
	}
	err = dialError(t, func(c *conn) { c.push(&wire.Goodbye{}); c.recv() }, client.Options{})
	if !errors.Is(err, client.ErrHandshake) {
		t.Errorf("%v; want client.ErrHandshake", err)
	}
	err = dialError(t, func(c *conn) { c.cut() }, client.Options{})
	if !errors.Is(err, client.ErrConnectionLost) {
		t.Errorf("%v; want client.ErrConnectionLost", err)
	}
	if _, err := client.Dial(t.Context(), "http://[", client.Options{}); err == nil {
		t.Error("a bad address is dialled")
	}
}

func TestRateLimitedClientsWaitAsLongAsTold(t *testing.T) {
	b := &board{handle: func(c *conn) {
		switch c.n {
		case 1:
			c.hello()
			c.cut()
		case 2:
			c.push(wire.NewRateLimited("", "locked", 40*time.Second))
			c.hangUp(wire.CloseRate)
		default:
			c.hello()
			c.bye()
		}
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		<-time.After(time.Minute)
		if times := b.times(); len(times) != 3 || times[2].Sub(times[1]) != 40*time.Second {
			t.Errorf("%v", times)
		}
	})
}

func TestChallengeIsSigned(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(c *conn, a *wire.Auth, nonce string) {
		public, err := wire.ParsePublicKey(a.PublicKey)
		if err != nil {
			c.t.Error(err)
		}
		if err := a.Challenge(nonce).Verify(public, a.ChallengeResponse); err != nil {
			c.t.Error(err)
		}
	}
	var tokens []string
	b := &board{handle: func(c *conn) {
		c.push(&wire.Welcome{ProtocolVersion: "1", Challenge: "n", Capabilities: wire.Capabilities()})
		a, m := expect[*wire.Auth](c)
		check(c, a, "n")
		tokens = append(tokens, a.Token)
		grant := &wire.Authenticated{SessionID: "s1", GrantedScopes: []string{"task:read"}}
		if c.n == 1 {
			grant.DeviceToken = "prl_device"
		}
		c.send(grant, m.ID)
		if c.n == 1 {
			r, m := expect[*wire.Refresh](c)
			check(c, &r.Auth, "s1")
			if !cmp.Equal(r.Scopes, []string{"task:read"}) {
				c.t.Error(r.Scopes)
			}
			c.send(&wire.Authenticated{SessionID: "s1", Principal: "ann"}, m.ID)
			c.cut()
			return
		}
		if c.n == 2 {
			_, m := expect[*wire.TokenRotate](c)
			c.send(&wire.TokenRotated{Token: "prl_new", TokenID: "tok"}, m.ID)
			c.cut()
			return
		}
		c.bye()
	}}
	with(t, b, client.Options{Token: "prl_pairing", Key: key}, func(t *testing.T, c *client.Client) {
		if c.Session().DeviceToken != "prl_device" {
			t.Errorf("%+v; want c.Session().DeviceToken to be \"prl_device\"", c.Session())
		}
		if s, err := c.Refresh(t.Context(), []string{"task:read"}); err != nil || s.Principal != "ann" {
			t.Errorf("%v, %v; want no error, s.Principal to be \"ann\"", s, err)
		}
		synctest.Wait() // until the cut is noticed
		if r, err := c.RotateToken(t.Context(), ""); err != nil || r.Token != "prl_new" {
			t.Errorf("%v, %v; want no error, r.Token to be \"prl_new\"", r, err)
		}
		<-time.After(5 * time.Second)
	})
	if diff := cmp.Diff([]string{"prl_pairing", "prl_device", "prl_new"}, tokens); diff != "" {
		t.Error(diff)
	}
}

func TestQuestionsResolvedMeanwhileAreNoticed(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		c.push(c.asks(3, "a1"))
		if c.n == 1 {
			c.push(c.asks(4, "a2"))
			<-time.After(time.Second)
			c.cut()
			return
		}
		_, m := expect[*wire.ApprovalList](c)
		c.send(&wire.ApprovalListResponse{Approvals: []wire.ApprovalRequired{*c.asks(3, "a1"), *c.asks(5, "a3")}}, m.ID)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var seen []string
		for e, err := range c.Approvals(ctx) {
			switch {
			case err != nil:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			case e.Required != nil:
				seen = append(seen, "+"+e.Required.ApprovalID)
			default:
				seen = append(seen, "-"+e.Resolved.ApprovalID+string(e.Resolved.Outcome))
			}
		}
		if diff := cmp.Diff([]string{"+a1", "+a2", "+a3", "-a2"}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTerminalIsAttachedAgain(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		if c.n == 1 {
			_, m := expect[*wire.TerminalCreate](c)
			c.send(&wire.TerminalCreated{Terminal: wire.Terminal{ID: "x1"}}, m.ID)
		}
		_, m := expect[*wire.TerminalAttach](c)
		c.send(&wire.TerminalAttached{TerminalID: "x1"}, m.ID)
		c.push(&wire.TerminalOutput{TerminalID: "x1", Data: "one", Offset: 3, Replay: true})
		if c.n == 1 {
			c.cut()
			return
		}
		r, m := expect[*wire.TerminalResize](c)
		c.send(wire.NewTerminalError("x1", wire.TerminalBadSize, ""), m.ID)
		if r.Rows != 0 {
			c.t.Errorf("%+v", r)
		}
		var typed int
		for typed < 3*wire.MaxTerminalInput {
			in, _ := expect[*wire.TerminalInput](c)
			if in == nil || len(in.Data) > wire.MaxTerminalInput {
				c.t.Error("input too large")
				return
			}
			typed += len(in.Data)
		}
		_, m = expect[*wire.TerminalClose](c)
		c.push(&wire.TerminalOutput{TerminalID: "x1", Data: "two", Offset: 6})
		c.send(&wire.TerminalExit{TerminalID: "x1", ExitCode: 3}, m.ID)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		opened, err := c.OpenTerminal(t.Context(), &wire.TerminalCreate{})
		if err != nil {
			t.Fatal(err)
		}
		term, err := c.Attach(t.Context(), opened.ID)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second) // it is back by then
		if e, ok := errors.AsType[*client.TerminalError](term.Resize(t.Context(), 0, 80)); !ok || e.Code != wire.TerminalBadSize {
			t.Errorf("%v; want ok, e.Code to be %v", e, wire.TerminalBadSize)
		}
		if err := term.Input(t.Context(), strings.Repeat("é", 3*wire.MaxTerminalInput/2)); err != nil {
			t.Error(err)
		}
		if exit, err := c.CloseTerminal(t.Context(), term.ID()); err != nil || exit.ExitCode != 3 {
			t.Errorf("%v, %v; want no error, exit.ExitCode to be 3", exit, err)
		}
		var seen []string
		for m, err := range term.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := m.Body.(*wire.TerminalOutput); ok {
				seen = append(seen, o.Data)
				continue
			}
			seen = append(seen, string(m.Type))
		}
		want := []string{"terminal:attached", "one", "terminal:attached", "one", "terminal:error", "two", "terminal:exit"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnknownTerminalIsRefused(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		_, m := expect[*wire.TerminalAttach](c)
		c.send(wire.NewTerminalError("x9", wire.TerminalNotFound, ""), m.ID)
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		_, err := c.Attach(t.Context(), "x9")
		if e, ok := errors.AsType[*client.TerminalError](err); !ok || e.Code != wire.TerminalNotFound || e.TerminalID != "x9" {
			t.Errorf("%v; want ok, e.Code to be %v, e.TerminalID to be \"x9\"", err, wire.TerminalNotFound)
		}
	})
}

func TestSlowConsumersLoseOnlyTheirOwnStream(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		s, m := expect[*wire.TaskSubmit](c)
		c.send(c.started(s.IdempotencyKey), m.ID)
		for i := range 100 {
			c.push(c.text(int64(i+2), strings.Repeat("x", 1000)))
		}
		if u, _ := expect[*wire.TaskUnsubscribe](c); u.TaskID != "t1" {
			c.t.Errorf("%+v", u)
		}
		_, m = expect[*wire.TaskList](c)
		c.send(&wire.TaskListResponse{}, m.ID)
		c.bye()
	}}
	with(t, b, client.Options{MaxBuffered: 20_000}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		synctest.Wait()
		if _, err := c.Tasks(t.Context(), wire.TaskList{}); err != nil {
			t.Error(err)
		}
		events, err := collect(t, task)
		if !errors.Is(err, client.ErrLagged) || len(events) < 5 || len(events) > 20 {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}

func TestClosingATaskUnsubscribes(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		s, m := expect[*wire.TaskSubmit](c)
		c.send(c.started(s.IdempotencyKey), m.ID)
		if u, m := expect[*wire.TaskUnsubscribe](c); u.TaskID == "t1" {
			c.send(&wire.TaskSnapshot{TaskID: "t1", Status: wire.TaskRunning}, m.ID)
		}
		c.bye()
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		task := submit(t, c)
		task.Close()
		if _, err := collect(t, task); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// mutedConn swallows what is written once it is muted, like a network that is gone.
type mutedConn struct {
	net.Conn
	muted *atomic.Bool
}

func (c mutedConn) Write(p []byte) (int, error) {
	if c.muted.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestSilentServersAreGivenUp(t *testing.T) {
	var muted atomic.Bool
	var lost error
	b := &board{
		wrap:   func(c net.Conn) net.Conn { return mutedConn{c, &muted} },
		handle: func(c *conn) { c.hello(); c.bye() },
	}
	opts := client.Options{OnChange: func(why error) {
		if why != nil && lost == nil {
			lost = why
			muted.Store(false)
		}
	}}
	with(t, b, opts, func(t *testing.T, _ *client.Client) {
		muted.Store(true)
		<-time.After(2 * time.Minute)
		if n := len(b.times()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
	if !errors.Is(lost, client.ErrSilent) || !errors.Is(lost, client.ErrConnectionLost) {
		t.Errorf("lost is %v; want client.ErrSilent, client.ErrConnectionLost", lost)
	}
}

func TestHeartbeatsKeepTheConnection(t *testing.T) {
	b := &board{handle: func(c *conn) { c.hello(); c.bye() }}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		<-time.After(time.Hour)
		if n := len(b.times()); n != 1 {
			t.Errorf("%d connections", n)
		}
		if _, err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestServersMayPing(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		c.push(&wire.Ping{}, wire.NewHealthPing(time.Now()))
		seen := map[wire.Type]bool{}
		for range 2 {
			if m := c.recv(); m != nil {
				seen[m.Type] = true
			}
		}
		if !seen[wire.TypePong] || !seen[wire.TypeHealthPong] {
			c.t.Errorf("%v", seen)
		}
		c.bye()
	}}
	with(t, b, client.Options{}, func(*testing.T, *client.Client) { synctest.Wait() })
}

func TestRequestsEndWithTheirContextOrTheClient(t *testing.T) {
	b := &board{handle: func(c *conn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
		}
	}}
	with(t, b, client.Options{}, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Tasks(ctx, wire.TaskList{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := c.Submit(ctx, &wire.TaskSubmit{Goal: "g"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		failed := make(chan error, 1)
		go func() { _, err := c.Tasks(context.Background(), wire.TaskList{}); failed <- err }()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		if _, err := c.Tasks(t.Context(), wire.TaskList{}); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestOverARealNetwork(t *testing.T) {
	b := &board{t: t, handle: func(c *conn) {
		c.hello()
		s, m := expect[*wire.TaskSubmit](c)
		c.send(c.started(s.IdempotencyKey), m.ID)
		c.push(c.completed(2, "done"))
		c.bye()
	}}
	server := httptest.NewServer(b)
	defer server.Close()
	c, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := submit(t, c).Wait(t.Context()); err != nil || done.Result.Text != "done" {
		t.Errorf("%v, %v; want no error, done.Result.Text to be \"done\"", done, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
