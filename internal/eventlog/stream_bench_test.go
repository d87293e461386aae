package eventlog_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
)

// BenchmarkThousandStreams runs 1,000 streams of 50 events a second for b.N
// events of each and reports the delay of their readers.
func BenchmarkThousandStreams(b *testing.B) {
	const streams, rate, window = 1000, 50, 8 * time.Millisecond
	db, err := store.Open(b.Context(), b.TempDir()+"/parley.db", store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	local := bus.NewLocal()
	log := eventlog.New(db, local, quiet())
	var mu sync.Mutex
	var delays []time.Duration
	var wg sync.WaitGroup
	all := int64(b.N)
	for i := range streams {
		stream := fmt.Sprintf("task.%d", i)
		wg.Go(func() {
			begun := time.Now().Add(time.Duration(i) * window / streams)
			tick := time.NewTicker(window)
			defer tick.Stop()
			for made := int64(0); made < all; {
				<-tick.C
				var batch []eventlog.Event
				for due := time.Since(begun); made < all && time.Duration(made)*time.Second/rate <= due; made++ {
					at := begun.Add(time.Duration(made) * time.Second / rate)
					batch = append(batch, eventlog.Event{Kind: "delta", Data: binary.BigEndian.AppendUint64(make([]byte, 0, 48), uint64(at.UnixNano()))[:48]})
				}
				if _, err := log.Append(b.Context(), nil, stream, batch...); err != nil {
					b.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			var mine []time.Duration
			for ev, err := range log.Follow(b.Context(), stream, 0) {
				if err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(ev.Data)))))
				if ev.Seq != int64(len(mine)) {
					b.Errorf("event %d in place of %d", ev.Seq, len(mine))
				}
				if ev.Seq == all {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			delays = append(delays, mine...)
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(delays[len(delays)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(delays[len(delays)-1].Milliseconds()), "max-ms")
	_ = local.Close()
	_ = db.Close()
}

// BenchmarkAppend has so many writers, each of a stream of its own.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) { appendFrom(b, writers) })
	}
}

func appendFrom(b *testing.B, writers int) {
	b.Helper()
	db, err := store.Open(b.Context(), b.TempDir()+"/parley.db", store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	local := bus.NewLocal()
	defer func() { _ = local.Close() }()
	log := eventlog.New(db, local, quiet())
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range b.N / writers {
				if _, err := log.Append(b.Context(), nil, fmt.Sprint(w), eventlog.Event{Kind: "delta", Data: make([]byte, 128)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
