package place_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
	"parley.internal/test/pgtest"
)

// two opens one place on two hubs.
func two(t *testing.T, c place.Config) (a, b *place.Place) {
	t.Helper()
	url, shared := pgtest.URL(t), bus.NewLocal()
	t.Cleanup(func() { _ = shared.Close() })
	hub := func() *place.Place {
		p, _ := open(t, storetest.Open(t, url), c, func(d *place.Deps) { d.Bus, d.Clustered = shared, true })
		return p
	}
	return hub(), hub()
}

// TestOnePlaceOnTwoHubs shares one database: making one takes longest.
func TestOnePlaceOnTwoHubs(t *testing.T) {
	a, b := two(t, place.Config{Auth: place.TOFU, QueueLimit: 120})
	for name, run := range map[string]func(*testing.T, *place.Place, *place.Place){
		"a poll on one hub is woken by a send on the other":          pollAcrossHubs,
		"a token revoked on one hub ends the poll on the other":      revokeAcrossHubs,
		"receivers on two hubs get disjoint sets":                    disjointReceivers,
		"the queue limit is exact with two hubs":                     exactLimit,
		"two keys that claim one id at once: one of them is pinned":  onePin,
		"a challenge of one hub is answered on the other, only once": onceAcrossHubs,
	} {
		t.Run(name, func(t *testing.T) { run(t, a, b) })
	}
}

func pollAcrossHubs(t *testing.T, a, b *place.Place) {
	got := make(chan relay.ReceiveAnswer, 1)
	go func() {
		out, err := b.Receive(context.WithoutCancel(t.Context()), stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 10, Wait: time.Minute})
		if err != nil {
			t.Error(err)
		}
		got <- out
	}()
	for b.Polls() == 0 {
		<-time.After(time.Millisecond)
	}
	send(t, a, stranger, "eve", "bob", "across")
	if out := <-got; out.Count != 1 || out.Messages[0].Blob != "across" {
		t.Errorf("%+v; want out.Count to be 1, out.Messages[0].Blob to be \"across\"", out)
	}
}

func revokeAcrossHubs(t *testing.T, a, b *place.Place) {
	who := prove(t, a, "ada")
	ended := make(chan error, 1)
	go func() {
		_, err := b.Receive(context.WithoutCancel(t.Context()), who, relay.ReceiveQuery{AgentID: "ada", Limit: 10, Wait: time.Minute})
		ended <- err
	}()
	for b.Polls() == 0 {
		<-time.After(time.Millisecond)
	}
	if _, err := a.RevokeTokens(t.Context(), operator, "ada"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != mmp.ErrToken { //nolint:errorlint // it is the value itself
		t.Errorf("got %v", err)
	}
}

func disjointReceivers(t *testing.T, a, b *place.Place) {
	const n = 120
	for i := range n {
		send(t, []*place.Place{a, b}[i%2], stranger, "eve", "many", fmt.Sprint(i))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for _, p := range []*place.Place{a, b, a, b} {
		wg.Go(func() {
			last := -1
			for {
				got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "many", Limit: 5})
				if len(got) == 0 {
					return
				}
				mu.Lock()
				for _, blob := range got {
					seen[blob]++
					var i int
					_, _ = fmt.Sscan(blob, &i)
					if i < last {
						t.Errorf("%d came after %d", i, last)
					}
					last = i
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	// A receiver that found only locked rows stopped early; what is left is still there.
	for _, blob := range receive(t, a, stranger, relay.ReceiveQuery{AgentID: "many", Limit: 100}) {
		seen[blob]++
	}
	for i := range n {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("%d was received %d times", i, seen[fmt.Sprint(i)])
		}
	}
}

func exactLimit(t *testing.T, a, b *place.Place) {
	ada, bob := prove(t, a, "sender"), prove(t, b, "full")
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for i := range 140 {
		wg.Go(func() {
			blob := fmt.Sprint(i)
			_, err := []*place.Place{a, b}[i%2].Send(t.Context(), ada, &relay.SendRequest{From: "sender", To: "full", Blob: []byte(blob), BlobHash: mmp.HashOf(blob).Bare(), MessageType: "t"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
			}
		})
	}
	wg.Wait()
	if got := receive(t, b, bob, relay.ReceiveQuery{AgentID: "full", Limit: 1000}); taken != 120 || len(got) != 120 {
		t.Errorf("%d were taken, %d are there", taken, len(got))
	}
}

func onceAcrossHubs(t *testing.T, a, b *place.Place) {
	c, err := a.Challenge(t.Context(), stranger, "ada")
	if err != nil {
		t.Fatal(err)
	}
	proof, err := c.For("ada").Sign(testKey())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []string
	for _, p := range []*place.Place{a, b, a, b} {
		wg.Go(func() {
			out, err := p.Register(t.Context(), stranger, &board.Registration{ID: "ada", PublicKey: testKey().Public().PEM(), Proof: &proof})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, out.SessionToken)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 || slices.Contains(won, "") {
		t.Errorf("%d tokens for one nonce", len(won))
	}
}

func onePin(t *testing.T, a, b *place.Place) {
	second, err := mmp.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	keys := []*mmp.PrivateKey{testKey(), second}
	for round := range 5 {
		id := fmt.Sprint("contested", round)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []string
		for i, p := range []*place.Place{a, b, a, b} {
			key := keys[i%2]
			c, err := p.Challenge(t.Context(), stranger, id)
			if err != nil {
				t.Fatal(err)
			}
			proof, err := c.For(id).Sign(key)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				out, err := p.Register(t.Context(), stranger, &board.Registration{ID: id, PublicKey: key.Public().PEM(), Proof: &proof})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, out.KeyID)
				}
			})
		}
		wg.Wait()
		slices.Sort(won)
		if won = slices.Compact(won); len(won) != 1 {
			t.Errorf("%s has tokens for %d keys", id, len(won))
		}
	}
}
