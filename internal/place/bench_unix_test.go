//go:build unix

package place_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

// inFlight does b.N calls by so many at once and reports the processor time of one,
// which a busy machine changes less than the time on the wall.
func inFlight(b *testing.B, many int, call func(who, i int)) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	before := processor()
	b.ResetTimer()
	for who := range many {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				call(who, int(i))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processor()-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

func processor() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkSend is a send alone; everything that happens by itself runs too.
func BenchmarkSend(b *testing.B) {
	for _, many := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40})
			if err := p.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			blob := strings.Repeat("QUJDRA==", 140)
			inFlight(b, many, func(_, i int) { send(b, p, stranger, "ada", fmt.Sprint("r", i/90), blob) })
		})
	}
}

// BenchmarkSendAndReceive is one message through the relay, by 32 at once.
func BenchmarkSendAndReceive(b *testing.B) {
	p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40})
	if err := p.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	blob := strings.Repeat("QUJDRA==", 140)
	inFlight(b, 32, func(who, _ int) {
		me := fmt.Sprint("r", who)
		send(b, p, stranger, "ada", me, blob)
		receive(b, p, stranger, relay.ReceiveQuery{AgentID: me, Limit: 10})
	})
}

// BenchmarkRegister is a registration without a key.
func BenchmarkRegister(b *testing.B) {
	for _, many := range []int{1, 32} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40})
			if err := p.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			inFlight(b, many, func(_, i int) {
				if _, err := p.Register(b.Context(), stranger, &board.Registration{ID: fmt.Sprint("a", i), Name: "bench", Scope: "general"}); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkSettle is what a message costs once more when it stays: its own row.
func BenchmarkSettle(b *testing.B) {
	p, _ := open(b, storetest.SQLite(b), place.Config{Auth: place.Open, MaxUnknown: 1 << 40, Sync: place.SyncOS})
	blob := strings.Repeat("QUJDRA==", 140)
	for i := range b.N {
		send(b, p, stranger, "ada", fmt.Sprint("r", i/90), blob)
	}
	before := processor()
	b.ResetTimer()
	if _, err := p.Queues(b.Context(), operator, 10); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64((processor()-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}
