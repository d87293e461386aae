package room_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kibitz"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "room.reaped", "room.withheld") }

const (
	origin   = "https://hub.example"
	patience = 5 * time.Minute // of the fake clock, mostly
)

type obj = map[string]any

var me = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner-id", Name: "owner"}}

// hub is one hub's rooms without a socket.
type hub struct {
	*room.Rooms
	t      testing.TB
	leases *lease.Leases
	trail  *audit.Chain
	bus    *bus.Local
	once   sync.Once
}

type option func(*room.Deps)

func clustered(d *room.Deps) { d.Clustered = true }

func withFetch(fetch func(ctx context.Context, url string) ([]byte, error)) option {
	return func(d *room.Deps) { d.Fetch = fetch }
}

func withRates(d *room.Deps) { d.Limits.NoRates = false }

func sqlite(t testing.TB) *store.DB {
	t.Helper()
	return storetest.Open(t, filepath.Join(t.TempDir(), "parley.db"))
}

func newHub(t testing.TB, db *store.DB, b *bus.Local, opts ...option) *hub {
	t.Helper()
	ctx := context.Background()
	h := &hub{t: t, bus: b}
	h.leases = must(lease.Join(ctx, db, "hub", lease.Options{}))(t)
	h.trail = must(audit.Open(ctx, db, audit.Options{}))(t)
	d := room.Deps{DB: db, Leases: h.leases, Bus: b, Trail: trailtest.WatchTrail(h.trail), Limits: room.Limits{NoRates: true}}
	for _, o := range opts {
		o(&d)
	}
	h.Rooms = must(room.New(d))(t)
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	return h
}

// alone is a hub on its own.
func alone(t testing.TB, opts ...option) *hub {
	t.Helper()
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	return newHub(t, sqlite(t), b, opts...)
}

func (h *hub) stop() {
	h.once.Do(func() {
		ctx := context.Background()
		if err := h.Shutdown(ctx); err != nil {
			h.t.Error(err)
		}
		if err := h.trail.Close(); err != nil {
			h.t.Error(err)
		}
		if err := h.leases.Close(ctx); err != nil {
			h.t.Error(err)
		}
	})
}

func (h *hub) open(name string, policy obj) string {
	h.t.Helper()
	info, err := h.Open(context.Background(), me, room.OpenRequest{Room: name, Policy: must(json.Marshal(policy))(h.t)})
	if err != nil {
		h.t.Fatal(err)
	}
	return info.Room
}

func (h *hub) command(id string, op kibitz.Op, target string) {
	h.t.Helper()
	if err := h.Command(context.Background(), me, id, room.HostCommand{Op: op, Target: target}); err != nil {
		h.t.Fatal(err)
	}
}

// entries reads the room's part of the trail.
func (h *hub) entries(id, kind string) (out []room.AuditEntry) {
	h.t.Helper()
	page := must(h.Audit(context.Background(), me, id, room.AuditQuery{Kind: kind, Limit: 1000}))(h.t)
	return page.Entries
}

// client is a connection in memory.
type client struct {
	t          testing.TB
	h          *hub
	room       string
	connection room.Connection
	self       *kibitz.Self
	nonce      string

	mu     sync.Mutex
	cond   *sync.Cond
	frames []frame
	pos, n int
	code   int
	late   bool
}

type frame struct {
	raw string
	kibitz.Frame
}

// Send implements room.Link.
func (c *client) Send(o *room.Out) {
	f, err := kibitz.DecodeHub(o.Data)
	if err != nil {
		c.t.Errorf("%s: %v", o.Data, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := f.(*kibitz.Challenge); ok {
		c.nonce = ch.Nonce
	}
	c.frames = append(c.frames, frame{string(o.Data), f})
	c.cond.Broadcast()
}

// Close implements room.Link.
func (c *client) Close(code int, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		c.code = code
	}
	c.cond.Broadcast()
}

// Admitted implements room.Link.
func (c *client) Admitted() {}

func (h *hub) dial(id string, session *identity.Actor) *client {
	h.t.Helper()
	c := &client{t: h.t, h: h, room: id}
	c.cond = sync.NewCond(&c.mu)
	connection, err := h.Enter(context.Background(), room.Entry{Room: id, Link: c, Origin: origin, Actor: session})
	if err != nil {
		h.t.Fatal(err)
	}
	c.connection = connection
	c.nonce = want[*kibitz.Hello](c).Nonce
	h.t.Cleanup(c.gone)
	return c
}

// gone is the end of the connection.
func (c *client) gone() {
	c.mu.Lock()
	v := c.connection
	c.connection = nil
	c.mu.Unlock()
	if v != nil {
		v.Gone()
	}
}

func want[T kibitz.Frame](c *client, match ...func(T) bool) T {
	c.t.Helper()
	f, err := await(c, match...)
	if err != nil {
		c.t.Fatalf("no %T: %v; after\n%s", f, err, strings.Join(c.last(8), "\n"))
	}
	return f
}

func (c *client) last(n int) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames[max(0, len(c.frames)-n):] {
		out = append(out, f.raw[:min(len(f.raw), 200)])
	}
	return out
}

func await[T kibitz.Frame](c *client, match ...func(T) bool) (T, error) {
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.late = true
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
		if c.late {
			return zero, errors.New("waited too long")
		}
		c.cond.Wait()
	}
}

// closed waits for the end and compares its code.
func (c *client) closed(code int) {
	c.t.Helper()
	c.mu.Lock()
	for c.code == 0 {
		c.cond.Wait()
	}
	got := c.code
	c.mu.Unlock()
	if got != code {
		c.t.Errorf("closed with %d, want %d", got, code)
	}
	c.gone()
}

func (c *client) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code == 0
}

func (c *client) send(v any) {
	c.t.Helper()
	c.connection.Receive(must(json.Marshal(v))(c.t))
}

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

func (c *client) ok(v obj) *kibitz.Ack {
	c.t.Helper()
	ack, nak := c.ask(v)
	if nak != nil {
		c.t.Fatalf("%v: %s %s", v, nak.Code, nak.Reason)
	}
	return ack
}

func (c *client) refused(code kibitz.Code, v obj) *kibitz.Nak {
	c.t.Helper()
	_, nak := c.ask(v)
	if nak == nil || nak.Code != code {
		c.t.Fatalf("%v: %+v, want %s", v, nak, code)
	}
	return nak
}

func (c *client) say(text string) uint64 {
	c.t.Helper()
	return c.ok(chat(text)).Seq
}

func (c *client) settled() { c.t.Helper(); c.ok(obj{"t": "sync"}) }

func (c *client) voice(v obj) *client {
	c.t.Helper()
	v["t"], v["on"] = "voice", true
	c.send(v)
	if l := want[*kibitz.Lobby](c); l.Status != kibitz.LobbyAdmitted {
		c.t.Fatalf("%+v", l)
	}
	c.self = want[*kibitz.Self](c)
	want[*kibitz.Live](c)
	return c
}

// resume takes up another client's presence on a new connection to h.
func (c *client) resume(h *hub, since uint64, more obj) *client {
	c.t.Helper()
	d := h.dial(c.room, nil)
	v := obj{"t": "resume", "resume": c.self.Resume, "since": since}
	maps.Copy(v, more)
	d.send(v)
	return d
}

// back resumes and must be let in.
func (c *client) back(h *hub, since uint64) *client {
	c.t.Helper()
	d := c.resume(h, since, nil)
	if l := want[*kibitz.Lobby](d); l.Status != kibitz.LobbyAdmitted {
		c.t.Fatalf("%+v", l)
	}
	d.self = want[*kibitz.Self](d)
	want[*kibitz.Live](d)
	return d
}

func (c *client) everything() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, f := range c.frames {
		b.WriteString(f.raw + "\n")
	}
	return b.String()
}

func (c *client) heard() (out []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		if from, ok := f.Frame.(*kibitz.From); ok {
			out = append(out, from.Seq)
		}
	}
	return out
}

func lastOf[T kibitz.Frame](c *client) (last T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.frames) {
		if r, ok := f.Frame.(T); ok {
			return r
		}
	}
	return last
}

func (c *client) proof(key *kibitz.PrivateKey) string {
	c.t.Helper()
	fp := kibitz.ChannelFingerprint(origin, c.room, c.nonce)
	return must(kibitz.SignAssertion(key, c.room, fp, time.Now()))(c.t)
}

func (h *hub) guest(id, name string) *client {
	h.t.Helper()
	return h.dial(id, nil).voice(obj{"name": name})
}

func (h *hub) host(id string) *client {
	h.t.Helper()
	s := identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner-id", Name: "owner"}, Scopes: identity.Expand("rooms")}
	return h.dial(id, &s).voice(obj{"name": "Host"})
}

func (h *hub) agent(id string, key *kibitz.PrivateKey, more obj) *client {
	h.t.Helper()
	c := h.dial(id, nil)
	v := obj{"name": "Bot", "agentAssertion": c.proof(key)}
	maps.Copy(v, more)
	return c.voice(v)
}

func chat(text string) obj { return obj{"t": "send", "c": obj{"k": "chat", "text": text}} }

func view(v any) obj {
	return obj{"t": "send", "c": obj{"k": "app", "data": obj{"__kib_agent": "view", "view": v}}}
}

func schema(name string) obj {
	return obj{"t": "send", "c": obj{"k": "schema", "name": name, "version": "1", "schema": obj{}}}
}

func openTo(keys ...*kibitz.PrivateKey) obj {
	list := []obj{}
	for _, k := range keys {
		list = append(list, obj{"key": k.Public()})
	}
	return obj{"humans": obj{"mode": "open"}, "agents": obj{"keys": list}}
}

func newKey(t testing.TB) *kibitz.PrivateKey {
	t.Helper()
	return must(kibitz.NewPrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)))(t)
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

func marshal(v any) (kibitz.Raw, error) { return json.Marshal(v) }
