package place_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"parley/internal/place"
	"parley/internal/store/storetest"
	"parley/protocol/mmp"
)

// BenchmarkSendAndReceive is one message through the relay, by 32 at once.
func BenchmarkSendAndReceive(b *testing.B) {
	p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40})
	blob := string(make([]byte, 1100))
	b.SetParallelism(16)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		me := fmt.Sprint("r", n.Add(1))
		for pb.Next() {
			send(b, p, stranger, "ada", me, blob)
			receive(b, p, stranger, mmp.ReceiveQuery{AgentID: me, Limit: 10})
		}
	})
}

// BenchmarkSend is a send alone, by 32 at once.
func BenchmarkSend(b *testing.B) {
	p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40})
	blob := string(make([]byte, 1100))
	b.SetParallelism(16)
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		me := n.Add(1)
		for i := 0; pb.Next(); i++ {
			send(b, p, stranger, "ada", fmt.Sprint("r", me, "-", i/90), blob)
		}
	})
}
