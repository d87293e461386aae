package bus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/bus/bustest"
	"parley.internal/test/natstest"
)

const patience = 60 * time.Second

// secret is what the hubs of these tests share.
var secret = bytes.Repeat([]byte("s"), bus.SecretSize)

func config(urls ...string) bus.NATSConfig {
	return bus.NATSConfig{Servers: bus.Servers{URLs: strings.Join(urls, ",")}, Secret: secret, Name: "hub-1"}
}

func connect(t testing.TB, urls ...string) *bus.NATS {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := bus.ConnectNATS(ctx, config(urls...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestNATSKeepsTheContract(t *testing.T) {
	node := natstest.Run(t)
	bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
		return connect(t, node.URL()), connect(t, node.URL())
	})
}

func TestNATSKeepsTheContractAcrossTheNodesOfACluster(t *testing.T) {
	nodes := natstest.Cluster(t, 3)
	bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
		return connect(t, nodes[0].URL()), connect(t, nodes[1].URL())
	})
}

// await repeats try until it succeeds; servers need a moment to learn of each other's clients.
func await(t *testing.T, what string, try func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !try() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestAKilledNodeIsSurvived(t *testing.T) {
	nodes := natstest.Cluster(t, 3)
	all := []string{nodes[0].URL(), nodes[1].URL(), nodes[2].URL()}
	a, b := connect(t, all...), connect(t, all...)
	s, err := a.Subscribe("echo", func(m bus.Msg) {
		if m.Respond != nil {
			_ = m.Respond(m.Data)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, b, "echo")
	for _, n := range nodes {
		n.Kill()
		bustest.Eventually(t, b, "echo")
		bustest.Eventually(t, a, "echo")
		n.Restart()
	}
	select { // every node died once, so a was cut off at least once
	case <-s.Lagged():
	case <-time.After(patience):
		t.Fatal("the subscriber was not told that it may have missed something")
	}
}

func TestWithoutAnyServerEverythingFailsFastAndComesBack(t *testing.T) {
	node := natstest.Run(t)
	b := connect(t, node.URL())
	if _, err := b.Subscribe("echo", func(m bus.Msg) { _ = m.Respond(nil) }); err != nil {
		t.Fatal(err)
	}
	node.Kill()
	await(t, "disconnection", func() bool { return b.Healthy() != nil })
	_, reqErr := b.Request(t.Context(), "echo", nil)
	for what, err := range map[string]error{"healthy": b.Healthy(), "publish": b.Publish("x", nil), "request": reqErr} {
		if !errors.Is(err, bus.ErrDisconnected) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	if _, err := b.Subscribe("late", func(m bus.Msg) { _ = m.Respond(nil) }); err != nil {
		t.Errorf("subscribe while disconnected: %v", err)
	}
	node.Restart()
	bustest.Eventually(t, b, "echo")
	bustest.Eventually(t, b, "late")
	if err := b.Healthy(); err != nil {
		t.Errorf("after reconnecting: %v", err)
	}
}

func TestARequestInFlightFailsWhenItsServerDies(t *testing.T) {
	node := natstest.Run(t)
	b := connect(t, node.URL())
	asked := make(chan struct{}, 1)
	if _, err := b.Subscribe("mute", func(bus.Msg) { asked <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := b.Request(context.Background(), "mute", nil)
		failed <- err
	}()
	<-asked
	node.Kill()
	if err := <-failed; !errors.Is(err, bus.ErrDisconnected) {
		t.Fatalf("error is %v", err)
	}
}

func TestTheServersPayloadLimitIsKept(t *testing.T) {
	node := natstest.Run(t, "max_payload: 2048")
	cfg := config(node.URL())
	cfg.Name = strings.Repeat("n", 200) // the longest name leaves as much room as the shortest
	b, err := bus.ConnectNATS(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	limit := b.MaxPayload()
	if limit != connect(t, node.URL()).MaxPayload() || limit > 2048-16 || limit < 2048-200 {
		t.Errorf("a sealed message may have %d bytes of the 2048 the server takes", limit)
	}
	got := make(chan int, 1)
	if _, err := b.Subscribe("x", func(m bus.Msg) { got <- len(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish("x", make([]byte, limit)); err != nil {
		t.Fatalf("the largest message is refused: %v", err)
	}
	if n := <-got; n != limit {
		t.Errorf("%d of %d bytes arrived", n, limit)
	}
	if err := b.Publish("x", make([]byte, limit+1)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("one byte more: %v, want too large", err)
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	node := natstest.Run(t)
	node.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := bus.ConnectNATS(ctx, config(node.URL())); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if _, err := bus.ConnectNATS(ctx, config("nats://%zz")); err == nil || !strings.Contains(err.Error(), "NATS server 1") {
		t.Fatalf("error for a malformed address is %v", err)
	}
}

func TestWhatWasPublishedBeforeCloseArrives(t *testing.T) {
	node := natstest.Run(t)
	a, b := connect(t, node.URL()), connect(t, node.URL())
	got := make(chan string, 1)
	if _, err := a.Subscribe("last", func(m bus.Msg) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish("last", []byte("words")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "words" {
		t.Fatalf("got %q", s)
	}
}
