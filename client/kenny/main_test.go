package kenny

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testKey(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, 32))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

var (
	machineKey = testKey(1)
	hubKey     = testKey(2)
	otherKey   = testKey(3)
)

// tools is a handler made of functions; what is not there answers plainly.
type tools struct {
	call   func(context.Context, *wire.Request) (jsontext.Value, error)
	policy func([]wire.Rule)
}

func (h tools) Call(ctx context.Context, r *wire.Request) (jsontext.Value, error) {
	if h.call == nil {
		return jsontext.Value(`{"tool":"` + r.Tool + `"}`), nil
	}
	return h.call(ctx, r)
}

func (h tools) Policy(rules []wire.Rule) {
	if h.policy != nil {
		h.policy(rules)
	}
}

func config(h Handler) Config {
	return Config{
		URL: "http://localhost", AgentID: "studio-3", Key: machineKey, ServerKeys: []ed25519.PublicKey{public(hubKey)},
		Meta: wire.Meta{Hostname: "studio-3", OS: wire.Linux, Version: "1.0.0"}, Handler: h,
	}
}

// start runs a client until the test ends it; stop waits.
func start(t *testing.T, c *Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// records keeps log lines for a test to look at.
type records struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

func (r *records) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

func encode(t *testing.T, f wire.Frame) []byte {
	t.Helper()
	data, err := wire.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte) wire.Frame {
	t.Helper()
	f, err := wire.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// challengeFor answers a register as the holder of key.
func challengeFor(t *testing.T, register []byte, key ed25519.PrivateKey) (*wire.Challenge, []byte) {
	t.Helper()
	r, ok := decode(t, register).(*wire.Register)
	if !ok || !r.Signed() {
		t.Fatalf("not a register for the signature handshake: %s", register)
	}
	nonce := bytes.Repeat([]byte{0x5c}, wire.NonceSize)
	transcript, err := wire.Transcript(r.AgentID, r.ClientNonce, nonce)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := wire.Sign(key, transcript)
	if err != nil {
		t.Fatal(err)
	}
	return &wire.Challenge{ServerNonce: nonce, ServerSig: sig}, transcript
}
