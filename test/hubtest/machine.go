package hubtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/client/kenny"
	wire "parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// Machine is a managed machine made of a function, on the SDK.
type Machine struct {
	ID     string
	key    ed25519.PrivateKey
	pin    ed25519.PublicKey
	answer func(ctx context.Context, r *wire.Request) (jsontext.Value, error)
	// Asked has every request that arrived.
	Asked chan *wire.Request
}

// Enrol makes a machine known to a hub.
func Enrol(t testing.TB, h *Hub, id string, answer func(ctx context.Context, r *wire.Request) (jsontext.Value, error)) *Machine {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	minted, err := hubapi.Call(t.Context(), h.Client(), rest.MachineToken, rest.EnrolRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if err := kenny.Enroll(t.Context(), h.URL, id, minted.Token, public); err != nil {
		t.Fatal(err)
	}
	pin, err := wire.ParsePublicKey(minted.ServerPublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return &Machine{ID: id, key: private, pin: pin, answer: answer, Asked: make(chan *wire.Request, 1024)}
}

// Call implements kenny.Handler.
func (m *Machine) Call(ctx context.Context, r *wire.Request) (jsontext.Value, error) {
	m.Asked <- r
	return m.answer(ctx, r)
}

// Policy implements kenny.Handler.
func (m *Machine) Policy([]wire.Rule) {}

// Connect has the machine connected to a hub until the returned function is called.
func (m *Machine) Connect(t testing.TB, h *Hub) (stop func()) {
	t.Helper()
	_, stop = m.Client(t, h)
	return stop
}

// Client is Connect for tests that have the machine say something by itself.
func (m *Machine) Client(t testing.TB, h *Hub) (client *kenny.Client, stop func()) {
	t.Helper()
	up := make(chan struct{}, 16)
	c, err := kenny.New(kenny.Config{
		URL: h.URL, AgentID: m.ID, Key: m.key, ServerKeys: []ed25519.PublicKey{m.pin}, Handler: m, OnConnect: func() { up <- struct{}{} },
		Meta: wire.Meta{Hostname: m.ID, OS: wire.Linux, Version: "1.0.0", Arch: "amd64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	select {
	case <-up:
	case <-time.After(Patience):
		t.Fatal("the machine was not accepted")
	}
	return c, stop
}
