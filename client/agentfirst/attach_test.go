package agentfirst_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func (c *fakeConn) conversation(to *wire.ClientMessage, e *wire.ConversationEvent) {
	c.send(to, &wire.ServerMessage{Message: &wire.ServerMessage_ConversationEvent{ConversationEvent: e}})
}

func message(seq uint64, content string) *wire.ConversationEvent {
	return &wire.ConversationEvent{Seq: seq, Event: &wire.ConversationEvent_Message{Message: &wire.HistoryMessage{Seq: seq, Content: content}}}
}

func live(e *wire.StreamEvent) *wire.ConversationEvent {
	return &wire.ConversationEvent{Event: &wire.ConversationEvent_Stream{Stream: e}}
}

func caughtUp() *wire.ConversationEvent {
	return &wire.ConversationEvent{Event: &wire.ConversationEvent_CaughtUp{CaughtUp: true}}
}

func deleted() *wire.ConversationEvent {
	return &wire.ConversationEvent{Event: &wire.ConversationEvent_Deleted{Deleted: true}}
}

// describe names an event in a word.
func describe(e *wire.ConversationEvent) string {
	switch {
	case e.GetMessage() != nil:
		return e.GetMessage().GetContent()
	case e.GetCaughtUp():
		return "caught up"
	case e.GetDeleted():
		return "deleted"
	case e.GetStream().GetEnd() != nil:
		return "end"
	}
	return e.GetStream().GetChunk().GetContent()
}

func TestAttachResumesAfterTheLastMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []*wire.Attach
		downUntil := time.Time{}
		s := &fakeServer{down: func() bool { return time.Now().Before(downUntil) }}
		s.handle = func(c *fakeConn) {
			c.hello()
			m := c.recv()
			if m.GetAttach() == nil {
				return
			}
			asked = append(asked, m.GetAttach())
			switch len(asked) {
			case 1:
				c.conversation(m, message(1, "one"))
				c.conversation(m, message(2, "two"))
				c.conversation(m, caughtUp())
				c.conversation(m, live(chunk("half")))
				downUntil = time.Now().Add(time.Minute) // gone in the middle of a run
			case 2:
				c.conversation(m, message(2, "two")) // a careless server repeats itself
				c.conversation(m, message(3, "three"))
				c.conversation(m, caughtUp())
				ended := end("a", "")
				ended.GetEnd().Seq = 5
				c.conversation(m, live(ended))
			case 3:
				c.send(m, wire.NewError(503, "changing owner"))
			default:
				c.conversation(m, deleted())
			}
		}
		c := dialFake(t, s, client.Options{})
		var got []string
		for e, err := range c.Attach(t.Context(), &wire.Attach{Agent: "a", Sender: "ann", Thread: "t", History: 2}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, describe(e))
		}
		if diff := cmp.Diff([]string{"one", "two", "caught up", "half", "three", "caught up", "end", "deleted"}, got); diff != "" {
			t.Error(diff)
		}
		var after []uint64
		var history []uint32
		for _, a := range asked {
			after, history = append(after, a.GetAfterSeq()), append(history, a.GetHistory())
			if a.GetAgent() != "a" || a.GetSender() != "ann" || a.GetThread() != "t" {
				t.Errorf("attach %v", a)
			}
		}
		if !slices.Equal(after, []uint64{0, 2, 5, 5}) || !slices.Equal(history, []uint32{2, 0, 0, 0}) {
			t.Errorf("after %v, history %v", after, history)
		}
	})
}

func TestAttachPausesLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		up := true
		s := &fakeServer{handle: func(c *fakeConn) {
			c.hello()
			if m := c.recv(); m.GetAttach() != nil {
				c.conversation(m, caughtUp())
				up = false
			}
		}}
		s.down = func() bool {
			if !up {
				tries = append(tries, time.Now())
			}
			return !up
		}
		c := dialFake(t, s, client.Options{RetryMin: time.Second, RetryMax: 8 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := firstError(c.Attach(ctx, &wire.Attach{Agent: "a"})); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		for i := 1; i < len(tries); i++ {
			longest := min(8*time.Second, time.Second<<min(i, 16))
			if pause := tries[i].Sub(tries[i-1]); pause < longest/2 || pause > longest {
				t.Errorf("pause %d: %v, want up to %v", i, pause, longest)
			}
		}
		if len(tries) < 37 || len(tries) > 80 {
			t.Errorf("%d tries in five minutes", len(tries))
		}
	})
}

func TestAttachDoesNotInsistOnARefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse int // the connection that is refused
		code   wire.Code
		events int
	}{
		"at once":         {1, 503, 0},
		"after a success": {2, 403, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attached := 0
				s := &fakeServer{handle: func(c *fakeConn) {
					c.hello()
					m := c.recv()
					if m.GetAttach() == nil {
						return
					}
					if attached++; attached == tc.refuse {
						c.send(m, wire.NewError(tc.code, "no"))
						return
					}
					c.conversation(m, caughtUp())
				}}
				c := dialFake(t, s, client.Options{})
				events, last := 0, error(nil)
				for e, err := range c.Attach(t.Context(), &wire.Attach{Agent: "a"}) {
					if e != nil {
						events++
					}
					last = err
				}
				var answer *client.ServerError
				if events != tc.events || !errors.As(last, &answer) || answer.Code != tc.code {
					t.Errorf("%d events, %v", events, last)
				}
			})
		})
	}
}

func TestLeavingAnAttachmentClosesItsConnection(t *testing.T) {
	gone := make(chan struct{})
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		for m := c.recv(); m != nil; m = c.recv() {
			if m.GetAttach() == nil {
				c.send(m, pong())
				continue
			}
			c.conversation(m, caughtUp())
			c.recv()
			close(gone)
		}
	}}
	c := dialFake(t, s, client.Options{})
	for range c.Attach(t.Context(), &wire.Attach{Agent: "a"}) {
		break
	}
	<-gone
	if err := c.Ping(t.Context()); err != nil || s.count() != 2 {
		t.Error(err, s.count())
	}
}

func TestSubscribeEvents(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s := &fakeServer{handle: func(c *fakeConn) {
			switch {
			case !plain:
				c.hello()
			case c.n == 1:
				c.refuseHello()
			}
			m := c.recv()
			if m.GetSubscribeEvents().GetAgent() != "a" {
				return
			}
			for _, kind := range []wire.AgentEventKind{wire.EventTextDelta, wire.EventDone} {
				c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_AgentEvent{AgentEvent: &wire.AgentEvent{Agent: "a", Kind: kind}}})
			}
		}}
		c := dialFake(t, s, client.Options{})
		var kinds []wire.AgentEventKind
		var last error
		for e, err := range c.SubscribeEvents(t.Context(), "a", "") {
			if err == nil {
				kinds = append(kinds, e.GetKind())
			}
			last = err
		}
		if !slices.Equal(kinds, []wire.AgentEventKind{wire.EventTextDelta, wire.EventDone}) || !errors.Is(last, client.ErrConnectionLost) {
			t.Errorf("plain %v: %v, %v", plain, kinds, last)
		}
	}
}
