package agentfirst_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func text(t *testing.T, c *client.Client, turn *wire.Turn) string {
	var out strings.Builder
	for e, err := range c.Stream(t.Context(), turn) {
		if err != nil {
			t.Errorf("stream: %v", err)
		}
		out.WriteString(e.GetChunk().GetContent())
	}
	return out.String()
}

func TestStreamsShareOneConnectionWithoutMixing(t *testing.T) {
	const runs = 8
	streaming := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		var turns []*wire.ClientMessage
		for range runs {
			turns = append(turns, c.recv())
		}
		close(streaming)
		for i := range 20 { // a word of each in turn
			for _, m := range turns {
				c.event(m, chunk(fmt.Sprintf("%s%d ", m.GetStream().GetContent(), i)))
			}
		}
		c.send(c.recv(), pong()) // in the middle of all runs
		for _, m := range slices.Backward(turns) {
			c.event(m, end("a", ""))
		}
		c.recv()
	}}
	c := dialFake(t, s, client.Options{})
	var wg sync.WaitGroup
	for r := range runs {
		wg.Go(func() {
			name := string(rune('a' + r))
			var want strings.Builder
			for i := range 20 {
				fmt.Fprintf(&want, "%s%d ", name, i)
			}
			if got := text(t, c, &wire.Turn{Agent: "a", Content: name}); got != want.String() {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
	<-streaming
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if s.count() != 1 {
		t.Errorf("%d connections", s.count())
	}
}

func TestAPlainServerGetsOneRequestAtATimePerConnection(t *testing.T) {
	replied := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		if c.n == 1 {
			c.refuseHello()
		}
		for m := c.recv(); m != nil; m = c.recv() {
			switch {
			case m.GetStream() != nil:
				c.event(m, start("a", ""))
				c.event(m, &wire.StreamEvent{Event: &wire.StreamEvent_AskUser{AskUser: &wire.AskUser{}}})
				<-replied // the answer cannot come over this connection
				c.event(m, chunk("thanks"))
				c.event(m, end("a", ""))
			case m.GetReplyToAsk() != nil:
				c.send(m, pong())
				close(replied)
			default:
				c.send(m, pong())
			}
		}
	}}
	c := dialFake(t, s, client.Options{})
	var got string
	for e, err := range c.Stream(t.Context(), &wire.Turn{Agent: "a", Content: "hi"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.GetAskUser() != nil {
			if err := c.ReplyToAsk(t.Context(), &wire.ReplyToAsk{Agent: "a", Content: "yes"}); err != nil {
				t.Fatal(err)
			}
		}
		got += e.GetChunk().GetContent()
	}
	if got != "thanks" || s.count() != 2 {
		t.Errorf("%q over %d connections", got, s.count())
	}
	// Both connections are free again and kept.
	if err := c.Ping(t.Context()); err != nil || s.count() != 2 {
		t.Error(err, s.count())
	}
}

func TestLeavingAPlainStreamClosesOnlyItsConnection(t *testing.T) {
	gone := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		if c.n == 1 {
			c.refuseHello()
			m := c.recv()
			c.event(m, start("a", ""))
			c.recv()
			close(gone)
			return
		}
		for m := c.recv(); m != nil; m = c.recv() {
			c.send(m, pong())
		}
	}}
	c := dialFake(t, s, client.Options{})
	for range c.Stream(t.Context(), &wire.Turn{Agent: "a"}) {
		break
	}
	<-gone
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// leaving is a server that streams until it is told to cancel, and reports what
// it was told. It passes hold twice, if there is one: with the turn, and before
// its first event.
func leaving(first *wire.StreamEvent, hold <-chan struct{}, told chan<- *wire.Cancel) func(*fakeConn) {
	return func(c *fakeConn) {
		c.hello()
		turn := c.recv()
		if hold != nil {
			<-hold
			<-hold
		}
		c.event(turn, first)
		for m := c.recv(); m != nil; m = c.recv() {
			c.send(m, pong())
			if m.GetCancel() != nil {
				told <- m.GetCancel()
				c.event(turn, end("a", "cancelled"))
			}
		}
	}
}

func TestEndingTheContextCancelsTheRunByItsID(t *testing.T) {
	queued := &wire.StreamEvent{Event: &wire.StreamEvent_Queued{Queued: &wire.Queued{Position: 1, RunId: "run-7"}}}
	for name, first := range map[string]*wire.StreamEvent{"running": start("a", "run-7"), "waiting": queued} {
		t.Run(name, func(t *testing.T) {
			told := make(chan *wire.Cancel, 1)
			c := dialFake(t, &fakeServer{handle: leaving(first, nil, told)}, client.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for e, err := range c.Stream(ctx, &wire.Turn{Agent: "a", Sender: new("ann"), Thread: "side"}) {
				if e != nil {
					cancel()
				}
				last = err
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("last is %v; want %v", last, context.Canceled)
			}
			got := <-told
			if got.GetRunId() != "run-7" || got.GetAgent() != "a" || got.GetSender() != "ann" || got.GetThread() != "side" {
				t.Errorf("cancel %v", got)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACancelWaitsUntilTheRunHasAnID(t *testing.T) {
	told := make(chan *wire.Cancel, 1)
	hold := make(chan struct{})
	c := dialFake(t, &fakeServer{handle: leaving(start("a", "run-7"), hold, told)}, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- firstError(c.Stream(ctx, &wire.Turn{Agent: "a"})) }()
	hold <- struct{}{}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	hold <- struct{}{}
	if got := <-told; got.GetRunId() != "run-7" {
		t.Errorf("cancel %v", got)
	}
}

func TestBreakingOutCancelsUnlessDetached(t *testing.T) {
	for _, detached := range []bool{false, true} {
		t.Run(fmt.Sprint("detached ", detached), func(t *testing.T) {
			told := make(chan *wire.Cancel, 1)
			c := dialFake(t, &fakeServer{handle: leaving(start("a", "r"), nil, told)}, client.Options{})
			for range c.Stream(t.Context(), &wire.Turn{Agent: "a", Detached: detached}) {
				break
			}
			if !detached {
				<-told
			}
			// Whatever was sent before the ping has arrived with its answer.
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if len(told) != 0 {
				t.Error("the run was cancelled")
			}
		})
	}
}

func TestAnEndedContextCancelsASend(t *testing.T) {
	told := make(chan *wire.Cancel, 1)
	got := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		c.recv()
		close(got)
		told <- c.recv().GetCancel()
		c.recv()
	}}
	c := dialFake(t, s, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-got
		cancel()
	}()
	if _, err := c.Send(ctx, &wire.Turn{Agent: "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m := <-told; m.GetAgent() != "a" || m.GetRunId() != "" {
		t.Errorf("cancel %v", m)
	}
}

func TestSendLooksPastTheQueue(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		m := c.recv()
		c.event(m, &wire.StreamEvent{Event: &wire.StreamEvent_Queued{Queued: &wire.Queued{Position: 1, RunId: "r"}}})
		c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_Response{Response: &wire.Response{Content: "hi"}}})
		c.recv()
	}}
	c := dialFake(t, s, client.Options{})
	if r, err := c.Send(t.Context(), &wire.Turn{Agent: "a"}); err != nil || r.GetContent() != "hi" {
		t.Error(r, err)
	}
}

func TestARefusedRunIsOneError(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
			c.send(m, wire.NewError(404, "no agent crab"))
		}
	}}
	c := dialFake(t, s, client.Options{})
	count := 0
	for e, err := range c.Stream(t.Context(), &wire.Turn{Agent: "crab"}) {
		count++
		if e != nil || !errors.Is(err, client.ErrNotFound) {
			t.Error(e, err)
		}
	}
	if count != 1 {
		t.Errorf("%d events", count)
	}
}

func TestASlowConsumerHoldsUpNobodyAndIsGivenUp(t *testing.T) {
	flooded := make(chan struct{})
	cancelled := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		turn := c.recv()
		for range 1000 {
			c.event(turn, chunk(strings.Repeat("x", 100)))
		}
		close(flooded)
		for m := c.recv(); m != nil; m = c.recv() {
			if m.GetCancel() != nil {
				close(cancelled)
			}
			c.send(m, pong())
		}
	}}
	c := dialFake(t, s, client.Options{MaxBuffered: 10_000})
	events, last := 0, error(nil)
	for _, err := range c.Stream(t.Context(), &wire.Turn{Agent: "a"}) {
		if events == 0 {
			<-flooded // not reading while the server writes it all
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		events++
		last = err
	}
	if !errors.Is(last, client.ErrLagged) || events < 2 || events > 100 {
		t.Errorf("%d events, then %v", events, last)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-cancelled:
		t.Error("the run was cancelled")
	default:
	}
}

func TestAStreamMayBeRangedOverAgain(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
			c.event(m, start("a", "r"))
			c.event(m, end("a", "boom"))
		}
	}}
	c := dialFake(t, s, client.Options{})
	stream := c.Stream(t.Context(), &wire.Turn{Agent: "a"})
	for range 2 {
		n := 0
		for e, err := range stream {
			n++
			if err != nil {
				t.Error(err)
			}
			var run *client.RunError
			if err := client.EndError(e.GetEnd()); err != nil && (!errors.As(err, &run) || run.Message != "boom") {
				t.Error(err)
			}
		}
		if n != 2 {
			t.Errorf("%d events", n)
		}
	}
}
