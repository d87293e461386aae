package bus_test

import (
	"context"
	"errors"
	"testing"

	"parley/internal/bus"
	"parley/test/natstest"
)

func TestALightHandlerRunsWhereTheMessageIsPublished(t *testing.T) {
	l := bus.NewLocal()
	defer l.Close()
	got := ""
	s, err := bus.SubscribeLight(l, "x", func(m bus.Msg) { got += string(m.Data) })
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"a", "b", "c"} {
		if err := l.Peer().Publish("x", []byte(word)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if err := l.Publish("x", []byte("d")); err != nil || got != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestALightMemberOfAQueueAnswers(t *testing.T) {
	local := bus.NewLocal()
	defer local.Close()
	for name, b := range map[string]bus.Bus{"in process": local, "nats": connect(t, natstest.Run(t).URL())} {
		t.Run(name, func(t *testing.T) {
			s, err := bus.QueueSubscribeLight(b, "x", "q", func(m bus.Msg) {
				go func() { _ = m.Respond(append([]byte("got "), m.Data...)) }() // a light handler does not use the bus itself
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			answer, err := b.Request(ctx, "x", []byte("it"))
			if err != nil || string(answer) != "got it" {
				t.Errorf("%q, %v", answer, err)
			}
			s.Close()
			if _, err := b.Request(ctx, "x", nil); !errors.Is(err, bus.ErrNoResponders) {
				t.Errorf("after it is closed: %v", err)
			}
		})
	}
}
