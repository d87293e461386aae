package tunnel_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	sdk "parley.internal/client/kenny"
	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; never how long it takes.
const patience = 2 * time.Minute

// hub is a hub with machines and nothing else, on a real listener.
type hub struct {
	t      testing.TB
	db     *store.DB
	key    ed25519.PrivateKey
	fleet  *fleet.Fleet
	face   *tunnel.Face
	inbox  *approval.Inbox
	trail  *audit.Chain
	people *identity.Directory
	owner  identity.Person
	token  string
	server *httptest.Server
	stop   func()
	// errors is what the hub's log calls an error.
	errors *complaints
}

// complaints is a log that keeps only errors.
type complaints struct {
	slog.Handler
	mu   sync.Mutex
	list []string
}

func (c *complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, r.Message)
	return nil
}

// options change a hub before it starts.
type options struct {
	fleet  func(*fleet.Deps)
	tunnel tunnel.Limits
	db     *store.DB
	key    ed25519.PrivateKey
	bus    bus.Bus
	// tight gives connections hardly any room for what the hub sends.
	tight bool
}

func newHub(t testing.TB, o options) *hub {
	t.Helper()
	ctx := t.Context()
	h := &hub{errors: &complaints{}, t: t, db: o.db, key: o.key}
	if h.db == nil {
		h.db = storetest.SQLite(t)
	}
	if h.key == nil {
		_, h.key, _ = ed25519.GenerateKey(rand.Reader)
	}
	if o.bus == nil {
		local := bus.NewLocal()
		t.Cleanup(func() { check(t, local.Close()) })
		o.bus = local
	}
	leases := must(lease.Join(ctx, h.db, "test", lease.Options{Alone: o.db == nil}))(t)
	h.trail = must(audit.Open(ctx, h.db, audit.Options{Key: h.key}))(t)
	h.people = must(identity.Open(ctx, h.db, o.bus, identity.Options{Recheck: 20 * time.Millisecond}))(t)
	first := must(h.people.Bootstrap(ctx, "owner"))(t)
	h.owner, h.token = first.Owner, first.Secret
	h.inbox = must(approval.Open(ctx, h.db, o.bus, approval.Options{}))(t)
	deps := fleet.Deps{
		DB: h.db, Bus: o.bus, Leases: leases, Audit: h.trail, Inbox: h.inbox, Key: h.key, Alone: true,
		URL: func() string { return h.server.URL }, Owner: func(context.Context) string { return h.owner.ID },
		Limits: fleet.Limits{Drain: 100 * time.Millisecond, Settle: time.Millisecond},
	}
	if o.fleet != nil {
		o.fleet(&deps)
	}
	h.fleet = must(fleet.New(deps))(t)
	check(t, h.fleet.Start(ctx))
	guard := must(wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}}))(t)
	door := front.New(front.Deps{People: h.people, Guard: guard, Logger: slog.New(h.errors)})
	h.face = tunnel.New(tunnel.Deps{Fleet: h.fleet, Front: door, Limits: o.tunnel})
	routes := front.NewRoutes(door)
	rest := api.New(routes, door, "test")
	stopping := make(chan struct{})
	live := api.Live{Inbox: h.inbox, People: h.people, Fleet: h.fleet, Stopping: stopping}
	api.RegisterFleet(rest, h.fleet, live)
	api.RegisterEvents(rest, live)
	h.face.Routes(routes)
	h.server = httptest.NewUnstartedServer(door.Wrap(routes))
	if o.tight {
		h.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			check(t, c.(*net.TCPConn).SetWriteBuffer(4096))
			return ctx
		}
	}
	h.server.Start()
	h.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		close(stopping)
		check(t, h.face.Close(ctx))
		check(t, h.fleet.Close(ctx))
		h.server.Close()
		check(t, h.inbox.Close())
		check(t, h.people.Close())
		check(t, h.trail.Close())
		check(t, leases.Close(ctx))
	})
	t.Cleanup(h.stop)
	return h
}

// op is the owner on a page, who may do everything and is not asked.
func (h *hub) op() identity.Actor {
	s := identity.Local(h.owner)
	s.Credential = identity.ViaPage
	return s
}

// scoped is a caller with some scopes.
func (h *hub) scoped(surface identity.Where, scopes ...string) identity.Actor {
	s := identity.Local(h.owner)
	s.Owner, s.Scopes = false, identity.Expand(scopes...)
	return s
}

// enrol makes a machine and gives its key.
func (h *hub) enrol(id string) ed25519.PrivateKey {
	h.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(h.t, err)
	minted := must(h.fleet.Mint(h.t.Context(), h.op(), fleet.MintRequest{Machine: id}))(h.t)
	if err := sdk.Enroll(h.t.Context(), h.server.URL, id, minted.Token, public); err != nil {
		h.t.Fatal(err)
	}
	return private
}

// machine is an endpoint made of functions, on the SDK.
type machine struct {
	h       *hub
	id      string
	client  *sdk.Client
	stop    func()
	up      chan struct{}
	down    chan error
	mu      sync.Mutex
	rules   []kenny.Rule
	policy  chan int
	answers func(ctx context.Context, r *kenny.Request) (jsontext.Value, error)
}

func (m *machine) Call(ctx context.Context, r *kenny.Request) (jsontext.Value, error) {
	if m.answers != nil {
		return m.answers(ctx, r)
	}
	return jsontext.Value(`{"tool":"` + r.Tool + `"}`), nil
}

func (m *machine) Policy(rules []kenny.Rule) {
	m.mu.Lock()
	m.rules = rules
	m.mu.Unlock()
	select {
	case m.policy <- len(rules):
	default:
	}
}

// start connects an enrolled machine with the SDK and waits until it is accepted.
func (h *hub) start(id string, key ed25519.PrivateKey, change ...func(*sdk.Config, *machine)) *machine {
	h.t.Helper()
	m := &machine{h: h, id: id, up: make(chan struct{}, 16), down: make(chan error, 16), policy: make(chan int, 64)}
	cfg := sdk.Config{
		URL: h.server.URL, AgentID: id, Key: key, ServerKeys: []ed25519.PublicKey{h.key.Public().(ed25519.PublicKey)},
		Meta: kenny.Meta{Hostname: strings.ToUpper(id), OS: kenny.Linux, Version: "1.0.0", Arch: "amd64", Extra: map[string]jsontext.Value{kenny.ProgramKey: jsontext.Value(`"parley"`)}}, Handler: m,
		OnConnect: func() { m.up <- struct{}{} }, OnDisconnect: func(err error) { m.down <- err },
	}
	for _, c := range change {
		c(&cfg, m)
	}
	m.client = must(sdk.New(cfg))(h.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = m.client.Run(ctx) }()
	m.stop = sync.OnceFunc(func() { cancel(); <-done })
	h.t.Cleanup(m.stop)
	receive(h.t, m.up, "the machine's session")
	return m
}

// join enrols and starts.
func (h *hub) join(id string, change ...func(*sdk.Config, *machine)) *machine {
	h.t.Helper()
	return h.start(id, h.enrol(id), change...)
}

// answering gives a machine its tools.
func answering(f func(ctx context.Context, r *kenny.Request) (jsontext.Value, error)) func(*sdk.Config, *machine) {
	return func(_ *sdk.Config, m *machine) { m.answers = f }
}

// call makes a call as the operator.
func (h *hub) call(id, tool, args string) (call.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return h.fleet.Call(ctx, h.op(), call.Request{Machine: id, Tool: tool, Args: jsontext.Value(args)})
}

// wantCode checks an error's code and gives its message.
func wantCode(t testing.TB, err error, code fault.Code) string {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e.Message
}

// raw is a connection with no SDK between.
type raw struct {
	t  testing.TB
	ws *websocket.Conn
}

func (h *hub) dial() *raw {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, strings.Replace(h.server.URL, "http", "ws", 1)+"/agent/ws", &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if resp != nil {
			h.t.Fatalf("dial: %v (%d)", err, resp.StatusCode)
		}
		h.t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	h.t.Cleanup(func() { _ = ws.CloseNow() })
	return &raw{t: h.t, ws: ws}
}

func (r *raw) send(text string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) say(f kenny.Frame) {
	r.t.Helper()
	r.send(string(must(kenny.Encode(f))(r.t)))
}

func (r *raw) hear() kenny.Frame {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, data, err := r.ws.Read(ctx)
	if err != nil {
		r.t.Fatalf("nothing heard: %v", err)
	}
	return must(kenny.Decode(data))(r.t)
}

// closed reads until the hub hangs up and gives the code.
func (r *raw) closed() kenny.CloseCode {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, _, err := r.ws.Read(ctx)
		if err != nil {
			return kenny.CloseCode(websocket.CloseStatus(err))
		}
	}
}

func register(id string, nonce []byte) *kenny.Register {
	return &kenny.Register{AgentID: id, Protocol: kenny.Version, ClientNonce: nonce, Meta: kenny.Meta{Hostname: "H", OS: kenny.Linux, Version: "1", Arch: "amd64", Extra: map[string]jsontext.Value{kenny.ProgramKey: jsontext.Value(`"parley"`)}}}
}

func newNonce() []byte {
	n := make([]byte, kenny.NonceSize)
	_, _ = rand.Read(n)
	return n
}

// shake does the handshake by hand up to the policy.
func (r *raw) shake(id string, key ed25519.PrivateKey) {
	r.t.Helper()
	nonce := newNonce()
	r.say(register(id, nonce))
	c, ok := r.hear().(*kenny.Challenge)
	if !ok {
		r.t.Fatal("no challenge")
	}
	transcript := must(kenny.Transcript(id, nonce, c.ServerNonce))(r.t)
	r.say(&kenny.Auth{AgentSig: must(kenny.Sign(key, transcript))(r.t)})
	if _, ok := r.hear().(*kenny.Policy); !ok {
		r.t.Fatal("the first frame of a session is no policy")
	}
}

// rawMachine is an enrolled machine on a raw connection.
func (h *hub) rawMachine(id string) (*raw, ed25519.PrivateKey) {
	h.t.Helper()
	key := h.enrol(id)
	r := h.dial()
	r.shake(id, key)
	h.presence(id, fleet.Online) // the policy is heard a moment earlier
	return r, key
}

func (h *hub) machine(id string) fleet.Machine {
	h.t.Helper()
	return must(h.fleet.Machine(context.Background(), h.op(), id))(h.t)
}

// until waits for something that must become so.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func (h *hub) presence(id string, want fleet.Presence) {
	h.t.Helper()
	until(h.t, fmt.Sprintf("%s is %s", id, want), func() bool { return h.machine(id).Presence == want })
}

// rest makes a REST request as the owner, or with another token.
func (h *hub) rest(method, path, body string, token ...string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, h.server.URL+path, strings.NewReader(body))
	check(h.t, err)
	switch {
	case len(token) == 0:
		req.Header.Set("Authorization", "Bearer "+h.token)
	case token[0] != "":
		req.Header.Set("Authorization", "Bearer "+token[0])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	check(h.t, err)
	return resp.StatusCode, string(data)
}

func receive[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
