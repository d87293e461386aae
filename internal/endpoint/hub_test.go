package endpoint

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	machine = "studio-3"
	token   = "one-time-token"
)

func seeded(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// testHub is the other half of the protocol, small and strict.
type testHub struct {
	t      *testing.T
	key    ed25519.PrivateKey
	server *httptest.Server
	// tunnels are the accepted sessions; raw, where set, takes sockets over.
	tunnels chan *tunnel
	raw     func(*websocket.Conn)

	mu       sync.Mutex
	machine  ed25519.PublicKey
	enrolled int
	refuse   int // HTTP status for the next enrolments; 0 accepts
}

func newHub(t *testing.T) *testHub {
	h := &testHub{t: t, key: seeded(2), tunnels: make(chan *tunnel, 8)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/agents/{id}/enroll", h.enroll)
	mux.HandleFunc("GET /agent/ws", h.accept)
	h.server = httptest.NewServer(mux)
	t.Cleanup(h.server.Close)
	return h
}

func (h *testHub) pin() string { return wire.FormatPublicKey(public(h.key)) }

func (h *testHub) enroll(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enrolled++
	var body struct {
		PublicKey string `json:"public_key"`
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, wire.MaxEnrolBody)).Decode(&body)
	key, err := wire.ParsePublicKey(body.PublicKey)
	status := h.refuse
	switch {
	case status != 0:
	case r.Header.Get("Authorization") != "Bearer "+token:
		status = http.StatusUnauthorized
	case err != nil:
		status = http.StatusBadRequest
	case h.machine != nil && !h.machine.Equal(key):
		status = http.StatusConflict
	default:
		h.machine = key
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "agent_id": r.PathValue("id")})
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": map[string]string{"code": "refused", "message": "no"}})
}

func (h *testHub) accept(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(wire.MaxDiscard)
	if h.raw != nil {
		h.raw(ws)
		return
	}
	if !h.handshake(r.Context(), ws) {
		_ = ws.Close(websocket.StatusCode(wire.CloseUnauthorized), "no")
		return
	}
	tun := &tunnel{t: h.t, ws: ws, waiting: map[string]chan *wire.Response{}, pushed: make(chan wire.Frame, 1024), over: make(chan struct{})}
	tun.write(&wire.Policy{})
	h.tunnels <- tun
	tun.read(r.Context())
}

func (h *testHub) handshake(ctx context.Context, ws *websocket.Conn) bool {
	register, ok := receive(ctx, ws).(*wire.Register)
	if !ok || !register.Signed() {
		return false
	}
	nonce := make([]byte, wire.NonceSize)
	rand.Read(nonce)
	transcript, err := wire.Transcript(register.AgentID, register.ClientNonce, nonce)
	if err != nil {
		return false
	}
	sig, err := wire.Sign(h.key, transcript)
	if err != nil {
		return false
	}
	transmit(ctx, ws, &wire.Challenge{ServerNonce: nonce, ServerSig: sig})
	auth, ok := receive(ctx, ws).(*wire.Auth)
	h.mu.Lock()
	defer h.mu.Unlock()
	return ok && h.machine != nil && wire.Verify(transcript, auth.AgentSig, h.machine) == nil
}

func receive(ctx context.Context, ws *websocket.Conn) wire.Frame {
	_, data, err := ws.Read(ctx)
	if err != nil {
		return nil
	}
	f, err := wire.Decode(data)
	if err != nil {
		return nil
	}
	return f
}

func transmit(ctx context.Context, ws *websocket.Conn, f wire.Frame) {
	data, err := wire.Encode(f)
	if err != nil {
		panic(err)
	}
	_ = ws.Write(ctx, websocket.MessageText, data)
}

// tunnel is an accepted session, seen from the hub.
type tunnel struct {
	t       *testing.T
	ws      *websocket.Conn
	mu      sync.Mutex
	waiting map[string]chan *wire.Response
	pushed  chan wire.Frame // telemetry, logs, pings
	over    chan struct{}
	code    websocket.StatusCode // after over
}

func (c *tunnel) write(f wire.Frame) { transmit(context.Background(), c.ws, f) }

func (c *tunnel) read(ctx context.Context) {
	defer close(c.over)
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			c.code = websocket.CloseStatus(err)
			return
		}
		f, err := wire.DecodeFromMachine(data)
		if err != nil {
			c.t.Errorf("a frame no hub accepts: %v", err)
			continue
		}
		if resp, ok := f.(*wire.Response); ok {
			c.mu.Lock()
			ch := c.waiting[resp.ID]
			c.mu.Unlock()
			ch <- resp
			continue
		}
		c.pushed <- f
	}
}

// ask calls a tool and gives its outcome.
func (c *tunnel) ask(tool, args string) (jsontext.Value, *wire.Error) {
	c.t.Helper()
	return (<-c.start(tool, args)).Outcome()
}

func (c *tunnel) start(tool, args string) chan *wire.Response {
	id := uuid.NewString()
	ch := make(chan *wire.Response, 1)
	c.mu.Lock()
	c.waiting[id] = ch
	c.mu.Unlock()
	c.write(&wire.Request{ID: id, Tool: tool, Args: jsontext.Value(args)})
	return ch
}

// next waits for a pushed frame of a kind.
func next[F wire.Frame](c *tunnel) F {
	c.t.Helper()
	for {
		select {
		case f := <-c.pushed:
			if want, ok := f.(F); ok {
				return want
			}
		case <-c.over:
			c.t.Fatal("the session ended")
		}
	}
}

// started is an endpoint under test.
type started struct {
	*Endpoint
	stop func()
	err  error // after stop
}

// options are those of a machine that is about to enrol.
func (h *testHub) options(t *testing.T) Options {
	return Options{
		State: t.TempDir(), Token: token, Version: "1.2.3", Program: "/nonexistent", sections: []string{"uptime"},
		Config: Config{URL: h.server.URL, ID: machine, ServerKeys: []string{h.pin()}},
	}
}

func open(t *testing.T, opts Options) *Endpoint {
	t.Helper()
	e, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// launch runs an endpoint until stop, or the end of the test.
func launch(t *testing.T, opts Options) *started {
	t.Helper()
	s := &started{Endpoint: open(t, opts)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.err = s.Run(ctx)
	}()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			<-done
			s.Close()
		})
	}
	t.Cleanup(s.stop)
	return s
}

// connected gives an endpoint and its hub's side.
func connected(t *testing.T) (*testHub, *started, *tunnel) {
	t.Helper()
	h := newHub(t)
	e := launch(t, h.options(t))
	return h, e, <-h.tunnels
}

func codeIs(t *testing.T, what string, err *wire.Error, want wire.Code) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%s: done, want %s", what, want)
	case err != nil && err.Code != want:
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func as[T any](t *testing.T, raw jsontext.Value, err *wire.Error) T {
	t.Helper()
	var v T
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v; want no error", raw, err)
	}
	return v
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// eventually is for what happens in another goroutine and cannot be waited for.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
