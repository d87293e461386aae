package mcp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/wsconn"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "mcp.", "approval.elicited") }

// patience is how long a test waits for what must happen; never how long it takes.
const patience = 2 * time.Minute

const (
	withSessions = "2025-11-25"
	standalone   = "2026-07-28"
)

var bothKinds = []string{withSessions, standalone}

// rig is a face behind a real socket, and the people who may use it.
type rig struct {
	t      testing.TB
	people *identity.Directory
	owner  identity.Person
	face   *facemcp.Face
	server *httptest.Server
	trail  *trail
	token  string // the owner's
	db     *store.DB
	bus    bus.Bus
	front  *front.Front
	// more adds to what the server serves.
	more func(*front.Routes)
}

// trail remembers what was noted.
type trail struct {
	audit.Nowhere
	mu  sync.Mutex
	all []audit.Entry
}

func (l *trail) Note(entries ...audit.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, entries...)
}

func (l *trail) entries() []audit.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]audit.Entry{}, l.all...)
}

func newRig(t testing.TB, limits facemcp.Limits, sets ...facemcp.Toolset) *rig {
	t.Helper()
	r := newBase(t)
	r.serve(limits, sets)
	return r
}

// newBase is a rig that serves nothing yet.
func newBase(t testing.TB) *rig {
	t.Helper()
	db, local := storetest.SQLite(t), bus.NewLocal()
	people := must(identity.Open(t.Context(), db, local, identity.Options{Recheck: 20 * time.Millisecond}))(t)
	first := must(people.Bootstrap(t.Context(), "owner"))(t)
	t.Cleanup(func() { check(t, people.Close()); check(t, local.Close()) })
	guard := must(wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}}))(t)
	entrance := front.New(front.Deps{People: people, Guard: guard, Logger: slog.New(slog.DiscardHandler)})
	return &rig{t: t, people: people, owner: first.Owner, token: first.Secret, trail: &trail{}, db: db, bus: local, front: entrance}
}

func (r *rig) serve(limits facemcp.Limits, sets []facemcp.Toolset) {
	r.serveAt("127.0.0.1:0", limits, sets)
}

func (r *rig) serveAt(address string, limits facemcp.Limits, sets []facemcp.Toolset) {
	r.face = must(facemcp.New(facemcp.Deps{
		Toolsets: sets, Front: r.front, People: r.people, Trail: trailtest.Watch(r.trail), Log: slog.New(slog.DiscardHandler), Version: "test", Limits: limits,
	}))(r.t)
	routes := front.NewRoutes(r.front)
	r.face.Mount(routes)
	if r.more != nil {
		r.more(routes)
	}
	r.server = &httptest.Server{Listener: must(net.Listen("tcp", address))(r.t), Config: &http.Server{Handler: r.front.Wrap(routes)}}
	r.server.Start()
	r.t.Cleanup(r.stop)
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	check(r.t, r.face.Close(ctx))
	r.server.CloseClientConnections()
	r.server.Close()
}

// newToken makes a token of a person with scopes.
func (r *rig) newToken(person string, scopes ...string) identity.Issued {
	r.t.Helper()
	return must(r.people.CreateToken(context.Background(), identity.Local(r.owner), identity.TokenRequest{Name: "t", Principal: person, Scopes: scopes}))(r.t)
}

// bearer adds a token, and what else a test wants, to every request.
type bearer struct {
	token  string
	header http.Header
	next   http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	maps.Copy(r.Header, b.header)
	return b.next.RoundTrip(r)
}

// options is how a test's client differs from the usual.
type options struct {
	token  string
	header http.Header
	client sdk.ClientOptions
}

// connect is a client as programs have it.
func (r *rig) connect(path, revision string, o options) *sdk.ClientSession {
	r.t.Helper()
	session, err := r.dial(path, revision, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return session
}

func (r *rig) dial(path, revision string, o options) (*sdk.ClientSession, error) {
	if o.token == "" {
		o.token = r.token
	}
	transport := &sdk.StreamableClientTransport{
		Endpoint: r.server.URL + path, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer{o.token, o.header, r.server.Client().Transport}},
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, &o.client)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		r.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// call calls a tool and gives the text of its answer.
func call(t testing.TB, s *sdk.ClientSession, name string, args any) (text string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result := must(s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args}))(t)
	return textOf(result), result.IsError
}

func textOf(result *sdk.CallToolResult) string {
	var all strings.Builder
	for _, c := range result.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			all.WriteString(text.Text)
		}
	}
	return all.String()
}

// works and fails hold a call to its outcome.
func works(t testing.TB, s *sdk.ClientSession, name string, args any, want string) {
	t.Helper()
	if text, failed := call(t, s, name, args); failed || text != want {
		t.Errorf("%s(%v): %q (failed: %v), want %q", name, args, text, failed, want)
	}
}

func fails(t testing.TB, s *sdk.ClientSession, name string, args any, want string) {
	t.Helper()
	if text, failed := call(t, s, name, args); !failed || !strings.HasPrefix(text, want) {
		t.Errorf("%s(%v): %q (failed: %v), want %q", name, args, text, failed, want)
	}
}

// post is a request by hand.
func (r *rig) post(path, body string, header map[string]string) (*http.Response, string) {
	r.t.Helper()
	return r.send(http.MethodPost, path, body, header)
}

func (r *rig) send(method, path, body string, header map[string]string) (*http.Response, string) {
	r.t.Helper()
	req := must(http.NewRequestWithContext(r.t.Context(), method, r.server.URL+path, strings.NewReader(body)))(r.t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+r.token)
	for name, value := range header {
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	res := must(r.server.Client().Do(req))(r.t)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.t.Fatal(err)
	}
	return res, string(text)
}

// eventually waits for a condition that must come about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(5 * time.Millisecond)
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
