package kenny

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// refused plays a first answer and reports what the machine did about it.
func refused(t *testing.T, answer func(t *testing.T, register []byte) Message) (sent wire.Frame, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hub := newFakeHub()
		cfg := config(tools{})
		cfg.Dial = hub.dial
		c := newClient(t, cfg)
		result := make(chan error, 1)
		go func() {
			_, err := c.attempt(t.Context())
			result <- err
		}()
		conn := <-hub.dials
		conn.toMachine <- answer(t, <-conn.toHub)
		select {
		case data := <-conn.toHub:
			sent = decode(t, data)
			conn.hangUp(wire.CloseNormal)
			err = <-result
		case err = <-result:
		}
		<-conn.over
	})
	return sent, err
}

func TestMachineNeverSignsForAHubItCannotVerify(t *testing.T) {
	frame := func(f wire.Frame) func(*testing.T, []byte) Message {
		return func(t *testing.T, _ []byte) Message { return Message{Data: encode(t, f)} }
	}
	for name, c := range map[string]struct {
		answer func(*testing.T, []byte) Message
		want   error
	}{
		"another key": {func(t *testing.T, r []byte) Message {
			ch, _ := challengeFor(t, r, otherKey)
			return Message{Data: encode(t, ch)}
		}, ErrServerUnverified},
		"the machine's own key, reflected": {func(t *testing.T, r []byte) Message {
			ch, _ := challengeFor(t, r, machineKey)
			return Message{Data: encode(t, ch)}
		}, ErrServerUnverified},
		"a signature over another nonce": {func(t *testing.T, r []byte) Message {
			ch, _ := challengeFor(t, r, hubKey)
			ch.ServerNonce[0]++
			return Message{Data: encode(t, ch)}
		}, ErrServerUnverified},
		"zeroes":          {frame(&wire.Challenge{ServerNonce: make([]byte, 32), ServerSig: make([]byte, 64)}), ErrServerUnverified},
		"a request":       {frame(&wire.Request{ID: "1", Tool: "fs_list", Args: jsontext.Value("{}")}), ErrHandshake},
		"a policy":        {frame(&wire.Policy{}), ErrHandshake},
		"a ping":          {frame(&wire.Ping{}), ErrHandshake},
		"an unknown type": {func(*testing.T, []byte) Message { return Message{Data: []byte(`{"type":"welcome"}`)} }, ErrHandshake},
		"junk":            {func(*testing.T, []byte) Message { return Message{Data: []byte("hello")} }, ErrHandshake},
		"a short signature": {func(*testing.T, []byte) Message {
			return Message{Data: []byte(`{"type":"challenge","server_nonce":"","server_sig":""}`)}
		}, ErrHandshake},
		"binary": {func(t *testing.T, r []byte) Message {
			ch, _ := challengeFor(t, r, hubKey)
			return Message{Data: encode(t, ch), Binary: true}
		}, ErrHandshake},
		"too much": {func(*testing.T, []byte) Message { return Message{Data: make([]byte, wire.MaxUnauthenticated+1)} }, ErrHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			sent, err := refused(t, c.answer)
			if sent != nil || !errors.Is(err, c.want) {
				t.Errorf("the machine sent %v and ended with %v", sent, err)
			}
		})
	}
}

func TestSecondPinIsTrusted(t *testing.T) {
	cfg := config(tools{})
	cfg.ServerKeys = append(cfg.ServerKeys, public(otherKey))
	bubble(t, func() Config { return cfg }, func(t *testing.T, c *Client, hub *fakeHub) {
		conn := <-hub.dials
		challenge, _ := challengeFor(t, <-conn.toHub, otherKey)
		conn.say(t, challenge)
		if _, ok := conn.hear(t).(*wire.Auth); !ok {
			t.Error("no auth")
		}
	})
}

func TestNoChallengeWithinTenSecondsEndsTheAttempt(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := <-hub.dials
		<-conn.toHub
		began := time.Now()
		<-conn.over
		if time.Since(began) != wire.HandshakeWait {
			t.Errorf("after %v", time.Since(began))
		}
	})
}

func TestNoncesAreFresh(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		seen := map[string]bool{}
		for range 5 {
			conn := <-hub.dials
			r := decode(t, <-conn.toHub).(*wire.Register)
			if seen[string(r.ClientNonce)] {
				t.Error("a nonce came twice")
			}
			seen[string(r.ClientNonce)] = true
			conn.hangUp(wire.CloseNormal)
		}
	})
}
