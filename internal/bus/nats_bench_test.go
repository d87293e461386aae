package bus_test

import (
	"testing"

	"parley.internal/internal/bus"
	"parley.internal/test/natstest"
)

// BenchmarkNATS is what one message costs between two hubs, the server included.
func BenchmarkNATS(b *testing.B) {
	node := natstest.Run(b)
	here, there := connect(b, node.URL()), connect(b, node.URL())
	arrived := make(chan struct{}, 1<<16)
	for subject, fn := range map[string]func(bus.Msg){
		"echo": func(m bus.Msg) { _ = m.Respond(m.Data) },
		"note": func(bus.Msg) { arrived <- struct{}{} },
	} {
		if _, err := there.Subscribe(subject, fn); err != nil {
			b.Fatal(err)
		}
	}
	data := make([]byte, 300)
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := here.Request(b.Context(), "echo", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("publish", func(b *testing.B) {
		b.ReportAllocs()
		const ahead = 500 // far below what a subscription drops from
		n := 0
		for b.Loop() {
			if err := here.Publish("note", data); err != nil {
				b.Fatal(err)
			}
			if n++; n > ahead {
				<-arrived
			}
		}
		for range min(n, ahead) {
			<-arrived
		}
	})
}
