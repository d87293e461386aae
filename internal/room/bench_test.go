package room_test

import (
	"context"
	"testing"

	"parley.internal/internal/room"
)

// mute is a link that takes frames as a socket does, and no more.
type mute struct{}

func (mute) Send(o *room.Out) {
	o.Wire(func(data []byte) any { return append([]byte{0x81, 126, 0, 0}, data...) })
}
func (mute) Close(int, string) {}
func (mute) Admitted()         {}

// BenchmarkAMessageThatFourHear is what a room costs beside its sockets.
func BenchmarkAMessageThatFourHear(b *testing.B) {
	h := alone(b)
	id := h.open("lively", obj{"humans": obj{"mode": "open"}})
	var speaker room.Connection
	for range 5 {
		v, err := h.Enter(context.Background(), room.Entry{Room: id, Link: mute{}, Origin: origin})
		if err != nil {
			b.Fatal(err)
		}
		defer v.Gone()
		v.Receive([]byte(`{"t":"voice","on":true,"name":"m"}`))
		speaker = v
	}
	if _, err := h.Roster(context.Background(), me, id); err != nil { // all are in
		b.Fatal(err)
	}
	frame := []byte(`{"t":"send","n":17,"c":{"k":"app","data":1234567890}}`)
	b.ReportAllocs()
	for b.Loop() {
		speaker.Receive(frame)
	}
}
