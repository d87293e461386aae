package kenny

import (
	"errors"
	"testing"

	wire "parley.internal/protocol/kenny"
)

func TestTryTellsWhetherTheHubAcceptsTheKey(t *testing.T) {
	for _, accepted := range []bool{true, false} {
		hub := newFakeHub()
		cfg := config(tools{})
		cfg.Dial = hub.dial
		c := newClient(t, cfg)
		done := make(chan error, 1)
		go func() { done <- c.Try(t.Context()) }()
		conn := <-hub.dials
		conn.welcome(t)
		if accepted {
			conn.say(t, &wire.Policy{})
			if err := <-done; err != nil || conn.goodbye != wire.CloseGoingAway {
				t.Errorf("accepted: %v, goodbye %d", err, conn.goodbye)
			}
			continue
		}
		conn.hangUp(wire.CloseUnauthorized)
		closed, ok := errors.AsType[*Closed](<-done)
		if !ok || closed.Code != wire.CloseUnauthorized {
			t.Errorf("refused: %v", closed)
		}
	}
}
