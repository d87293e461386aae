package kenny

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	wire "parley.internal/protocol/kenny"
)

func TestWaitsGrowByTheRules(t *testing.T) {
	lost := errors.New("lost")
	code := func(c wire.CloseCode) error { return &Closed{Code: c} }
	type step struct {
		held time.Duration
		err  error
		want time.Duration
	}
	s := time.Second
	for name, steps := range map[string][]step{
		"doubling to a minute": {{0, lost, s}, {0, lost, 2 * s}, {0, lost, 4 * s}, {0, lost, 8 * s}, {0, lost, 16 * s}, {0, lost, 32 * s}, {0, lost, 60 * s}, {0, lost, 60 * s}},
		"reset after a stable session, however it ended": {
			{0, lost, s}, {0, lost, 2 * s}, {59 * s, lost, 4 * s}, {60 * s, lost, s}, {0, lost, 2 * s}, {time.Hour, code(wire.CloseUnauthorized), s},
		},
		"refused: up to five minutes": {
			{0, code(4401), s},
			{0, code(4401), 2 * s},
			{0, code(4401), 4 * s},
			{0, code(4401), 8 * s},
			{0, code(4401), 16 * s},
			{0, code(4401), 32 * s},
			{0, code(4401), 64 * s},
			{0, code(4401), 128 * s},
			{0, code(4401), 256 * s},
			{0, code(4401), 300 * s},
			{0, code(4401), 300 * s},
			{0, lost, 60 * s},
			{0, lost, 60 * s},
		},
		"replaced: at least a minute": {{0, code(4409), 60 * s}, {time.Hour, code(4409), 60 * s}, {0, lost, 2 * s}},
		"hub restarts":                {{0, lost, s}, {0, code(1012), 15 * s}, {0, lost, 2 * s}},
		"hub asks to wait":            {{0, &DialError{Status: 429, RetryAfter: 40 * s}, 40 * s}, {0, &DialError{Status: 503}, 2 * s}},
	} {
		b := &backoff{random: func() float64 { return 1 }}
		for i, st := range steps {
			if got := b.next(st.held, st.err); got != st.want {
				t.Errorf("%s, step %d: %v, want %v", name, i+1, got, st.want)
			}
		}
	}
}

func TestWaitsAreRandomWithinHalfAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 0.999999).Draw(t, "chance")
		b := &backoff{random: func() float64 { return x }}
		base := firstWait
		for range 10 {
			w := b.next(0, errors.New("lost"))
			if w < base/2 || w > base {
				t.Fatalf("%v for a base of %v", w, base)
			}
			base = min(base*2, waitCap)
		}
		if w := b.next(0, &Closed{Code: wire.CloseRestart}); w < 0 || w >= restartSpread {
			t.Fatalf("restart after %v", w)
		}
	})
}

func TestReplacedMachineWaitsAndSaysWhy(t *testing.T) {
	log := &records{}
	cfg := config(tools{})
	cfg.Log = log.logger()
	bubble(t, func() Config { return cfg }, func(t *testing.T, c *Client, hub *fakeHub) {
		hub.open(t).hangUp(wire.CloseReplaced)
		began := time.Now()
		<-hub.dials
		if time.Since(began) != 60*time.Second {
			t.Errorf("back after %v", time.Since(began))
		}
	})
	if s := log.String(); !strings.Contains(s, "level=ERROR") || !strings.Contains(s, "another endpoint") {
		t.Errorf("s is %v; want \"level=ERROR\" in it, \"another endpoint\" in it", s)
	}
}

func TestRefusedAfterAuthDoesNotCountAsASession(t *testing.T) {
	connects := 0
	cfg := config(tools{})
	cfg.OnConnect = func() { connects++ }
	bubble(t, func() Config { return cfg }, func(t *testing.T, c *Client, hub *fakeHub) {
		var waits []time.Duration
		for range 3 {
			conn := <-hub.dials
			conn.welcome(t)
			conn.hangUp(wire.CloseUnauthorized)
			began := time.Now()
			next := <-hub.dials
			waits = append(waits, time.Since(began))
			next.end(errors.New("cut"))
		}
		if connects != 0 || waits[0] != 500*time.Millisecond || waits[1] <= waits[0] {
			t.Errorf("%d connects, waits %v", connects, waits)
		}
	})
}

func TestStoppingDuringAWaitIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := newFakeHub()
		cfg := config(tools{})
		cfg.Dial = hub.dial
		stop := start(t, newClient(t, cfg))
		(<-hub.dials).hangUp(wire.CloseReplaced)
		synctest.Wait()
		began := time.Now()
		stop()
		if time.Since(began) != 0 {
			t.Error("stopping waited")
		}
	})
}
