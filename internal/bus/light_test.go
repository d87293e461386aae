package bus_test

import (
	"testing"

	"parley/internal/bus"
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
