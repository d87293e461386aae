package board_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/face/board"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/terminal"
	"parley.internal/internal/work"
	"parley.internal/internal/workspace"
	"parley.internal/internal/wsconn"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "auth.", "board.", "origin.refused") }

// patience is how long a test waits for what must happen; never how long it takes.
const patience = 60 * time.Second

// hub is everything behind /ws.
type hub struct {
	t         testing.TB
	workspace string
	trail     *audit.Chain
	people    *identity.Directory
	owner     identity.Person
	token     string // the owner's
	inbox     *approval.Inbox
	work      *work.Work
	terminals *terminal.Terminals
	face      *board.Face
	server    *httptest.Server
}

type setting func(*board.Deps)

func limits(l board.Limits) setting { return func(d *board.Deps) { d.Limits = l } }

func newHub(t testing.TB, settings ...setting) *hub {
	t.Helper()
	h := &hub{t: t, workspace: t.TempDir()}
	ctx := t.Context()
	db := storetest.SQLite(t)
	local := bus.NewLocal()
	t.Cleanup(func() { check(t, local.Close()) })
	leases := must(lease.Join(ctx, db, "test", lease.Options{Alone: true}))(t)
	t.Cleanup(func() { check(t, leases.Close(context.Background())) })
	h.trail = must(audit.Open(ctx, db, audit.Options{}))(t)
	t.Cleanup(func() { check(t, h.trail.Close()) })
	h.people = must(identity.Open(ctx, db, local, identity.Options{Audit: h.trail, Recheck: 20 * time.Millisecond}))(t)
	t.Cleanup(func() { check(t, h.people.Close()) })
	first := must(h.people.Bootstrap(ctx, "owner"))(t)
	h.owner, h.token = first.Owner, first.Secret
	h.inbox = must(approval.Open(ctx, db, local, approval.Options{Audit: h.trail, Recheck: 20 * time.Millisecond}))(t)
	t.Cleanup(func() { check(t, h.inbox.Close()) })
	h.terminals = must(terminal.New(terminal.Deps{Workspace: workspace.Always(h.workspace), Audit: h.trail, Mask: mask.New(func() []string { return []string{"top-secret-value"} })}))(t)
	t.Cleanup(func() { check(t, h.terminals.Close()) })
	dir := t.TempDir()
	agents := must(brain.OpenLibrary(filepath.Join(dir, "agents"), slog.New(slog.DiscardHandler)))(t)
	must(agents.Put(ctx, identity.Hub(), "parley", []byte("---\ntools: [\"*\"]\n---\nYou are Parley.\n")))(t)
	models := must(brain.OpenCatalogue(brain.CatalogueOptions{Dir: dir, Getenv: func(string) string { return "" }}))(t)
	tools := builtin.Tools(builtin.Config{})
	h.work = must(work.New(work.Deps{
		Policy: must(builtin.NewPolicy(builtin.PolicyOptions{Boxed: true}))(t),
		DB:     db, Log: eventlog.New(db, local, slog.New(slog.DiscardHandler)), Leases: leases, Bus: local, Agents: agents, Models: models,
		Inbox: h.inbox, Audit: h.trail, Workspace: workspace.Always(h.workspace), Ended: func(who identity.Actor) bool {
			_, err := h.people.Standing(context.Background(), who)
			return errors.Is(err, identity.ErrRefused)
		},
		Tools: func(context.Context, work.ToolScope) ([]*tool.Tool, error) { return slices.Clone(tools), nil },
	}))(t)
	check(t, h.work.Start(ctx))
	h.serve(settings)
	return h
}

func (h *hub) serve(settings []setting) {
	guard := must(wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}}))(h.t)
	d := board.Deps{
		Work: h.work, Terminals: h.terminals, People: h.people, Version: "test", Trail: trailtest.Watch(h.trail),
		Front: front.New(front.Deps{People: h.people, Guard: guard, Trail: trailtest.Watch(h.trail), Logger: slog.New(slog.DiscardHandler)}),
		// Tests come from one address, and in a hurry.
		Limits: board.Limits{Unauthenticated: 100, AuthPerMinute: 10_000},
	}
	for _, s := range settings {
		s(&d)
	}
	if os.Getenv("PARLEY_TEST_LOG") != "" {
		d.Log = slog.Default()
	}
	h.face = board.New(d)
	routes := front.NewRoutes(d.Front)
	routes.Handle(h.face.Route(), h.face)
	h.server = httptest.NewUnstartedServer(d.Front.Wrap(routes))
	// The system's own buffers hold megabytes; here not reading shows soon.
	h.server.Config.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(64 << 10) // then it shows later
		}
		return ctx
	}
	h.server.Start()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing that still runs is waited for
		check(h.t, h.work.Close(ctx))
		_ = h.face.Close(ctx)
		h.server.Close()
	})
}

// newToken makes a token of a person with scopes.
func (h *hub) newToken(person string, scopes ...string) identity.Issued {
	h.t.Helper()
	return h.issue(identity.TokenRequest{Name: "t", Principal: person, Scopes: scopes})
}

func (h *hub) issue(r identity.TokenRequest) identity.Issued {
	h.t.Helper()
	return must(h.people.CreateToken(context.Background(), identity.Local(h.owner), r))(h.t)
}

// client is a board written from the base protocol's text alone: envelopes,
// types and payloads, nothing else.
type client struct {
	t       testing.TB
	ws      *websocket.Conn
	welcome frame
	// seen is every frame received.
	seen []frame
}

type frame struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	ReplyTo   string          `json:"reply_to"`
	Payload   json.RawMessage `json:"payload"`
}

type obj = map[string]any

// get digs a value out of a frame's payload: "error.type".
func (f frame) get(path string) any {
	var v any
	_ = json.Unmarshal(f.Payload, &v)
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(obj)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func (f frame) text(path string) string {
	s, _ := f.get(path).(string)
	return s
}

func (f frame) number(path string) int64 {
	n, _ := f.get(path).(float64)
	return int64(n)
}

func (f frame) String() string {
	return fmt.Sprintf("%s %s (reply to %q)", f.Type, f.Payload, f.ReplyTo)
}

func (h *hub) tryDial(header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, res, err := websocket.Dial(ctx, h.server.URL+"/ws", &websocket.DialOptions{HTTPHeader: header})
	if err == nil {
		ws.SetReadLimit(64 << 20)
		h.t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, res, err
}

// dial connects and reads the welcome.
func (h *hub) dial() *client {
	h.t.Helper()
	ws, _, err := h.tryDial(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	c := &client{t: h.t, ws: ws}
	c.welcome = c.next()
	if c.welcome.Type != "connection:welcome" {
		h.t.Fatalf("the first frame is %s", c.welcome)
	}
	return c
}

// connect authenticates with a token, asking for scopes.
func (h *hub) connect(token string, scopes ...string) *client {
	h.t.Helper()
	c := h.dial()
	if len(scopes) == 0 {
		scopes = []string{"*", "terminal:create"}
	}
	if f := c.auth(token, scopes...); f.Type != "connection:authenticated" {
		h.t.Fatalf("not let in: %s", f)
	}
	return c
}

func (c *client) auth(token string, scopes ...string) frame {
	c.t.Helper()
	return c.ask("connection:auth", obj{"device_id": "laptop", "token": token, "role": "operator", "scopes": scopes})
}

func (c *client) send(typ string, payload any) string {
	c.t.Helper()
	id := uuid.NewString()
	c.sendAs(id, typ, payload)
	return id
}

func (c *client) sendAs(id, typ string, payload any) {
	c.t.Helper()
	data := must(json.Marshal(obj{"type": typ, "id": id, "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "payload": payload}))(c.t)
	c.raw(websocket.MessageText, data)
}

func (c *client) raw(kind websocket.MessageType, data []byte) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.ws.Write(ctx, kind, data); err != nil {
		c.t.Fatal(err)
	}
}

// tryNext reads one frame, or why there is none.
func (c *client) tryNext() (frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, data, err := c.ws.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if kind != websocket.MessageText {
		c.t.Errorf("a binary frame")
	}
	if err := json.Unmarshal(data, &f); err != nil {
		c.t.Errorf("%s: %v", data, err)
	}
	c.seen = append(c.seen, f)
	return f, nil
}

func (c *client) next() frame {
	c.t.Helper()
	f, err := c.tryNext()
	if err != nil {
		c.t.Fatalf("no frame: %v; before: %v", err, c.types())
	}
	return f
}

func (c *client) types() []string {
	var all []string
	for _, f := range c.seen {
		all = append(all, f.Type)
	}
	return all
}

// await reads until a frame of a type comes.
func (c *client) await(typ string) frame {
	c.t.Helper()
	return c.until(func(f frame) bool { return f.Type == typ })
}

func (c *client) until(ok func(frame) bool) frame {
	c.t.Helper()
	for {
		if f := c.next(); ok(f) {
			return f
		}
	}
}

// ask sends a request and reads until its answer.
func (c *client) ask(typ string, payload any) frame {
	c.t.Helper()
	id := c.send(typ, payload)
	return c.until(func(f frame) bool { return f.ReplyTo == id })
}

// submit hands over a goal with deltas; options may say otherwise.
func (c *client) submit(goal string, options obj) string {
	c.t.Helper()
	if options == nil {
		options = obj{}
	}
	if _, ok := options["stream_deltas"]; !ok {
		options["stream_deltas"] = true
	}
	f := c.ask("task:submit", obj{"idempotency_key": uuid.NewString(), "goal": goal, "messages": []any{}, "options": options})
	if f.Type != "task:started" {
		c.t.Fatalf("not started: %s", f)
	}
	return f.text("task_id")
}

// closed reads until the connection is over and gives its code.
func (c *client) closed() websocket.StatusCode {
	c.t.Helper()
	for {
		if _, err := c.tryNext(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				c.t.Fatal("the connection is still there")
			}
			return websocket.CloseStatus(err)
		}
	}
}

// wantError checks an error's code and reason.
func wantError(t testing.TB, f frame, code, reason string) {
	t.Helper()
	if f.Type != "connection:error" || f.text("code") != code || f.text("details.reason") != reason || f.text("message") == "" {
		t.Errorf("got %s, want %s/%s", f, code, reason)
	}
}

// wantFatal checks an error and the close behind it.
func (c *client) wantFatal(f frame, code, reason string, close websocket.StatusCode) {
	c.t.Helper()
	wantError(c.t, f, code, reason)
	if got := c.closed(); got != close {
		c.t.Errorf("closed with %d, want %d", got, close)
	}
}

// alive checks that a connection still answers.
func (c *client) alive() {
	c.t.Helper()
	if f := c.ask("ping", obj{}); f.Type != "pong" {
		c.t.Errorf("got %s", f)
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

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// actions are what the trail has.
func (h *hub) actions(prefix string) []audit.Record {
	h.t.Helper()
	var found []audit.Record
	for _, r := range must(h.trail.Query(context.Background(), audit.Filter{Limit: 1000}))(h.t) {
		if strings.HasPrefix(string(r.Action), prefix) {
			found = append(found, r)
		}
	}
	return found
}

func must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }
