package bus_test

import (
	"fmt"
	"sync"
	"testing"

	"parley.internal/internal/bus"
)

// BenchmarkDelivery is the cost of one message from publisher to handler. The channel line is the limit: a bare
// Go channel between two goroutines in the same run.
func BenchmarkDelivery(b *testing.B) {
	b.Run("channel", func(b *testing.B) {
		c, done := make(chan bus.Msg, 4096), make(chan struct{})
		go func() {
			for range c {
			}
			close(done)
		}()
		for b.Loop() {
			c <- bus.Msg{Subject: "x"}
		}
		close(c)
		<-done
	})
	for _, wild := range []bool{false, true} {
		b.Run(fmt.Sprintf("local/wildcards=%v", wild), func(b *testing.B) {
			l := bus.NewLocal()
			defer l.Close()
			if wild {
				if _, err := l.Subscribe("other.*.thing", func(bus.Msg) {}); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := l.Subscribe("room.1", func(bus.Msg) {}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Publish("room.1", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDeliveryAmongMany shows that the cost stays flat as subscriptions grow.
func BenchmarkDeliveryAmongMany(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := bus.NewLocal()
			defer l.Close()
			subjects := make([]string, n)
			for i := range subjects {
				subjects[i] = fmt.Sprintf("machine.%d.call", i)
				if _, err := l.Subscribe(subjects[i], func(bus.Msg) {}); err != nil {
					b.Fatal(err)
				}
			}
			for _, s := range subjects { // the first message makes the queue
				if err := l.Publish(s, nil); err != nil {
					b.Fatal(err)
				}
			}
			i := 0
			for b.Loop() {
				if err := l.Publish(subjects[i%n], nil); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	l := bus.NewLocal()
	defer l.Close()
	if _, err := l.Subscribe("echo", func(m bus.Msg) { _ = m.Respond(m.Data) }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Request(b.Context(), "echo", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParallelPublish(b *testing.B) {
	l := bus.NewLocal()
	defer l.Close()
	var mu sync.Mutex
	next := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		next++
		subject := fmt.Sprintf("task.%d", next)
		mu.Unlock()
		if _, err := l.Subscribe(subject, func(bus.Msg) {}); err != nil {
			b.Error(err)
			return
		}
		for pb.Next() {
			if err := l.Publish(subject, nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
