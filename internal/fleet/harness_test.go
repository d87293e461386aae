package fleet_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kenny"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "fleet.") }

const patience = 2 * time.Minute

// world is a hub's fleet with everything around it, and no socket.
type world struct {
	t      testing.TB
	db     *store.DB
	key    ed25519.PrivateKey
	bus    bus.Bus
	leases *lease.Leases
	trail  *audit.Chain
	inbox  *approval.Inbox
	fleet  *fleet.Fleet
	told   *notices
	stop   func()
}

type setup struct {
	db     *store.DB
	key    ed25519.PrivateKey
	bus    bus.Bus
	name   string
	shared bool // several hubs on this database
	lease  lease.Options
	// slow lets hours of fake time pass without thousands of looks into the store.
	slow bool
	deps func(*fleet.Deps)
}

var owner = identity.Actor{
	Person: identity.Principal{Kind: identity.KindPerson, ID: "id-owner", Name: "owner"}, Owner: true, Role: identity.RoleOperator, Scopes: identity.Expand(identity.Admin),
}

func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	ctx := t.Context()
	w := &world{t: t, db: s.db, key: s.key, bus: s.bus, told: &notices{}}
	if w.db == nil {
		w.db = storetest.SQLite(t)
	}
	if w.key == nil {
		_, w.key, _ = ed25519.GenerateKey(rand.Reader)
	}
	if w.bus == nil {
		local := bus.NewLocal()
		t.Cleanup(func() { _ = local.Close() })
		w.bus = local
	}
	if s.name == "" {
		s.name = "hub"
	}
	s.lease.Alone = !s.shared
	recheck := time.Duration(0)
	if s.slow {
		s.lease.TTL, recheck = 1000*time.Hour, 10*time.Minute
	}
	w.leases = must(lease.Join(ctx, w.db, s.name, s.lease))(t)
	w.trail = must(audit.Open(ctx, w.db, audit.Options{Key: w.key}))(t)
	w.inbox = must(approval.Open(ctx, w.db, w.bus, approval.Options{Recheck: recheck}))(t)
	deps := fleet.Deps{
		DB: w.db, Bus: w.bus, Leases: w.leases, Audit: trailtest.Watch(w.trail), Inbox: w.inbox, Key: w.key, Alone: !s.shared, Notifier: w.told,
		URL: func() string { return "https://hub.example" }, Owner: func(context.Context) string { return "id-owner" },
		Limits: fleet.Limits{Drain: time.Millisecond},
	}
	if s.deps != nil {
		s.deps(&deps)
	}
	w.fleet = must(fleet.New(deps))(t)
	check(t, w.fleet.Start(ctx))
	w.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		check(t, w.fleet.Close(ctx))
		check(t, w.inbox.Close())
		check(t, w.trail.Close())
		check(t, w.leases.Close(ctx))
	})
	t.Cleanup(w.stop)
	return w
}

// notices remembers what people were told.
type notices struct {
	mu   sync.Mutex
	list []fleet.Notice
}

func (n *notices) Notify(v fleet.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, v)
}

func (n *notices) kinds() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range n.list {
		out = append(out, v.Kind)
	}
	return out
}

// op is the owner on a page, who may do everything and is not asked; as a token of a
// surface with scopes.
func op() identity.Actor {
	s := owner
	s.Credential, s.Where, s.InPerson = identity.ViaPage, identity.AtPage, true
	return s
}

func as(where identity.Where, scopes ...string) identity.Actor {
	s := owner
	s.Owner, s.TokenID, s.Scopes = false, "token-1", identity.Expand(scopes...)
	if where == identity.InConversation {
		return s.ForAgent("parley", where, "conv-1")
	}
	s.Where = where
	return s
}

// fake is a machine without a socket: it answers with functions.
type fake struct {
	w       *world
	id      string
	key     ed25519.PrivateKey
	session *fleet.Session
	meta    kenny.Meta

	mu      sync.Mutex
	frames  []kenny.Frame
	ended   bool
	code    kenny.CloseCode
	full    bool
	closed  chan kenny.CloseCode
	asked   chan *kenny.Request
	answer  func(r *kenny.Request) (jsontext.Value, *kenny.Error)
	replies sync.WaitGroup
}

// enrol makes a machine and gives its key.
func (w *world) enrol(id string) ed25519.PrivateKey {
	w.t.Helper()
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	minted := must(w.fleet.Mint(w.t.Context(), op(), fleet.MintRequest{Machine: id}))(w.t)
	if err := w.fleet.Enrol(w.t.Context(), fleet.EnrolRequest{Machine: id, Token: minted.Token, PublicKey: kenny.FormatPublicKey(public)}); err != nil {
		w.t.Fatal(err)
	}
	return private
}

// join enrols a Linux machine and connects it.
func (w *world) join(id string) *fake {
	w.t.Helper()
	return w.connect(id, w.enrol(id))
}

func (w *world) newFake(id string, key ed25519.PrivateKey) *fake {
	f := &fake{
		w: w, id: id, key: key, closed: make(chan kenny.CloseCode, 1), asked: make(chan *kenny.Request, 256),
		meta: kenny.Meta{Hostname: strings.ToUpper(id), OS: kenny.Linux, Version: "1.0.0", Arch: "amd64", Extra: map[string]jsontext.Value{kenny.ProgramKey: jsontext.Value(`"parley"`)}},
	}
	w.t.Cleanup(func() { f.replies.Wait() })
	return f
}

func (w *world) connect(id string, key ed25519.PrivateKey) *fake {
	w.t.Helper()
	f := w.newFake(id, key)
	if err := f.dial(); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// echoing connects a machine that answers every call with its own arguments: the first too, which
// may wait for it in the queue and come before its connector gets another word in.
func (w *world) echoing(id string, key ed25519.PrivateKey) *fake {
	w.t.Helper()
	f := w.newFake(id, key).echoes()
	if err := f.dial(); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// dial does the handshake.
func (f *fake) dial() error {
	nonce := make([]byte, kenny.NonceSize)
	_, _ = rand.Read(nonce)
	g, err := f.w.fleet.Greet(&kenny.Register{AgentID: f.id, Protocol: kenny.Version, ClientNonce: nonce, Meta: f.meta}, "192.0.2.7")
	if err != nil {
		return err
	}
	frame := must(kenny.Decode(g.Challenge))(f.w.t).(*kenny.Challenge)
	transcript := must(kenny.Transcript(f.id, nonce, frame.ServerNonce))(f.w.t)
	check(f.w.t, kenny.Verify(transcript, frame.ServerSig, f.w.key.Public().(ed25519.PublicKey)))
	s, err := f.w.fleet.Admit(context.Background(), g, &kenny.Auth{AgentSig: ed25519.Sign(f.key, transcript)}, f)
	f.mu.Lock()
	f.session = s
	f.mu.Unlock()
	return err
}

func (f *fake) Send(data []byte) error {
	frame, err := kenny.Decode(data)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ended:
		return io.ErrClosedPipe
	case f.full:
		return fleet.ErrLinkFull
	}
	f.frames = append(f.frames, frame)
	if r, ok := frame.(*kenny.Request); ok {
		if answer := f.answer; answer != nil {
			f.replies.Go(func() {
				result, failure := answer(r)
				f.reply(r.ID, result, failure)
			})
		}
		f.asked <- r // after replies has counted: who sees it may wait for the answer
	}
	return nil
}

func (f *fake) SendNewest(_ string, data []byte) error { return f.Send(data) }

func (f *fake) Close(code kenny.CloseCode, _ string) {
	f.mu.Lock()
	first := !f.ended
	f.ended, f.code = true, code
	f.mu.Unlock()
	if first {
		f.closed <- code
	}
}

// answers makes the machine answer everything by itself.
func (f *fake) answers(fn func(r *kenny.Request) (jsontext.Value, *kenny.Error)) *fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = fn
	return f
}

// echoes answers every call with its own arguments.
func (f *fake) echoes() *fake {
	return f.answers(func(r *kenny.Request) (jsontext.Value, *kenny.Error) { return r.Args, nil })
}

func (f *fake) reply(id string, result jsontext.Value, failure *kenny.Error) {
	resp := &kenny.Response{ID: id, OK: failure == nil, Error: failure}
	if failure == nil {
		resp.Result = result
	}
	data, err := kenny.Encode(resp)
	if err != nil {
		panic(err)
	}
	f.sess().Receive(data)
}

func (f *fake) sess() *fleet.Session {
	for {
		f.mu.Lock()
		s := f.session
		f.mu.Unlock()
		if s != nil {
			return s
		}
		<-time.After(time.Millisecond)
	}
}

// cut ends the connection as a broken line would; leave says goodbye.
func (f *fake) cut() { f.gone(fleet.Gone{Code: 1006, ByPeer: true}) }

func (f *fake) leave() { f.gone(fleet.Gone{Code: kenny.CloseGoingAway, ByPeer: true}) }

func (f *fake) gone(how fleet.Gone) {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.sess().Ended(how)
}

func (f *fake) push(snapshot string) { f.pushAt(time.Now(), snapshot) }

func (f *fake) pushAt(at time.Time, snapshot string) {
	f.sess().Receive([]byte(fmt.Sprintf(`{"type":"telemetry","agent_id":%q,"collected_at":%q,"snapshot":%s}`, f.id, at.UTC().Format(time.RFC3339), snapshot)))
	must(f.w.fleet.Health(context.Background(), op(), f.id))(f.w.t) // it waits for the store
}

// policies counts the policy frames and gives the newest.
func (f *fake) policies() (n int, last *kenny.Policy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fr := range f.frames {
		if p, ok := fr.(*kenny.Policy); ok {
			n, last = n+1, p
		}
	}
	return n, last
}

// call makes a call as a caller.
func (w *world) call(who identity.Actor, id, tool, args string) (call.Result, error) {
	return w.fleet.Call(context.Background(), who, call.Request{Machine: id, Tool: tool, Args: jsontext.Value(args)})
}

func (w *world) view(id string) fleet.Machine {
	w.t.Helper()
	return must(w.fleet.Machine(context.Background(), op(), id))(w.t)
}

func (w *world) status(id string) call.Status {
	w.t.Helper()
	return must(w.fleet.CallStatus(context.Background(), op(), id))(w.t)
}

// trailOf gives the trail's entries of an action, oldest first.
func (w *world) trailOf(action string) []audit.Record {
	w.t.Helper()
	check(w.t, w.trail.Append(context.Background(), audit.Entry{Actor: "test", Action: "test.mark"})) // behind what was noted
	return must(w.trail.Query(context.Background(), audit.Filter{Action: action, Oldest: true, Limit: 1000}))(w.t)
}

// pending waits for a question in the inbox.
func (w *world) pending() approval.Item {
	w.t.Helper()
	var got approval.Item
	w.until("a question", func() bool {
		for _, i := range must(w.inbox.List(context.Background(), approval.Filter{States: []approval.State{approval.StatePending}}))(w.t) {
			if i.Kind == approval.KindTool {
				got = i
				return true
			}
		}
		return false
	})
	return got
}

func (w *world) decide(id string, yes bool, reason string) {
	w.t.Helper()
	must(w.inbox.Answer(context.Background(), owner, id, approval.Answer{Approved: yes, Reason: reason}))(w.t)
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func wantCode(t testing.TB, err error, code fault.Code) fault.Error {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return *e
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
