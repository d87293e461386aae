package bus_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"parley.internal/internal/bus"
	"parley.internal/test/natstest"
)

// stranger is somebody who reaches the NATS servers, hears everything and can send anything.
type stranger struct {
	*testing.T
	nc    *nats.Conn
	heard chan *nats.Msg
}

func newStranger(t *testing.T, url string) *stranger {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := &stranger{t, nc, make(chan *nats.Msg, 4096)}
	if _, err := nc.ChanSubscribe(">", s.heard); err != nil {
		t.Fatal(err)
	}
	s.flush()
	return s
}

// hear waits for a message whose subject ends so.
func (s *stranger) hear(end string) *nats.Msg {
	s.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m := <-s.heard:
			if strings.HasSuffix(m.Subject, end) {
				return m
			}
		case <-deadline:
			s.Fatalf("nothing was heard on …%s", end)
		}
	}
}

func (s *stranger) send(subject, reply string, data []byte) {
	s.Helper()
	if err := s.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data}); err != nil {
		s.Fatal(err)
	}
	s.flush()
}

// flush returns when the server has passed everything on.
func (s *stranger) flush() {
	s.Helper()
	if err := s.nc.FlushTimeout(patience); err != nil {
		s.Fatal(err)
	}
}

func publish(t *testing.T, b bus.Bus, subject, data string) {
	t.Helper()
	if err := b.Publish(subject, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, b bus.Bus, subject string, fn func(bus.Msg)) {
	t.Helper()
	if _, err := b.Subscribe(subject, fn); err != nil {
		t.Fatal(err)
	}
}

// Whoever reached NATS could run commands on machines and type into terminals, by sending what hubs
// send each other. Now the handler hears hubs only, once each, and the stranger gets no sign.
func TestWhoOnlyReachesNATSIsNotHeard(t *testing.T) {
	node := natstest.Run(t)
	hub, other := connect(t, node.URL()), connect(t, node.URL())
	them := newStranger(t, node.URL())
	got := make(chan string, 64)
	note := func(m bus.Msg) {
		got <- string(m.Data)
		if m.Respond != nil {
			_ = m.Respond([]byte("done"))
		}
	}
	subscribe(t, hub, "machine.pc.call", note)
	subscribe(t, hub, "machine.server.call", note)
	publish(t, other, "machine.pc.call", "genuine")
	wire := them.hear("machine.pc.call")
	elsewhere := strings.Replace(wire.Subject, "machine.pc.", "machine.server.", 1)
	otherCluster := bus.Sealed(bytes.Repeat([]byte("o"), bus.SecretSize), time.Now(), "machine.pc.call", "run")
	garbage := make([]byte, 300)
	if _, err := rand.Read(garbage); err != nil {
		t.Fatal(err)
	}
	garbage[0] = ^wire.Data[0] // noise that begins like a message is taken for a forged one
	changed := bytes.Clone(wire.Data)
	changed[len(changed)-1] ^= 1
	changed[29]++ // another count, so that it is not simply known

	const inbox = "stranger.inbox"
	for _, try := range []struct {
		what, subject string
		data          []byte
		why           bus.Refusal
	}{
		{"a call in the clear", wire.Subject, []byte(`{"id":"1","tool":"shell","args":{"command":"id"}}`), bus.Unsealed},
		{"nothing", wire.Subject, nil, bus.Unsealed},
		{"noise", wire.Subject, garbage, bus.Unsealed},
		{"a recorded message, cut off", wire.Subject, wire.Data[:40], bus.Unsealed},
		{"a recorded message, changed", wire.Subject, changed, bus.Forged},
		{"a recorded message", wire.Subject, wire.Data, bus.Replayed},
		{"a message of another cluster", wire.Subject, otherCluster, bus.OtherKey},
		{"a message of an hour ago", wire.Subject, bus.Sealed(secret, time.Now().Add(-time.Hour), "machine.pc.call", "run"), bus.Clock},
		{"a message of tomorrow", wire.Subject, bus.Sealed(secret, time.Now().Add(24*time.Hour), "machine.pc.call", "run"), bus.Clock},
		{"a message of before the subscription", wire.Subject, bus.Sealed(secret, time.Now().Add(-30*time.Second), "machine.pc.call", "run"), bus.Replayed},
		{"a message for another machine", elsewhere, bus.Sealed(secret, time.Now(), "machine.pc.call", "run"), bus.Forged},
	} {
		before := hub.Refused(try.why)
		them.send(try.subject, inbox, try.data)
		await(t, try.what+" is counted as "+string(try.why), func() bool { return hub.Refused(try.why) == before+1 })
	}
	them.send("machine.pc.call", inbox, []byte("as it was before")) // where hubs once listened

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if answer, err := other.Request(ctx, "machine.pc.call", []byte("after")); err != nil || string(answer) != "done" {
		t.Fatalf("a hub's own request: %q, %v", answer, err)
	}
	if first, second := <-got, <-got; first != "genuine" || second != "after" || len(got) > 0 {
		t.Errorf("the handler heard %q and %q, and %d more; want what the other hub sent", first, second, len(got))
	}
	them.flush()
	for len(them.heard) > 0 {
		if m := <-them.heard; m.Subject == inbox && len(m.Data) > 0 { // the server itself says that nobody listens, without data
			t.Errorf("the stranger was answered %q", m.Data)
		}
	}
}

// The first message to a waiting hub counted as the answer, whoever sent it.
func TestAnAnswerIsTakenFromAHubAndForItsOwnRequestOnly(t *testing.T) {
	node := natstest.Run(t)
	hub, other := connect(t, node.URL()), connect(t, node.URL())
	them := newStranger(t, node.URL())
	asked := make(chan bus.Msg, 2)
	subscribe(t, hub, "machine.pc.call", func(m bus.Msg) { asked <- m })
	ask := func() <-chan string {
		out := make(chan string, 1)
		go func() {
			answer, err := other.Request(context.Background(), "machine.pc.call", nil)
			if err != nil {
				answer = []byte(err.Error())
			}
			out <- string(answer)
		}()
		return out
	}
	first := ask()
	if err := (<-asked).Respond([]byte("yes")); err != nil {
		t.Fatal(err)
	}
	request := them.hear("machine.pc.call")
	recorded := them.hear(request.Reply[len(request.Reply)-34:])
	if got := <-first; got != "yes" {
		t.Fatalf("the first request was answered %q", got)
	}

	second := ask()
	open := <-asked
	reply := them.hear("machine.pc.call").Reply
	for _, try := range [][]byte{[]byte("yes"), recorded.Data, request.Data, {1}} {
		them.send(reply, "", try)
	}
	await(t, "four answers are refused", func() bool { return other.Refused(bus.Unsealed)+other.Refused(bus.Forged) == 4 })
	if err := open.Respond([]byte("no")); err != nil {
		t.Fatal(err)
	}
	if got := <-second; got != "no" {
		t.Errorf("the second request was answered %q; the answer to the first was played to it", got)
	}
}

// Where an answer goes follows from the sealed request: a stranger who sends a request on with an
// address of their own gets nothing.
func TestAnAnswerGoesToWhoeverAskedAlone(t *testing.T) {
	node := natstest.Run(t)
	hub, other := connect(t, node.URL()), connect(t, node.URL())
	them := newStranger(t, node.URL())
	publish(t, other, "task.1", "nobody listens yet") // the stranger learns what subjects begin with
	root := strings.TrimSuffix(them.hear("task.1").Subject, "task.1")
	subscribe(t, hub, "task.1", func(m bus.Msg) { _ = m.Respond([]byte("for the hub")) })
	if answer, err := other.Request(t.Context(), "task.1", []byte("secret words")); err != nil || string(answer) != "for the hub" {
		t.Fatalf("%q, %v; want no error, string(answer) to be \"for the hub\"", answer, err)
	}
	request := them.hear("task.1")
	them.send(root+"task.1", "stranger.inbox", request.Data)
	await(t, "the request played again is refused", func() bool { return hub.Refused(bus.Replayed) == 1 })
	// One that the stranger caught before it arrived is taken, and answered where it was sealed for.
	them.send(root+"task.1", "stranger.inbox", bus.SealedRequest(secret, "task.1", "caught"))
	if _, err := other.Request(t.Context(), "task.1", nil); err != nil {
		t.Fatal(err)
	}
	them.flush()
	for len(them.heard) > 0 {
		m := <-them.heard
		if m.Subject == "stranger.inbox" {
			t.Errorf("the stranger was answered %q", m.Data)
		}
		if bytes.Contains(m.Data, []byte("words")) || bytes.Contains(m.Data, []byte("for the hub")) {
			t.Errorf("words could be read on %s", m.Subject)
		}
	}
}

func TestTwoClustersOnTheSameServersDoNotHearEachOther(t *testing.T) {
	node := natstest.Run(t)
	ours := connect(t, node.URL())
	var log logBuffer
	cfg := config(node.URL())
	cfg.Secret, cfg.Log = bytes.Repeat([]byte("o"), bus.SecretSize), log.logger()
	theirs, err := bus.ConnectNATS(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	subscribe(t, ours, "echo", func(m bus.Msg) { _ = m.Respond(m.Data) })
	if _, err := theirs.Request(t.Context(), "echo", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("a request of the other cluster: %v, want no responders at once", err)
	}
	heard := make(chan string, 8)
	subscribe(t, theirs, ">", func(m bus.Msg) { heard <- m.Subject })
	publish(t, ours, "terminal.hello", "")
	if _, err := ours.Request(t.Context(), "echo", nil); err != nil {
		t.Error(err)
	}
	publish(t, theirs, "end", "")
	if first := <-heard; first != "end" {
		t.Errorf("a cluster heard %s of another", first)
	}
	await(t, "the other cluster is mentioned", func() bool { return strings.Contains(log.String(), "another cluster") })
	if ours.Subjects() == theirs.Subjects() {
		t.Errorf("both use %s", ours.Subjects())
	}
}

// Hubs of versions without seals greet each other in the clear.
func TestAHubOfAnOlderVersionIsRefusedAndNamed(t *testing.T) {
	node := natstest.Run(t)
	var log logBuffer
	cfg := config(node.URL())
	cfg.Log = log.logger()
	b, err := bus.ConnectNATS(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	them := newStranger(t, node.URL())
	for range 3 {
		them.send("terminal.hello", "", []byte(`{"hub":"hub-0/1","answer":true}`))
	}
	await(t, "three refusals", func() bool { return b.Refused(bus.Unsealed) == 3 })
	if n := strings.Count(log.String(), "older version"); n != 1 {
		t.Errorf("the log mentions it %d times, want once:\n%s", n, log.String())
	}
}
