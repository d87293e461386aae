package place_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/test/trailtest"
)

// operator runs the place.
var operator = place.Visitor{Actor: identity.Hub()}

func TestMain(m *testing.M) { trailtest.Main(m, "place.", "!place.audit_digest") }

// Making RSA keys is slow; tests share a few.
var testKeys = sync.OnceValue(func() []*mmp.PrivateKey {
	keys := make([]*mmp.PrivateKey, 3)
	for i := range keys {
		key, err := mmp.GenerateKey()
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

func keyNo(i int) *mmp.PrivateKey { return testKeys()[i] }

// clock is a place's; tests move it.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// trail keeps what a place tells the hub's audit.
type trail struct {
	audit.Nowhere
	mu      sync.Mutex
	entries []audit.Entry
}

func (t *trail) Note(e ...audit.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e...)
}

func (t *trail) AppendTx(_ *store.Tx, e ...audit.Entry) error {
	t.Note(e...)
	return nil
}

func (t *trail) has(action audit.Action) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.Action == action {
			return true
		}
	}
	return false
}

// world is a place and its face on a real listener.
type world struct {
	t     *testing.T
	url   string
	place *place.Place
	face  *faceplace.Face
	clock *clock
	trail *trail
	db    *store.DB
	http  *http.Client

	server *httptest.Server
}

type option func(*place.Config, *place.Deps, *faceplace.Deps)

func policy(auth place.Auth) option {
	return func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.Auth = auth }
}

// acceptStatic lets in whoever shows a static signature, also where strict would not.
func acceptStatic(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.Static = place.AcceptStatic }

var hubKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func newWorld(t *testing.T, opts ...option) *world {
	t.Helper()
	return openWorld(t, storetest.SQLite(t), opts...)
}

// newFuzzWorld is one for all inputs of a fuzz test; nobody fails in its name.
func newFuzzWorld(f *testing.F) *world {
	f.Helper()
	b := bus.NewLocal()
	p, err := place.New(context.Background(), place.Deps{DB: storetest.SQLite(f), Bus: b, Key: hubKey}, place.Config{Auth: place.Open})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = p.Close(context.Background())
		_ = b.Close()
	})
	core := &place.Core{Name: "parley", Now: time.Now, Ring: func() (mmp.Keyring, error) { return mmp.Keyring{RSA: keyNo(2)}, nil }}
	return &world{place: p, face: faceplace.New(faceplace.Deps{Place: p, Meeting: core, Loopback: true})}
}

// openWorld starts a place on a store, which may have been used before. Its long
// polls are parked, as those of a hub are.
func openWorld(t *testing.T, db *store.DB, opts ...option) *world {
	t.Helper()
	parking := front.NewParking(time.Minute, slog.New(slog.DiscardHandler))
	f := front.New(front.Deps{Guard: anyHost{}, Logger: slog.New(slog.DiscardHandler), Parking: parking})
	w := startWorld(t, db, throughDoor(f), opts...)
	var g sync.WaitGroup
	back := parking.Listener()
	g.Go(func() { _ = w.server.Config.Serve(back) })
	t.Cleanup(func() {
		w.place.Drain()
		if err := parking.Close(context.Background()); err != nil {
			t.Errorf("closing the parking: %v", err)
		}
		g.Wait()
	})
	return w
}

// throughDoor puts a face on its routes, as a hub does.
func throughDoor(f *front.Front) func(*faceplace.Face) http.Handler {
	return func(face *faceplace.Face) http.Handler {
		routes := front.NewRoutes(f)
		for _, rt := range face.Routes() {
			routes.Handle(rt, face)
		}
		routes.Handle(front.Route{Pattern: "/", Who: front.Stranger, Body: front.Nothing}, face) // where a hub has its page
		return f.Wrap(routes)
	}
}

type anyHost struct{}

func (anyHost) Check(*http.Request) error { return nil }

// bothWays runs a test of polls that are parked and of polls that are not.
func bothWays(t *testing.T, run func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("parked", func(t *testing.T) { run(t, newWorld(t)) })
	t.Run("ordinary", func(t *testing.T) {
		run(t, startWorld(t, storetest.SQLite(t), func(f *faceplace.Face) http.Handler { return f }))
	})
}

// startWorld is a world whose requests come through wrap.
func startWorld(t *testing.T, db *store.DB, wrap func(*faceplace.Face) http.Handler, opts ...option) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{}, trail: &trail{}, db: db}
	b := bus.NewLocal()
	c, d := place.Config{Version: "test"}, place.Deps{DB: db, Bus: b, Key: hubKey, Trail: trailtest.Watch(w.trail), Now: w.clock.now}
	fd := faceplace.Deps{Loopback: true}
	for _, o := range opts {
		o(&c, &d, &fd)
	}
	p, err := place.New(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	fd.Place = p
	if fd.Meeting == nil {
		fd.Meeting = &place.Core{
			Name: "parley", Version: "test", Now: w.clock.now,
			Ring: func() (mmp.Keyring, error) { return mmp.Keyring{RSA: keyNo(2)}, nil },
		}
	}
	w.place, w.face = p, faceplace.New(fd)
	server := httptest.NewServer(wrap(w.face))
	w.server, w.url, w.http = server, server.URL, server.Client()
	t.Cleanup(func() {
		p.Drain()
		if err := w.face.Close(context.Background()); err != nil {
			t.Errorf("closing the face: %v", err)
		}
		server.Close()
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("closing the place: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("closing the bus: %v", err)
		}
	})
	return w
}

// reply is an answer as a test looks at it.
type reply struct {
	status int
	header http.Header
	body   map[string]any
	raw    []byte
}

func (r reply) str(key string) string { s, _ := r.body[key].(string); return s }

func (r reply) num(key string) int { f, _ := r.body[key].(float64); return int(f) }

func (r reply) list(key string) []any { l, _ := r.body[key].([]any); return l }

// code is the error's, whichever member it is in.
func (r reply) code() string { return r.str("code") }

// do makes a call; body may be a text or anything JSON.
func (w *world) do(method, path, token string, body any) reply {
	w.t.Helper()
	r, err := w.try(w.t.Context(), method, path, token, body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

func (w *world) try(ctx context.Context, method, path, token string, body any) (reply, error) {
	var in io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		in = bytes.NewReader([]byte(b))
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return reply{}, err
		}
		in = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, in)
	if err != nil {
		return reply{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	out := reply{status: res.StatusCode, header: res.Header}
	if out.raw, err = io.ReadAll(res.Body); err != nil {
		return out, err
	}
	return out, json.Unmarshal(out.raw, &out.body)
}

func (w *world) get(path, token string) reply { w.t.Helper(); return w.do("GET", path, token, nil) }

func (w *world) post(path, token string, body any) reply {
	w.t.Helper()
	return w.do("POST", path, token, body)
}

// want fails unless the status, and the code if given, fit.
func (w *world) want(r reply, status int, code string) reply {
	w.t.Helper()
	if r.status != status || code != "" && r.code() != code {
		w.t.Fatalf("got %d %s, want %d %s: %s", r.status, r.code(), status, code, clip(r.raw))
	}
	return r
}

func clip(b []byte) string { return string(b[:min(len(b), 600)]) }

type m = map[string]any

// join registers an unproven agent.
func (w *world) join(id string) reply {
	w.t.Helper()
	return w.want(w.post("/place/v1/register", "", m{"id": id, "name": id}), 200, "")
}

// static is the signed registration of the second generation.
func static(t *testing.T, key *mmp.PrivateKey, id, instance string) m {
	t.Helper()
	s, err := mmp.SignIdentity(key, mmp.Identity{InstanceID: instance, Name: id, Scope: "general", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return m{"id": id, "name": id, "public_key": key.Public().PEM(), "identity": json.RawMessage(s.Identity), "identity_signature": s.Signature}
}

// challenge gets and answers a nonce.
func (w *world) challenge(key *mmp.PrivateKey, id string) m {
	w.t.Helper()
	c := w.want(w.post("/place/v1/challenge", "", m{"agent_id": id}), 200, "")
	proof, err := (mmp.Challenge{PlaceKey: c.str("place_key"), Address: c.str("address"), AgentID: id, Nonce: c.str("nonce")}).Sign(key)
	if err != nil {
		w.t.Fatal(err)
	}
	return m{"nonce": proof.Nonce, "signature": proof.Signature}
}

// prove registers by challenge and returns the token.
func (w *world) prove(key *mmp.PrivateKey, id string) string {
	w.t.Helper()
	r := w.want(w.post("/place/v1/register", "", m{"id": id, "name": id, "public_key": key.Public().PEM(), "proof": w.challenge(key, id)}), 200, "")
	if r.str("session_token") == "" || r.body["identity_verified"] != true {
		w.t.Fatalf("no token: %s", clip(r.raw))
	}
	return r.str("session_token")
}

func envelope(from, to, blob string) m {
	return m{"from": from, "to": to, "encrypted_blob": blob, "blob_hash": mmp.HashOf(blob).Prefixed(), "message_type": "test"}
}

// send puts a message into a queue and returns its id.
func (w *world) send(from, to, blob, token string) string {
	w.t.Helper()
	return w.want(w.post("/place/v1/relay/send", token, envelope(from, to, blob)), 201, "").str("relay_id")
}

// blobs are the contents of a receive or peek.
func blobs(r reply) []string {
	out := []string{}
	for _, one := range r.list("messages") {
		msg, _ := one.(map[string]any)
		s, _ := msg["encrypted_blob"].(string)
		out = append(out, s)
	}
	return out
}

func (w *world) receive(agent, token, more string) reply {
	w.t.Helper()
	return w.want(w.get("/place/v1/relay/receive?agent_id="+agent+more, token), 200, "")
}

func (w *world) entries(query string) []map[string]any {
	w.t.Helper()
	var out []map[string]any
	for _, e := range w.want(w.get("/place/v1/audit?limit=10000"+query, ""), 200, "").list("entries") {
		entry, _ := e.(map[string]any)
		out = append(out, entry)
	}
	return out
}

// actions counts audit entries as "event action".
func (w *world) actions() map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for _, e := range w.entries("") {
		out[fmt.Sprint(e["event_type"], " ", e["action"])]++
	}
	return out
}

// policies are all of them, for what holds in each.
func policies(t *testing.T, run func(t *testing.T, auth place.Auth)) {
	t.Helper()
	for _, auth := range []place.Auth{place.Open, place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) { run(t, auth) })
	}
}

// PeerTransport is what calls other places.
type PeerTransport = *faceplace.Caller

// flaky calls other places unless it is down.
type flaky struct {
	PeerTransport
	down atomic.Bool
}

func (f *flaky) Call(ctx context.Context, c place.OutboundCall) (int, []byte, error) {
	if f.down.Load() {
		return 0, nil, errors.New("no route")
	}
	return f.PeerTransport.Call(ctx, c)
}

// newWorldOn opens the same place once more, with another way to its peers.
func newWorldOn(w *world, peers place.PeerClient) *world {
	w.t.Helper()
	again := openWorld(w.t, w.db, func(c *place.Config, d *place.Deps, _ *faceplace.Deps) {
		c.Federation, d.Peers, d.Now = true, peers, w.clock.now
		d.Key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	})
	again.clock = w.clock
	return again
}
