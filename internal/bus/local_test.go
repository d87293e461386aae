package bus_test

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"parley.internal/internal/bus"
	"parley.internal/internal/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLocalKeepsTheContract(t *testing.T) {
	bustest.Contract(t, func(*testing.T) (a, b bus.Bus) {
		l := bus.NewLocal()
		return l, l.Peer()
	})
}

func TestASharedQueueNameIsOneGroupAcrossPatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bus.NewLocal()
		defer l.Close()
		count := 0
		for _, pattern := range []string{"a.b", "a.*", "a.>", "*.b"} {
			if _, err := l.QueueSubscribe(pattern, "q", func(bus.Msg) { count++ }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			if err := l.Publish("a.b", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if count != i+1 {
				t.Fatalf("%d deliveries of %d messages", count, i+1)
			}
		}
	})
}

func TestAFullQueueKeepsTheNewestMessages(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits bus.Limits
		want   string
	}{
		{"by messages", bus.Limits{Messages: 2}, "0 8 9 "},
		{"by bytes", bus.Limits{Bytes: 3}, "0 7 8 9 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := bus.NewLocalLimits(c.limits)
				defer l.Close()
				gate, got := make(chan struct{}), ""
				s, err := l.Subscribe("x", func(m bus.Msg) { <-gate; got += string(m.Data) + " " })
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range "0123456789" {
					if err := l.Publish("x", []byte(string(d))); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				<-s.Lagged()
				close(gate)
				synctest.Wait()
				if got != c.want {
					t.Fatalf("kept %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestCloseWaitsForARunningHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bus.NewLocal()
		gate, finished := make(chan struct{}), false
		if _, err := l.Subscribe("x", func(bus.Msg) { <-gate; finished = true }); err != nil {
			t.Fatal(err)
		}
		if err := l.Publish("x", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() { _ = l.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("closed under a running handler")
		default:
		}
		close(gate)
		<-closed
		if !finished {
			t.Fatal("handler did not finish")
		}
	})
}

func TestAHandlerMayCloseItsOwnSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bus.NewLocal()
		defer l.Close()
		var s bus.Subscription
		count := 0
		s, err := l.Subscribe("x", func(bus.Msg) { count++; s.Close() })
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := l.Publish("x", nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if count != 1 {
			t.Fatalf("called %d times after closing", count-1)
		}
	})
}
