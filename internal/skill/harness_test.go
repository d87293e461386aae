package skill_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "skill.", "extension.", "visit.", "negotiation.") }

// keys are made once: they take longer than any test.
var keys = sync.OnceValue(func() []*mmp.PrivateKey {
	var out []*mmp.PrivateKey
	for range 4 {
		k, err := mmp.GenerateKey()
		if err != nil {
			panic(err)
		}
		out = append(out, k)
	}
	return out
})

// world is agents of different hubs around one relay, and a clock.
type world struct {
	t   *testing.T
	now time.Time
	// all by id
	all map[string]*side
	// trusted are keys people trust; proof is how ids have proven theirs.
	trusted map[string]bool
	proof   string
	// drop loses what is sent.
	drop bool
	// version and proven are how relayed messages arrive.
	version int
	proven  bool
	sent    []meeting.Message
}

// side is one hub with one agent.
type side struct {
	*skill.Skills
	skill.Acting // for the hub itself
	w            *world
	db           *store.DB
	inbox        *approval.Inbox
	host         skill.Host
	own          []skill.Own
	dir          string
	key          *mmp.PrivateKey
	// agents are all of the hub; read are the notes its agent was given, answer
	// what it says to one.
	agents []string
	// persons are whose the agents are; the others are the hub's.
	persons map[string]string
	read    chan skill.Note
	answer  func(skill.Note) (string, error)
}

func newWorld(t *testing.T) *world {
	return &world{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), all: map[string]*side{}, trusted: map[string]bool{}, proof: "challenge", version: 2, proven: true}
}

// TrustedKey and ProvenBy make the world what people said.
func (w *world) TrustedKey(_ context.Context, id string) (bool, error) { return w.trusted[id], nil }

// ProvenBy is the same for everybody.
func (w *world) ProvenBy(context.Context, string) (string, error) { return w.proof, nil }

// add makes a hub.
func (w *world) add(name string, conf skill.Config) *side {
	return w.addOn(name, conf, storetest.SQLite(w.t))
}

func (w *world) addOn(name string, conf skill.Config, db *store.DB) *side {
	w.t.Helper()
	b := bus.NewLocal()
	inbox, err := approval.Open(w.t.Context(), db, b, approval.Options{Recheck: 50 * time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	s := &side{w: w, db: db, inbox: inbox, dir: w.t.TempDir(), key: keys()[len(w.all)], read: make(chan skill.Note, 100)}
	s.host = skill.Host{Name: name, ID: name + "-id", Ring: mmp.Keyring{RSA: s.key}}
	w.all[s.host.ID] = s
	s.open(conf)
	w.t.Cleanup(func() {
		_ = s.Close()
		_ = inbox.Close()
		_ = b.Close()
	})
	return s
}

// open makes the hub's part anew, as after a restart.
func (s *side) open(conf skill.Config) {
	s.w.t.Helper()
	conf.Dir, conf.Extensions, conf.Front = filepath.Join(s.dir, "received"), filepath.Join(s.dir, "extensions"), s.host.Name
	skills, err := skill.New(skill.Deps{
		DB: s.db, Inbox: s.inbox, Trust: s.w, Owner: func(context.Context) (string, error) { return "owner", nil },
		Own: func(string) []skill.Own { return s.own }, Now: func() time.Time { return s.w.now },
		Agents: func() []string { return s.agents }, PersonOf: s.personOf, AgentsOf: s.agentsOf, Deliver: s.deliver, Trail: trailtest.Watch(nil),
	}, conf)
	if err != nil {
		s.w.t.Fatal(err)
	}
	s.Skills, s.Acting = skills, skills.As(identity.Hub())
	s.Join(s.host, "", line{s})
}

func (s *side) personOf(_ context.Context, agent string) (string, error) {
	return s.persons[agent], nil
}

func (s *side) agentsOf(_ context.Context, person string) (out []string, err error) {
	for agent, of := range s.persons {
		if of == person {
			out = append(out, agent)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *side) deliver(_ context.Context, n skill.Note) (string, error) {
	s.read <- n
	if s.answer == nil {
		return "", nil
	}
	return s.answer(n)
}

// line delivers at once.
type line struct{ from *side }

func (l line) Send(ctx context.Context, to string, m meeting.Message) error {
	w := l.from.w
	w.sent = append(w.sent, m)
	other := w.all[to]
	if w.drop || other == nil {
		return nil
	}
	sender := place.Sender{ID: l.from.host.ID, Proven: w.proven, Version: w.version}
	if w.version == 2 {
		sender.KeyID = l.from.key.Public().KeyID()
	}
	got := meeting.FromRelay{Message: &m}
	if m.Action == skill.ActionNote {
		got = meeting.FromRelay{Note: string(m.Payload)}
	}
	return other.Relayed(ctx, other.host.Name, "", sender, "relay_"+m.ID, got)
}

func (l line) Key(_ context.Context, address string) *mmp.PublicKey {
	if s := l.from.w.all[address]; s != nil {
		return s.key.Public()
	}
	return nil
}

func (line) AcceptKey(context.Context, string, string) error { return nil }

// pump lets everything flow until nobody has more to say.
func (w *world) pump() {
	w.t.Helper()
	for range 20 {
		before := len(w.sent)
		for _, s := range w.all {
			s.Flush(w.t.Context())
		}
		if len(w.sent) == before {
			return
		}
	}
	w.t.Fatal("the agents talk in circles")
}

// actions lists what was sent, in order.
func (w *world) actions() []string {
	var out []string
	for _, m := range w.sent {
		out = append(out, m.Action)
	}
	return out
}

// say hands a message to the agent as somebody would.
func (s *side) say(from place.Sender, action string, payload any, reply string) meeting.Result {
	s.w.t.Helper()
	m, err := meeting.NewMessage(action, from.ID, s.host.ID, payload, s.w.now)
	if err != nil {
		s.w.t.Fatal(err)
	}
	if reply != "" {
		m.InReplyTo = &reply
	}
	return s.take(from, m)
}

func (s *side) take(from place.Sender, m meeting.Message) meeting.Result {
	s.w.t.Helper()
	r, err := s.Handle(s.w.t.Context(), s.host.Name, from, m)
	if err != nil {
		s.w.t.Fatal(err)
	}
	return r
}

// proven, stranger and trusted are senders.
func proven(id string) place.Sender {
	return place.Sender{ID: id, Proven: true, Direct: true, KeyID: "sha256:" + id}
}
func stranger(id string) place.Sender { return place.Sender{ID: id, Direct: true} }

func (w *world) trustedPeer(id string) place.Sender {
	w.trusted["sha256:"+id] = true
	return proven(id)
}

func (s *side) items() []skill.Item {
	s.w.t.Helper()
	list, err := s.List(s.w.t.Context(), "", 100)
	if err != nil {
		s.w.t.Fatal(err)
	}
	return list
}

func (s *side) only() skill.Item {
	s.w.t.Helper()
	all := s.items()
	if len(all) != 1 {
		s.w.t.Fatalf("%d skills, want one: %+v", len(all), all)
	}
	return all[0]
}

func (s *side) lastExchange() skill.Exchange {
	s.w.t.Helper()
	list, err := s.Exchanges(s.w.t.Context(), 100)
	if err != nil || len(list) == 0 {
		s.w.t.Fatalf("no exchange: %v", err)
	}
	return list[0]
}

func (s *side) decide(id string, o approval.Outcome) {
	s.w.t.Helper()
	if err := s.Decide(s.w.t.Context(), id, o); err != nil {
		s.w.t.Fatal(err)
	}
}

func (s *side) sweep() {
	s.w.t.Helper()
	if err := s.Sweep(s.w.t.Context()); err != nil {
		s.w.t.Fatal(err)
	}
}

var (
	yes = approval.Outcome{State: approval.StateApproved, By: "person:owner"}
	no  = approval.Outcome{State: approval.StateRejected, By: "person:owner"}
)

func tea(content string) skill.Own {
	return skill.Own{ID: "tea", Name: "Tea", Summary: "How to brew tea", Tags: []string{"drink"}, Public: true, Content: content}
}

// content is a skill_content payload.
func content(name, text string, p *meeting.Provenance) meeting.SkillContentPayload {
	return meeting.SkillContentPayload{SkillID: meeting.SafeName(name), SkillName: name, Format: "markdown", Content: text, ContentHash: mmp.HashOf(text).Bare(), Provenance: p}
}

func writeExtension(t *testing.T, s *side, name, doc string) {
	t.Helper()
	dir := filepath.Join(s.dir, "extensions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
}
