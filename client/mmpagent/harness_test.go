package mmpagent_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/bus"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
)

// operator runs the place.
var operator = place.Visitor{Actor: identity.Hub()}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var shared = sync.OnceValue(func() []mmpagent.Keys {
	keys := make([]mmpagent.Keys, 4)
	for i := range keys {
		k, err := mmpagent.NewKeys()
		if err != nil {
			panic(err)
		}
		keys[i] = k
	}
	return keys
})

// clock can be moved.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

type world struct {
	t     *testing.T
	url   string
	place *place.Place
	clock *clock
	http  *http.Client
}

func newWorld(t *testing.T, c place.Config) *world { t.Helper(); return worldOf(t, 9, c) }

// worldOf is a place whose key has this seed: two of one seed are one place's two faces.
func worldOf(t *testing.T, seed byte, c place.Config) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{}}
	b := bus.NewLocal()
	p, err := place.New(t.Context(), place.Deps{
		DB: storetest.SQLite(t), Bus: b, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32)), Now: w.clock.now,
	}, c)
	if err != nil {
		t.Fatal(err)
	}
	core := &place.Core{Name: "parley", Now: w.clock.now, Ring: func() (mmp.Keyring, error) { return shared()[3].Ring, nil }}
	face := faceplace.New(faceplace.Deps{Place: p, Meeting: core, Loopback: true})
	server := httptest.NewServer(face)
	w.place, w.url, w.http = p, server.URL, server.Client()
	t.Cleanup(func() {
		p.Drain()
		_ = face.Close(context.Background())
		server.Close()
		_ = p.Close(context.Background())
		_ = b.Close()
	})
	return w
}

// agent opens and registers one with shared keys.
func (w *world) agent(i int, id string, change ...func(*mmpagent.Options)) *mmpagent.Agent {
	w.t.Helper()
	o := mmpagent.Options{ID: id, Name: id, Keys: shared()[i], HTTP: w.http, Now: w.clock.now}
	for _, c := range change {
		c(&o)
	}
	a, err := mmpagent.Open(w.url, o)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := a.Register(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// one receives exactly one message.
func one(t *testing.T, a *mmpagent.Agent) mmpagent.Message {
	t.Helper()
	got, err := a.Receive(t.Context(), mmpagent.ReceiveOptions{})
	if err != nil || len(got) != 1 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	return got[0]
}
