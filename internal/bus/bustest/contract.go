// Package bustest holds the one contract every bus.Bus keeps. An implementation calls Contract from a test:
//
//	func TestContract(t *testing.T) {
//		bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
//			l := bus.NewLocal()
//			return l, l.Peer()
//		})
//	}
package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/bus"
)

// patience bounds every wait; it is long because it is only reached when something is broken.
const patience = 2 * time.Minute

// Open returns two different connections to the same traffic. Contract closes them.
type Open func(t *testing.T) (a, b bus.Bus)

// Contract checks everything package bus promises, between two connections.
func Contract(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, a, b bus.Bus)
	}{
		{"messages of one publisher arrive in order", inOrder},
		{"the handler of one subscription never runs twice at once", oneAtATime},
		{"other subjects are not heard", noCrossTalk},
		{"wildcards match as documented", wildcards},
		{"a publisher hears itself", hearsItself},
		{"a queue group gives each message to one member", queueGroup},
		{"a request is answered", request},
		{"concurrent requests get their own answers", concurrentRequests},
		{"one of many responders answers first", firstAnswerWins},
		{"a request without responders fails at once", noResponders},
		{"a closed subscription no longer answers", closedSubscription},
		{"a cancelled request returns", cancelledRequest},
		{"close ends pending requests", closeUnblocks},
		{"a closed bus refuses", closedBus},
		{"close may be called by many at once", concurrentClose},
		{"a published message has no respond", noRespond},
		{"a slow subscriber does not slow another", slowSubscriber},
		{"a full queue drops the oldest and says so", overflow},
		{"a payload above the limit is refused", tooLarge},
		{"malformed subjects are refused", badSubjects},
		{"any string makes a token", tokens},
		{"subscriptions come and go while others publish", churn},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := open(t)
			t.Cleanup(func() {
				for _, x := range []bus.Bus{a, b} {
					if err := x.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
			})
			c.run(t, a, b)
		})
	}
}

var marker atomic.Int64

// awaitInterest returns when everything from subscribed so far is known to to. Interest travels between servers
// in order but not at once.
func awaitInterest(t *testing.T, from, to bus.Bus) {
	t.Helper()
	subject := fmt.Sprintf("settle.%d", marker.Add(1))
	sub := subscribe(t, from, subject, func(m bus.Msg) { _ = m.Respond(nil) })
	defer sub.Close()
	Eventually(t, to, subject)
}

// Eventually waits until somebody answers requests on subject through b.
func Eventually(t *testing.T, b bus.Bus, subject string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx, b, subject)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("nobody answers on %s: %v", subject, err)
		}
	}
}

// ask gives up soon: a request that was on its way to a server that died is lost.
func ask(ctx context.Context, b bus.Bus, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := b.Request(ctx, subject, nil)
	return err
}

func subscribe(t *testing.T, b bus.Bus, subject string, fn func(bus.Msg)) bus.Subscription {
	t.Helper()
	s, err := b.Subscribe(subject, fn)
	if err != nil {
		t.Fatalf("subscribe %s: %v", subject, err)
	}
	return s
}

func publish(t *testing.T, b bus.Bus, subject, data string) {
	t.Helper()
	if err := b.Publish(subject, []byte(data)); err != nil {
		t.Fatalf("publish %s: %v", subject, err)
	}
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// collect returns a handler that puts "subject data" on a channel.
func collect(size int) (func(bus.Msg), chan string) {
	c := make(chan string, size)
	return func(m bus.Msg) { c <- m.Subject + " " + string(m.Data) }, c
}

func inOrder(t *testing.T, a, b bus.Bus) {
	const n = 2000
	got := make(chan string, n)
	subscribe(t, a, "order", func(m bus.Msg) { got <- string(m.Data) })
	awaitInterest(t, a, b)
	for i := range n {
		publish(t, b, "order", fmt.Sprint(i))
	}
	for i := range n {
		if v := receive(t, got, "message"); v != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, v)
		}
	}
}

func oneAtATime(t *testing.T, a, b bus.Bus) {
	const publishers, each = 8, 100
	var inside, seen atomic.Int32
	done := make(chan struct{})
	subscribe(t, a, "solo", func(bus.Msg) {
		if inside.Add(1) != 1 {
			t.Error("two handler calls at once")
		}
		inside.Add(-1)
		if seen.Add(1) == publishers*each {
			close(done)
		}
	})
	awaitInterest(t, a, b)
	var wg sync.WaitGroup
	for range publishers {
		wg.Go(func() {
			for range each {
				if err := b.Publish("solo", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	receive(t, done, "the last message")
}

func noCrossTalk(t *testing.T, a, b bus.Bus) {
	fn, got := collect(16)
	subscribe(t, a, "room.1", fn)
	awaitInterest(t, a, b)
	for _, s := range []string{"room.2", "room", "room.1.x", "Room.1", "room.11", "room.1"} {
		publish(t, b, s, "x")
	}
	if v := receive(t, got, "message"); v != "room.1 x" {
		t.Fatalf("heard %q", v)
	}
	awaitInterest(t, a, b)
	if len(got) != 0 {
		t.Fatalf("also heard %q", <-got)
	}
}

func wildcards(t *testing.T, a, b bus.Bus) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"w.*", "w.a", true},
		{"w.*", "w", false},
		{"w.*", "w.a.b", false},
		{"w.*.c", "w.a.c", true},
		{"w.*.c", "w.a.d", false},
		{"w.>", "w.a", true},
		{"w.>", "w.a.b.c", true},
		{"w.>", "w", false},
		{"w.*.>", "w.a.b", true},
		{"w.*.>", "w.a", false},
		{"*.a", "w.a", true},
		{">", "w.a", true},
	} {
		fn, got := collect(16)
		s := subscribe(t, a, c.pattern, fn)
		awaitInterest(t, a, b)
		publish(t, b, c.subject, "1")
		publish(t, b, c.subject, "2")
		awaitInterest(t, a, b)
		want := map[bool]int{true: 2}[c.want]
		n := 0
		for n < want {
			if v := receive(t, got, c.pattern+" "+c.subject); v == c.subject+" "+fmt.Sprint(n+1) {
				n++
			}
		}
		if !c.want && len(got) != 0 {
			t.Errorf("%s heard %q", c.pattern, <-got)
		}
		s.Close()
	}
}

func hearsItself(t *testing.T, a, _ bus.Bus) {
	fn, got := collect(1)
	subscribe(t, a, "self", fn)
	publish(t, a, "self", "x")
	receive(t, got, "own message")
}

func queueGroup(t *testing.T, a, b bus.Bus) {
	const n = 300
	got := make(chan string, 4*n)
	for i, x := range []bus.Bus{a, a, b} {
		if _, err := x.QueueSubscribe("jobs", "workers", func(m bus.Msg) { got <- fmt.Sprint("g", i) }); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(t, a, "jobs", func(bus.Msg) { got <- "each" })
	awaitInterest(t, a, b)
	awaitInterest(t, b, a)
	for range n {
		publish(t, b, "jobs", "x")
	}
	each := 0
	for range 2 * n {
		if receive(t, got, "delivery") == "each" {
			each++
		}
	}
	awaitInterest(t, a, b)
	awaitInterest(t, b, a)
	if each != n || len(got) != 0 {
		t.Fatalf("plain subscription heard %d of %d, %d deliveries too many", each, n, len(got))
	}
}

func request(t *testing.T, a, b bus.Bus) {
	subscribe(t, a, "echo", func(m bus.Msg) { _ = m.Respond(append([]byte("re:"), m.Data...)) })
	awaitInterest(t, a, b)
	got, err := b.Request(t.Context(), "echo", []byte("hi"))
	if err != nil || string(got) != "re:hi" {
		t.Fatalf("answer %q, %v", got, err)
	}
}

func concurrentRequests(t *testing.T, a, b bus.Bus) {
	subscribe(t, a, "echo", func(m bus.Msg) { go func() { _ = m.Respond(m.Data) }() })
	awaitInterest(t, a, b)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			want := fmt.Sprint(i)
			if got, err := b.Request(t.Context(), "echo", []byte(want)); err != nil || string(got) != want {
				t.Errorf("request %s answered %q, %v", want, got, err)
			}
		})
	}
	wg.Wait()
}

func firstAnswerWins(t *testing.T, a, b bus.Bus) {
	for range 3 {
		subscribe(t, a, "many", func(m bus.Msg) {
			_ = m.Respond([]byte("x"))
			_ = m.Respond([]byte("again"))
		})
	}
	awaitInterest(t, a, b)
	for range 20 {
		got, err := b.Request(t.Context(), "many", nil)
		if err != nil || string(got) != "x" {
			t.Fatalf("answer %q, %v", got, err)
		}
	}
}

func noResponders(t *testing.T, a, _ bus.Bus) {
	if _, err := a.Request(t.Context(), "nobody", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Fatalf("error is %v", err)
	}
}

func closedSubscription(t *testing.T, a, _ bus.Bus) {
	s := subscribe(t, a, "brief", func(m bus.Msg) { _ = m.Respond(nil) })
	if _, err := a.Request(t.Context(), "brief", nil); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if _, err := a.Request(t.Context(), "brief", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Fatalf("error is %v", err)
	}
}

func cancelledRequest(t *testing.T, a, b bus.Bus) {
	asked := make(chan struct{}, 1)
	subscribe(t, a, "mute", func(bus.Msg) { asked <- struct{}{} })
	awaitInterest(t, a, b)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := b.Request(ctx, "mute", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if _, err := b.Request(ctx, "mute", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("already cancelled: error is %v", err)
	}
}

func closeUnblocks(t *testing.T, a, b bus.Bus) {
	asked := make(chan struct{}, 1)
	subscribe(t, a, "mute", func(bus.Msg) { asked <- struct{}{} })
	awaitInterest(t, a, b)
	failed := make(chan error, 1)
	go func() {
		_, err := b.Request(context.Background(), "mute", nil)
		failed <- err
	}()
	receive(t, asked, "the request")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, failed, "the end of the request"); !errors.Is(err, bus.ErrClosed) {
		t.Fatalf("error is %v", err)
	}
}

func closedBus(t *testing.T, a, b bus.Bus) {
	if err := a.Healthy(); err != nil {
		t.Fatalf("open bus: %v", err)
	}
	fn, got := collect(1)
	subscribe(t, a, "x", fn)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, reqErr := a.Request(t.Context(), "x", nil)
	_, subErr := a.Subscribe("x", fn)
	for what, err := range map[string]error{
		"publish": a.Publish("x", nil), "request": reqErr, "subscribe": subErr, "healthy": a.Healthy(),
	} {
		if !errors.Is(err, bus.ErrClosed) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	publish(t, b, "x", "late")
	if len(got) != 0 {
		t.Error("a closed bus delivered")
	}
}

func concurrentClose(t *testing.T, a, b bus.Bus) {
	subscribe(t, a, "x.*", func(bus.Msg) {})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := b.Publish("x.y", nil); err != nil && !errors.Is(err, bus.ErrClosed) {
					t.Error(err)
				}
			}
		})
		wg.Go(func() { _ = a.Close() })
		wg.Go(func() { _ = b.Close() })
	}
	wg.Wait()
}

func noRespond(t *testing.T, a, b bus.Bus) {
	got := make(chan bool, 1)
	subscribe(t, a, "x", func(m bus.Msg) { got <- m.Respond == nil })
	awaitInterest(t, a, b)
	publish(t, b, "x", "")
	if !receive(t, got, "message") {
		t.Fatal("respond is set")
	}
}

func slowSubscriber(t *testing.T, a, b bus.Bus) {
	const n = 500
	stuck := make(chan struct{})
	defer close(stuck)
	subscribe(t, a, "news", func(bus.Msg) { <-stuck })
	got := make(chan struct{}, n)
	subscribe(t, a, "news", func(bus.Msg) { got <- struct{}{} })
	awaitInterest(t, a, b)
	for range n {
		publish(t, b, "news", "x")
	}
	for range n {
		receive(t, got, "message for the fast one")
	}
}

// overflow needs more messages than any default queue holds.
func overflow(t *testing.T, a, b bus.Bus) {
	const n, last = 20_000, "last"
	stuck := make(chan struct{})
	got := make(chan string, n+1)
	s := subscribe(t, a, "flood", func(m bus.Msg) { <-stuck; got <- string(m.Data) })
	seen := make(chan struct{})
	subscribe(t, a, "flood-end", func(bus.Msg) { close(seen) })
	awaitInterest(t, a, b)
	for i := range n {
		publish(t, b, "flood", fmt.Sprint(i))
	}
	publish(t, b, "flood", last)
	publish(t, b, "flood-end", "")
	receive(t, seen, "end of the flood")
	receive(t, s.Lagged(), "the lagged signal")
	close(stuck)
	count := 1
	for receive(t, got, "the newest message") != last {
		count++
	}
	if count > n/2 {
		t.Fatalf("%d of %d messages were kept: the queue has no bound", count, n+1)
	}
}

func tooLarge(t *testing.T, a, b bus.Bus) {
	limit := a.MaxPayload()
	got := make(chan int, 1)
	answered := make(chan error, 1)
	subscribe(t, a, "big", func(m bus.Msg) {
		if m.Respond != nil {
			answered <- m.Respond(make([]byte, limit+1))
			return
		}
		got <- len(m.Data)
	})
	awaitInterest(t, a, b)
	if err := b.Publish("big", make([]byte, limit+1)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("publish: error is %v", err)
	}
	if _, err := b.Request(t.Context(), "big", make([]byte, limit+1)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("request: error is %v", err)
	}
	if err := b.Publish("big", make([]byte, limit)); err != nil {
		t.Fatal(err)
	}
	if n := receive(t, got, "the largest message"); n != limit {
		t.Errorf("got %d bytes of %d", n, limit)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = b.Request(ctx, "big", nil) }()
	if err := receive(t, answered, "the request"); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("respond: error is %v", err)
	}
	cancel()
}

func badSubjects(t *testing.T, a, _ bus.Bus) {
	fn := func(bus.Msg) {}
	for _, s := range []string{"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\nb", "a*", "a.>b", ">.a"} {
		_, subErr := a.Subscribe(s, fn)
		_, reqErr := a.Request(t.Context(), s, nil)
		for what, err := range map[string]error{"publish": a.Publish(s, nil), "subscribe": subErr, "request": reqErr} {
			if !errors.Is(err, bus.ErrBadSubject) {
				t.Errorf("%s %q: error is %v", what, s, err)
			}
		}
	}
	for _, s := range []string{"a.*", "a.>", "*", ">"} {
		if err := a.Publish(s, nil); !errors.Is(err, bus.ErrBadSubject) {
			t.Errorf("publish %q: error is %v", s, err)
		}
	}
	for _, q := range []string{"", "a b", "a.b", "*"} {
		if _, err := a.QueueSubscribe("a", q, fn); !errors.Is(err, bus.ErrBadSubject) {
			t.Errorf("queue %q: error is %v", q, err)
		}
	}
}

func tokens(t *testing.T, a, b bus.Bus) {
	for _, id := range []string{"pc.example", "a b", "", "*", ">", "ünïcode", "100%", "\x00\n"} {
		fn, got := collect(1)
		s := subscribe(t, a, "machine."+bus.Token(id)+".call", fn)
		awaitInterest(t, a, b)
		publish(t, b, "machine."+bus.Token(id)+".call", "x")
		receive(t, got, "message for "+id)
		s.Close()
	}
}

func churn(t *testing.T, a, b bus.Bus) {
	stop := make(chan struct{})
	var publishers, subscribers sync.WaitGroup
	for _, x := range []bus.Bus{a, b} {
		publishers.Go(func() {
			tick := time.NewTicker(100 * time.Microsecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				if err := x.Publish("churn.x", nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 4 {
		subscribers.Go(func() {
			for range 25 {
				got := make(chan struct{}, 1)
				fn := func(bus.Msg) {
					select {
					case got <- struct{}{}:
					default:
					}
				}
				s, err := a.Subscribe([]string{"churn.x", "churn.*", "churn.>", ">"}[i], fn)
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case <-got:
				case <-time.After(patience):
					t.Error("no message came")
				}
				s.Close()
			}
		})
	}
	subscribers.Wait()
	close(stop)
	publishers.Wait()
}
