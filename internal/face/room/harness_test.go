package room_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	faceroom "parley.internal/internal/face/room"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kibitz"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) {
	trailtest.Main(m, "room.", "!room.reaped", "!room.withheld", "!room.tool", "file.shared")
}

// patience is how long a test waits for what must happen; never how long it takes.
const patience = 2 * time.Minute

type obj = map[string]any

// hub is a hub with rooms on a real socket.
type hub struct {
	files  *files.Store
	t      testing.TB
	db     *store.DB
	bus    *bus.Local
	leases *lease.Leases
	trail  *audit.Chain
	people *identity.Directory
	owner  identity.Person
	rooms  *room.Rooms
	face   *faceroom.Face
	server *httptest.Server
	token  string // the owner's
	once   sync.Once
}

// notFound is what the whole hub says of files that are not there.
var notFound = []front.Mapping{{Is: files.ErrNotFound, Status: http.StatusNotFound, Code: "not_found"}}

type option func(*room.Deps, *faceroom.Deps)

func withRates(d *room.Deps, _ *faceroom.Deps) { d.Limits.NoRates = false }

func withFetch(fetch func(ctx context.Context, url string) ([]byte, error)) option {
	return func(d *room.Deps, _ *faceroom.Deps) { d.Fetch = fetch }
}

func newHub(t testing.TB, opts ...option) *hub {
	t.Helper()
	return newHubOn(t, storetest.SQLite(t), bus.NewLocal(), opts...)
}

func newHubOn(t testing.TB, db *store.DB, local *bus.Local, opts ...option) *hub {
	t.Helper()
	h := &hub{t: t, db: db, bus: local}
	ctx := context.Background()
	h.leases = must(lease.Join(ctx, db, "test", lease.Options{TTL: time.Minute}))(t)
	h.trail = must(audit.Open(ctx, db, audit.Options{}))(t)
	h.people = must(identity.Open(ctx, db, local, identity.Options{Recheck: 20 * time.Millisecond}))(t)
	first := must(h.people.Bootstrap(ctx, "owner"))(t)
	h.owner = must(h.people.Owner(ctx))(t)
	h.token = first.Secret
	if h.token == "" {
		h.token = must(h.people.NewOwnerToken(ctx, "test"))(t).Secret
	}
	d := room.Deps{DB: db, Leases: h.leases, Bus: local, Trail: trailtest.WatchTrail(h.trail), People: h.people, Limits: room.Limits{NoRates: true, Roster: time.Millisecond}}
	fd := faceroom.Deps{People: h.people}
	for _, o := range opts {
		o(&d, &fd)
	}
	h.rooms = must(room.New(d))(t)
	check(t, h.rooms.Start(ctx))
	guard := must(wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}}))(t)
	fd.Rooms, fd.Front = h.rooms, front.New(front.Deps{People: h.people, Guard: guard, Logger: slog.New(slog.DiscardHandler), Errors: notFound})
	h.face = faceroom.New(fd)
	routes := front.NewRoutes(fd.Front)
	routes.Handle(h.face.Route(), h.face)
	rest := api.New(routes, fd.Front, "test")
	api.RegisterRooms(rest, h.rooms, nil, h.people, nil)
	h.files = files.New(files.Deps{DB: db, Trail: trailtest.WatchTrail(h.trail)})
	api.RegisterRoomFiles(rest, h.rooms, h.files)
	h.server = httptest.NewServer(fd.Front.Wrap(routes))
	t.Cleanup(h.stop)
	return h
}

func (h *hub) stop() {
	h.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		check(h.t, h.rooms.Shutdown(ctx))
		check(h.t, h.face.Close(ctx))
		h.face.Shut()
		h.server.Close()
		check(h.t, h.people.Close())
		check(h.t, h.trail.Close())
		check(h.t, h.leases.Close(ctx))
		check(h.t, h.bus.Close())
	})
}

func (h *hub) newToken(person string, scopes ...string) identity.Issued {
	h.t.Helper()
	return must(h.people.CreateToken(context.Background(), identity.Local(h.owner), identity.TokenRequest{Name: "t", Principal: person, Scopes: scopes}))(h.t)
}

// call makes a REST request as the owner and gives status and body.
func (h *hub) call(method, path string, body any) (int, obj) {
	h.t.Helper()
	status, out, _ := h.callAs(h.token, method, path, body, nil)
	return status, out
}

func (h *hub) callAs(token, method, path string, body any, header http.Header) (int, obj, http.Header) {
	h.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		in = bytes.NewReader(must(json.Marshal(b))(h.t))
	}
	req := must(http.NewRequestWithContext(context.Background(), method, h.server.URL+path, in))(h.t)
	maps.Copy(req.Header, header)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res := must(h.server.Client().Do(req))(h.t)
	defer func() { _ = res.Body.Close() }()
	var out obj
	_ = json.NewDecoder(res.Body).Decode(&out)
	return res.StatusCode, out, res.Header
}

// open makes a room with a policy and gives its id.
func (h *hub) open(name string, policy obj) string {
	h.t.Helper()
	status, out := h.call("POST", "/api/rooms", obj{"room": name, "policy": policy})
	if status != http.StatusCreated {
		h.t.Fatalf("open: %d %v", status, out)
	}
	return out["room"].(string)
}

// setPolicy replaces a policy.
func (h *hub) setPolicy(id string, policy obj) {
	h.t.Helper()
	if status, out := h.call("PUT", "/api/rooms/"+id+"/policy", policy); status != http.StatusOK {
		h.t.Fatalf("policy: %d %v", status, out)
	}
}

func (h *hub) grant(id, participant string, words ...string) {
	h.t.Helper()
	if status, out := h.call("PUT", "/api/rooms/"+id+"/grants/"+participant, obj{"perceive": words, "act": words}); status != http.StatusOK {
		h.t.Fatalf("grant: %d %v", status, out)
	}
}

func (h *hub) command(id, op, target string) {
	h.t.Helper()
	if status, out := h.call("POST", "/api/rooms/"+id+"/commands", obj{"op": op, "target": target}); status != http.StatusOK {
		h.t.Fatalf("%s: %d %v", op, status, out)
	}
}

// audit waits until the trail has an entry that matches and gives it.
func (h *hub) audit(id string, match func(e room.AuditEntry) bool) room.AuditEntry {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ctx.Err() == nil {
		page := must(h.rooms.Audit(ctx, identity.Hub(), id, room.AuditQuery{Limit: 1000}))(h.t)
		for _, e := range page.Entries {
			if match(e) {
				return e
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	h.t.Fatal("no such entry in the trail")
	return room.AuditEntry{}
}

func kind(k, detail string) func(room.AuditEntry) bool {
	return func(e room.AuditEntry) bool { return e.Kind == k && e.Detail == detail }
}

// client is a raw WebSocket: nothing of an SDK stands before the hub.
type client struct {
	t      testing.TB
	h      *hub
	ws     *websocket.Conn
	room   string
	hello  *kibitz.Hello
	self   *kibitz.Self
	key    *kibitz.PrivateKey
	nonce  string
	mu     sync.Mutex
	cond   *sync.Cond
	frames []frame
	pos    int
	n      int
	err    error
	done   chan struct{}
}

type frame struct {
	raw string
	kibitz.Frame
}

// dialRaw opens a socket.
func (h *hub) dialRaw(path string, header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return websocket.Dial(ctx, h.server.URL+path, &websocket.DialOptions{HTTPHeader: header, HTTPClient: h.server.Client()})
}

// dial connects to a room; token may be empty.
func (h *hub) dial(id, token string) *client {
	h.t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	ws, _, err := h.dialRaw("/rooms/"+id+"/ws", header)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.read(ws, id)
}

func (h *hub) read(ws *websocket.Conn, id string) *client {
	h.t.Helper()
	ws.SetReadLimit(64 << 20)
	c := &client{t: h.t, h: h, ws: ws, room: id, done: make(chan struct{})}
	c.cond = sync.NewCond(&c.mu)
	go c.loop()
	h.t.Cleanup(func() { _ = ws.CloseNow(); <-c.done })
	c.hello = want[*kibitz.Hello](c)
	c.nonce = c.hello.Nonce
	return c
}

func (c *client) loop() {
	defer close(c.done)
	for {
		_, data, err := c.ws.Read(context.Background())
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.cond.Broadcast()
			c.mu.Unlock()
			return
		}
		f, err := kibitz.DecodeHub(data)
		if err != nil {
			c.t.Errorf("not a frame of the hub: %s: %v", data, err)
		}
		if ch, ok := f.(*kibitz.Challenge); ok {
			c.nonce = ch.Nonce
		}
		c.frames = append(c.frames, frame{string(data), f})
		c.cond.Broadcast()
		c.mu.Unlock()
	}
}

// want gives the next frame of a type that matches.
func want[T kibitz.Frame](c *client, match ...func(T) bool) T {
	c.t.Helper()
	f, err := await(c, match...)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.t.Fatalf("no %T: %v; after %v", f, err, c.last(6))
	}
	return f
}

func (c *client) last(n int) (out []string) {
	for _, f := range c.frames[max(0, len(c.frames)-n):] {
		out = append(out, f.raw[:min(len(f.raw), 300)])
	}
	return out
}

func await[T kibitz.Frame](c *client, match ...func(T) bool) (T, error) {
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = errors.New("waited too long")
		c.cond.Broadcast()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	var zero T
	for {
		for ; c.pos < len(c.frames); c.pos++ {
			f, ok := c.frames[c.pos].Frame.(T)
			for _, m := range match {
				ok = ok && m(f)
			}
			if ok {
				c.pos++
				return f, nil
			}
		}
		if c.err != nil {
			return zero, c.err
		}
		c.cond.Wait()
	}
}

// ever waits for a frame that has come at any time, also while something else was
// waited for.
func ever[T kibitz.Frame](c *client, match func(T) bool) T {
	c.t.Helper()
	c.mu.Lock()
	pos := c.pos
	c.pos = 0
	c.mu.Unlock()
	f := want(c, match)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pos = max(c.pos, pos)
	return f
}

// send writes any frame.
func (c *client) send(v any) {
	c.t.Helper()
	data, ok := v.(string)
	if !ok {
		data = string(must(json.Marshal(v))(c.t))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(data)); err != nil {
		c.t.Logf("write: %v", err)
	}
}

// ask sends a frame with n and gives its answer: exactly one.
func (c *client) ask(v obj) (*kibitz.Ack, *kibitz.Nak) {
	c.t.Helper()
	c.n++
	n := int64(c.n)
	v["n"] = n
	c.send(v)
	f := want[kibitz.Frame](c, func(f kibitz.Frame) bool {
		switch f := f.(type) {
		case *kibitz.Ack:
			return f.N == n
		case *kibitz.Nak:
			return f.N == n
		}
		return false
	})
	ack, _ := f.(*kibitz.Ack)
	nak, _ := f.(*kibitz.Nak)
	return ack, nak
}

// ok asks for something that must be accepted.
func (c *client) ok(v obj) *kibitz.Ack {
	c.t.Helper()
	ack, nak := c.ask(v)
	if nak != nil {
		c.t.Fatalf("%v: %s %s", v, nak.Code, nak.Reason)
	}
	return ack
}

// refused asks for something that must be refused with a code.
func (c *client) refused(code kibitz.Code, v obj) *kibitz.Nak {
	c.t.Helper()
	_, nak := c.ask(v)
	if nak == nil {
		c.t.Fatalf("%v was accepted", v)
	}
	if nak.Code != code {
		c.t.Errorf("%v: %s (%s), want %s", v, nak.Code, nak.Reason, code)
	}
	return nak
}

func chat(text string) obj { return obj{"t": "send", "c": obj{"k": "chat", "text": text}} }

func app(data any) obj { return obj{"t": "send", "c": obj{"k": "app", "data": data}} }

func view(v any) obj { return app(obj{"__kib_agent": "view", "view": v}) }

func act(v any) obj { return app(obj{"__kib_agent": "act", "action": v}) }

func schema(name, version string) obj {
	return obj{"t": "send", "c": obj{"k": "schema", "name": name, "version": version, "schema": obj{"type": "object"}}}
}

func directed(o obj, id string) obj {
	o["to"] = id
	return o
}

// say sends a line that must be accepted and gives its number.
func (c *client) say(text string) uint64 {
	c.t.Helper()
	return c.ok(chat(text)).Seq
}

// settled waits until everything that was done before has reached this client.
func (c *client) settled() {
	c.t.Helper()
	c.ok(obj{"t": "sync"})
}

// heard gives the content of from frames so far, as text.
func (c *client) heard() (out []string) {
	c.t.Helper()
	c.settled()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		if from, ok := f.Frame.(*kibitz.From); ok {
			out = append(out, string(from.C))
		}
	}
	return out
}

// everything is all text the client ever got.
func (c *client) everything() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, f := range c.frames {
		b.WriteString(f.raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// voice announces and waits until it is in.
func (c *client) voice(v obj) *client {
	c.t.Helper()
	if v == nil {
		v = obj{}
	}
	v["t"], v["on"] = "voice", true
	c.send(v)
	if l := want[*kibitz.Lobby](c); l.Status != kibitz.LobbyAdmitted {
		c.t.Fatalf("%s %s %s", l.Status, l.Code, l.Reason)
	}
	c.self = want[*kibitz.Self](c)
	want[*kibitz.Live](c)
	return c
}

// turnedAway announces and gives the refusal.
func (c *client) turnedAway(code kibitz.Code, v obj) *kibitz.Lobby {
	c.t.Helper()
	v["t"] = "voice"
	c.send(v)
	l := want[*kibitz.Lobby](c)
	if l.Code != code {
		c.t.Errorf("%s %s (%s), want %s", l.Status, l.Code, l.Reason, code)
	}
	return l
}

func (c *client) fp() string {
	return kibitz.ChannelFingerprint(must(kibitz.Origin(c.h.server.URL))(c.t), c.room, c.nonce)
}

// proof is an assertion on this connection.
func (c *client) proof(key *kibitz.PrivateKey) string {
	c.t.Helper()
	return must(kibitz.SignAssertion(key, c.room, c.fp(), time.Now()))(c.t)
}

// closed waits for the end and gives the close code.
func (c *client) closed(code int) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		c.t.Fatal("still open")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := int(websocket.CloseStatus(c.err)); got != code {
		c.t.Errorf("closed with %d (%v), want %d", got, c.err, code)
	}
}

// break cuts the connection without a word.
func (c *client) cut() {
	_ = c.ws.CloseNow()
	<-c.done
}

func newKey(t testing.TB) *kibitz.PrivateKey {
	t.Helper()
	return must(kibitz.NewPrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)))(t)
}

// guest joins an open room as a person.
func (h *hub) guest(id, name string) *client {
	h.t.Helper()
	return h.dial(id, "").voice(obj{"name": name})
}

// host joins as the hub's owner.
func (h *hub) host(id string) *client {
	h.t.Helper()
	return h.dial(id, h.token).voice(obj{"name": "Host"})
}

// agent joins by key, which the policy must list.
func (h *hub) agent(id string, key *kibitz.PrivateKey, more obj) *client {
	h.t.Helper()
	c := h.dial(id, "")
	c.key = key
	v := obj{"name": "Bot", "meta": obj{"role": "agent"}, "agentAssertion": c.proof(key)}
	maps.Copy(v, more)
	return c.voice(v)
}

// openTo is a policy for anybody, with these agent keys.
func openTo(keys ...*kibitz.PrivateKey) obj {
	list := []obj{}
	for _, k := range keys {
		list = append(list, obj{"key": k.Public()})
	}
	return obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "gated", "keys": list}}
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

func jsonUnmarshal(text string, v any) error { return json.Unmarshal([]byte(text), v) }
