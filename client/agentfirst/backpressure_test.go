package agentfirst_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

// slowWriter lets everybody else run until nobody can go on, and only then takes
// the next piece.
type slowWriter struct {
	sent   *int
	stalls int
	got    strings.Builder
}

func (w *slowWriter) Write(p []byte) (int, error) {
	synctest.Wait()
	if *w.sent < 50 {
		w.stalls++
	}
	return w.got.Write(p)
}

func TestASlowExportSlowsTheServerDownAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		s := &fakeServer{handle: func(c *fakeConn) {
			c.hello()
			m := c.recv()
			if m.GetExport() == nil {
				return
			}
			for sent < 50 {
				sent++
				c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_Jsonl{Jsonl: &wire.Jsonl{
					Data: []byte(strings.Repeat("x", 1000)), Last: sent == 50,
				}}})
			}
			c.recv()
		}}
		c := dialFake(t, s, client.Options{MaxBuffered: 10_000})
		w := &slowWriter{sent: &sent}
		if err := c.Export(t.Context(), "conversation:x", w); err != nil || w.got.Len() != 50_000 {
			t.Errorf("%d bytes, %v", w.got.Len(), err)
		}
		if w.stalls < 30 {
			t.Errorf("the server ran ahead: it was held up only %d times", w.stalls)
		}
	})
}

func TestAServerThatStopsReadingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := &fakeServer{handle: func(c *fakeConn) {
			c.hello()
			<-stuck
		}}
		c := dialFake(t, s, client.Options{WriteTimeout: time.Minute})
		begin := time.Now()
		if err := c.Ping(t.Context()); !errors.Is(err, client.ErrConnectionLost) || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		close(stuck)
	})
}
