package seat_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/internal/room/seat"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kibitz"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "room.tool") }

type obj = map[string]any

var me = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "owner-id", Name: "owner"}}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// later lets the fake clock run and everything settle.
func later(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of a bubble: this is the fake clock
	synctest.Wait()
}

// script is a mind that says what it is told to.
type script struct {
	mu    sync.Mutex
	shown seat.Disclosure
	asked []seat.Thought
	// think may wait for ctx.
	think func(ctx context.Context, t seat.Thought) (string, error)
}

func (s *script) Disclose(agent string, _ []string) (seat.Disclosure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if agent != "kibitzer" {
		return seat.Disclosure{}, errors.New("no such agent")
	}
	return s.shown, nil
}

func (*script) Beyond(context.Context, string, []string) ([]string, error) { return nil, nil }

func (s *script) Think(ctx context.Context, t seat.Thought) (string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, t)
	think, same := s.think, s.shown == t.Disclosed
	s.mu.Unlock()
	if !same {
		return "", seat.ErrUndisclosed
	}
	return think(ctx, t)
}

func (s *script) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *script) set(think func(ctx context.Context, t seat.Thought) (string, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.think = think
}

// house is a hub's rooms with seats.
type house struct {
	t     *testing.T
	db    *store.DB
	rooms *room.Rooms
	seats *seat.Seats
	stop  func()
}

func newHouse(t *testing.T, db *store.DB, mind seat.Mind, rates bool, people ...room.People) *house {
	t.Helper()
	ctx := context.Background()
	b := bus.NewLocal()
	leases := must(lease.Join(ctx, db, "hub", lease.Options{TTL: time.Minute}))(t)
	trail := must(audit.Open(ctx, db, audit.Options{}))(t)
	h := &house{t: t, db: db}
	h.rooms = must(room.New(room.Deps{DB: db, Leases: leases, Bus: b, Trail: trail, Limits: room.Limits{NoRates: !rates}}))(t)
	if err := h.rooms.Start(ctx); err != nil {
		t.Fatal(err)
	}
	d := seat.Deps{DB: db, Leases: leases, Rooms: h.rooms, Mind: mind}
	if len(people) > 0 {
		d.People = people[0]
	}
	h.seats = seat.New(d)
	h.seats.Start()
	var once sync.Once
	h.stop = func() {
		once.Do(func() {
			if err := errors.Join(h.seats.Shutdown(ctx), h.rooms.Shutdown(ctx), trail.Close(), leases.Close(ctx), b.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(h.stop)
	return h
}

func sqlite(t *testing.T) *store.DB {
	t.Helper()
	return storetest.Open(t, filepath.Join(t.TempDir(), "parley.db"))
}

func (h *house) open(policy string) string {
	h.t.Helper()
	return must(h.rooms.Open(h.t.Context(), me, room.OpenRequest{Room: "r", Policy: []byte(policy)}))(h.t).Room
}

const gated = `{"humans":{"mode":"open"}}`

// person is a connection in memory.
type person struct {
	t          *testing.T
	connection room.Connection

	mu     sync.Mutex
	frames []string
	self   *kibitz.Self
	roster []kibitz.Member
	caps   map[string]kibitz.Grant
	said   []string // chat of agents
	views  []view
	schema string
	nak    *kibitz.Nak
}

type view struct {
	Hand  []string `json:"hand"`
	Table []struct {
		By, Card string
	} `json:"table"`
	Turn   string         `json:"turn"`
	Scores map[string]int `json:"scores"`
}

func (p *person) Send(o *room.Out) {
	f, err := kibitz.DecodeHub(o.Data)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, string(o.Data))
	switch f := f.(type) {
	case *kibitz.Self:
		p.self = f
	case *kibitz.Roster:
		p.roster = f.Members
	case *kibitz.Caps:
		p.caps = f.Grants
	case *kibitz.Nak:
		p.nak = f
	case *kibitz.From:
		p.hear(f)
	}
}

func (p *person) hear(f *kibitz.From) {
	var c struct {
		K, Name, Version string
		Data             kibitz.Raw
	}
	if err := json.Unmarshal(f.C, &c); err != nil {
		p.t.Error(err)
	}
	if c.K == "schema" {
		p.schema = c.Name + "@" + c.Version
	}
	switch kind, inside := kibitz.OpenEnvelope(c.Data); kind {
	case kibitz.EnvelopeChat:
		var text string
		_ = json.Unmarshal(inside, &text)
		p.said = append(p.said, text)
	case kibitz.EnvelopeView:
		var v view
		if err := json.Unmarshal(inside, &v); err == nil {
			p.views = append(p.views, v)
		}
	}
}

func (*person) Close(int, string) {}
func (*person) Admitted()         {}

func (h *house) enter(id, name string, session *identity.Actor) *person {
	h.t.Helper()
	p := &person{t: h.t}
	p.connection = must(h.rooms.Enter(h.t.Context(), room.Entry{Room: id, Link: p, Actor: session}))(h.t)
	h.t.Cleanup(p.connection.Gone)
	p.do(obj{"t": "voice", "on": true, "name": name})
	later(time.Second)
	if p.self == nil {
		h.t.Fatalf("%s is not in: %v", name, p.frames)
	}
	return p
}

func (h *house) host(id string) *person {
	h.t.Helper()
	return h.enter(id, "Host", &identity.Actor{
		Person: identity.Principal{Kind: identity.KindPerson, ID: "owner-id", Name: "owner"}, Scopes: identity.Expand("rooms"),
	})
}

func (p *person) do(v obj) {
	p.t.Helper()
	p.connection.Receive(must(json.Marshal(v))(p.t))
	synctest.Wait()
}

func (p *person) say(text string) { p.do(obj{"t": "send", "c": obj{"k": "chat", "text": text}}) }

func (p *person) show(v any) {
	p.do(obj{"t": "send", "c": obj{"k": "app", "data": obj{"__kib_agent": "view", "view": v}}})
}

func (p *person) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.said...)
}

func (p *person) find(label string) (kibitz.Member, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.roster {
		if m.Label == label {
			return m, true
		}
	}
	return kibitz.Member{}, false
}
