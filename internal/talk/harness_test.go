package talk_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) {
	if runCrashChild() {
		return
	}
	trailtest.Main(m, "talk.", "file.", "!file.shared")
}

// agents is a library in memory.
type agents struct {
	mu   sync.Mutex
	list map[string]*brain.Agent
}

func (a *agents) Get(name string) (*brain.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found := a.list[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%w: %q", brain.ErrNoAgent, name)
}

func (a *agents) List() (out []brain.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, agent := range a.list {
		out = append(out, brain.Entry{Name: name, Agent: agent})
	}
	slices.SortFunc(out, func(x, y brain.Entry) int { return strings.Compare(x.Name, y.Name) })
	return out
}

func (a *agents) put(t testing.TB, name, file string) {
	t.Helper()
	agent, err := brain.ParseAgent(name, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list[name] = agent
}

// models is the offline model, or a scripted one, with a memory of what it was
// sent.
type models struct {
	mu       sync.Mutex
	requests []model.Request
	window   int64
	price    *brain.Price
	kind     brain.ProviderKind
	// play, if set, answers instead of the offline model; returning false passes on.
	play func(ctx context.Context, req model.Request, yield func(model.Event, error) bool) bool
}

func (m *models) Resolve(ref string) (brain.Model, error) {
	if ref == "" {
		ref = "offline:offline"
	}
	if strings.HasPrefix(ref, "missing") {
		return brain.Model{}, fmt.Errorf("%w: %q", brain.ErrNoProvider, ref)
	}
	r := model.ParseRef(ref)
	price := m.price
	if price == nil && r.Provider == "offline" {
		price = &brain.Price{} // it costs nothing, which is a price
	}
	return brain.Model{Provider: m, Ref: r, Name: r.Model, Window: m.window, Price: price, Kind: m.kind}, nil
}

func (*models) Name() string { return "offline" }

func (m *models) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	m.mu.Lock()
	req.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, req)
	play := m.play
	m.mu.Unlock()
	return func(yield func(model.Event, error) bool) {
		if play != nil && play(ctx, req, yield) {
			return
		}
		for ev, err := range offline.New().Stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// of gives the requests of one purpose.
func (m *models) of(purposes ...model.Purpose) (out []model.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		if slices.Contains(purposes, r.Purpose) {
			out = append(out, r)
		}
	}
	return out
}

func (m *models) last(t testing.TB) model.Request {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == 0 {
		t.Fatal("no request was made")
	}
	return m.requests[len(m.requests)-1]
}

func (m *models) playing(play func(ctx context.Context, req model.Request, yield func(model.Event, error) bool) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.play = play
}

// trail keeps audit entries.
type trail struct {
	audit.Nowhere
	mu      sync.Mutex
	entries []audit.Entry
}

func (l *trail) Note(entries ...audit.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entries...)
}

func (l *trail) actions() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		out = append(out, string(e.Action))
	}
	return out
}

// skills is a library of skills in memory.
type skills map[string]talk.Skill

func (s skills) List() (out []talk.Skill) {
	for _, skill := range s {
		out = append(out, skill)
	}
	slices.SortFunc(out, func(a, b talk.Skill) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s skills) Get(name string) (talk.Skill, bool) {
	skill, ok := s[name]
	return skill, ok
}

// hub is one hub under test.
type hub struct {
	*talk.Talk
	t      testing.TB
	db     *store.DB
	mem    *memory.Memory
	leases *lease.Leases
	bus    *bus.Local
	agents *agents
	models *models
	trail  *trail
	inbox  *approval.Inbox
	skills skills
	ledger *brain.MemoryLedger
	tools  []*tool.Tool
	closed sync.Once
}

type option func(*hub, *talk.Deps)

func withInbox(h *hub, d *talk.Deps) {
	inbox, err := approval.Open(context.Background(), h.db, h.bus, approval.Options{Recheck: 20 * time.Millisecond})
	if err != nil {
		h.t.Fatal(err)
	}
	h.inbox, d.Inbox = inbox, inbox
}

func withLimits(l talk.Limits) option { return func(_ *hub, d *talk.Deps) { d.Limits = l } }

func withTools(tools ...*tool.Tool) option {
	return func(h *hub, d *talk.Deps) {
		h.tools = tools
		d.Tools = func(_ context.Context, s talk.ToolScope) (out []*tool.Tool, _ error) {
			for _, t := range tools {
				if slices.Contains(s.Names, t.Name) {
					out = append(out, t)
				}
			}
			return out, nil
		}
	}
}

// clustered makes the hub one of several on a bus.
func clustered(b *bus.Local) option {
	return func(h *hub, d *talk.Deps) {
		h.bus = b.Peer()
		d.Bus, d.Clustered = h.bus, true
	}
}

func withLease(o lease.Options) option {
	return func(h *hub, d *talk.Deps) {
		_ = h.leases.Close(context.Background())
		h.joinLeases(o)
		d.Leases = h.leases
	}
}

func (h *hub) joinLeases(o lease.Options) {
	l, err := lease.Join(context.Background(), h.db, "hub", o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.leases = l
}

// newHub starts a hub with an agent crab that can use talk's own tools, and a twin.
func newHub(t testing.TB, db *store.DB, opts ...option) *hub {
	t.Helper()
	h := prepareHub(t, db)
	d := h.deps()
	for _, o := range opts {
		o(h, &d)
	}
	var err error
	if h.Talk, err = talk.New(d); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	return h
}

func prepareHub(t testing.TB, db *store.DB) *hub {
	h := &hub{
		t: t, db: db, mem: memory.New(db), bus: bus.NewLocal(), agents: &agents{list: map[string]*brain.Agent{}},
		models: &models{}, trail: &trail{}, skills: skills{}, ledger: brain.NewMemoryLedger(),
	}
	h.joinLeases(lease.Options{TTL: time.Hour})
	h.agents.put(t, "crab", "---\ndescription: a crab\ntools: [ask_user, recall, remember, forget, compact, delegate, skill, echo, write, danger, slow]\nskills: [\"*\"]\nmembers: [twin, owl]\n---\nYou are crab.")
	h.agents.put(t, "twin", "---\ndescription: a twin\n---\nYou are twin.")
	return h
}

func (h *hub) deps() talk.Deps {
	level := slog.LevelError
	if os.Getenv("PARLEY_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return talk.Deps{
		Memory: h.mem, Leases: h.leases, Bus: h.bus, Agents: h.agents, Models: h.models, Ledger: h.ledger,
		Audit: trailtest.Watch(h.trail), Skills: h.skills, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	}
}

// stop closes the hub as a clean shutdown does.
func (h *hub) stop() {
	h.closed.Do(func() {
		ctx := context.Background()
		if err := h.Close(ctx); err != nil {
			h.t.Error(err)
		}
		if h.inbox != nil {
			_ = h.inbox.Close()
		}
		if err := h.leases.Close(ctx); err != nil {
			h.t.Error(err)
		}
		_ = h.bus.Close()
	})
}

func sqlite(t testing.TB) *store.DB {
	t.Helper()
	return storetest.SQLite(t)
}

// own is a person who may only be themselves.
func own(sender string) identity.Actor {
	return identity.Actor{
		Person: identity.Principal{Kind: identity.KindPerson, ID: sender, Name: sender}, Owner: sender == agentfirst.DefaultSender,
		Scopes: identity.Expand(identity.Talk),
	}
}

var (
	// anybody may be any sender.
	anybody = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: "test", Name: "test"}, Scopes: identity.Expand(identity.TalkAdmin)}

	me   = own("user")
	crab = talk.Key{Agent: "crab", Sender: "user"}
)

// begin submits a turn that must be accepted.
func (h *hub) begin(req talk.TurnRequest) *talk.Run {
	h.t.Helper()
	if req.Key.Agent == "" {
		req.Key = crab
	}
	run, err := h.Turn(context.Background(), anybody, req)
	if err != nil {
		h.t.Fatalf("turn %q: %v", req.Content, err)
	}
	h.t.Cleanup(run.Leave)
	return run
}

// say has a whole turn.
func (h *hub) say(content string) events { return h.turn(talk.TurnRequest{Content: content}) }

func (h *hub) turn(req talk.TurnRequest) events {
	h.t.Helper()
	return all(h.t, h.begin(req))
}

// events are those of one run.
type events []talk.Event

// all reads a run to its end.
func all(t testing.TB, run *talk.Run) (out events) {
	t.Helper()
	for ev, err := range run.Events(context.Background()) {
		if err != nil {
			t.Fatalf("reading a run: %v after %v", err, out)
		}
		out = append(out, ev)
	}
	return out
}

// until reads a run up to the first event of a kind.
func until(t testing.TB, run *talk.Run, kind talk.Kind) (out events) {
	t.Helper()
	for ev, err := range run.Events(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
		if ev.Kind == kind {
			return out
		}
	}
	t.Fatalf("no event of kind %d in %v", kind, out)
	return nil
}

func (l events) text() string {
	var b strings.Builder
	for _, ev := range l {
		if ev.Kind == talk.Chunk {
			b.WriteString(ev.Text)
		}
	}
	return b.String()
}

func (l events) end(t testing.TB) talk.Event {
	t.Helper()
	if len(l) == 0 || l[len(l)-1].Kind != talk.End {
		t.Fatalf("no end: %v", l)
	}
	return l[len(l)-1]
}

func (l events) of(kind talk.Kind) (out events) {
	for _, ev := range l {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

func (l events) kinds() (out []talk.Kind) {
	for _, ev := range l {
		out = append(out, ev.Kind)
	}
	return out
}

// stored lists what the store has, "role text".
func (h *hub) stored(key talk.Key) (out []string) {
	h.t.Helper()
	c, err := h.mem.Find(context.Background(), key)
	if err != nil {
		return nil
	}
	list, err := h.mem.Messages(context.Background(), c.ID, memory.Range{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range list {
		name := string(m.Role)
		if m.Agent != "" {
			name += "(" + m.Agent + ")"
		}
		text := m.Text
		for _, c := range m.Calls {
			text += " [" + c.Name + "]"
		}
		out = append(out, name+" "+strings.TrimSpace(text))
	}
	return out
}

// sent shows what a model was sent, "role text".
func sent(req model.Request) (out []string) {
	for _, m := range req.Messages {
		name := string(m.Role)
		if m.Injected {
			name = "injected"
		}
		out = append(out, name+" "+m.Text)
	}
	return out
}

// plain is sent without what is injected.
func plain(req model.Request) (out []string) {
	for _, m := range req.Messages {
		if !m.Injected {
			out = append(out, string(m.Role)+" "+m.Text)
		}
	}
	return out
}

// gate is a tool that says when it was called and waits to be let go.
type gate struct {
	called chan struct{}
	open   chan struct{}
}

func newGate() *gate { return &gate{called: make(chan struct{}, 100), open: make(chan struct{}, 100)} }

func (g *gate) tool(name string) *tool.Tool {
	return &tool.Tool{Name: name, Class: tool.ReadOnly, Description: "waits", Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		g.called <- struct{}{}
		select {
		case <-g.open:
			return tool.Result{Text: "opened"}, nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}}
}

func echo() *tool.Tool {
	return &tool.Tool{Name: "echo", Class: tool.ReadOnly, Description: "says it back", Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Text: string(c.Arguments)}, nil
	}}
}
