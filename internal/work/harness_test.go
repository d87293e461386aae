package work_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/offline"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/work"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) { trailtest.Main(m, "task.", "budget.") }

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

// models is the offline model with a memory of what it was sent.
type models struct {
	mu       sync.Mutex
	requests []model.Request
	kind     brain.ProviderKind // whose files it takes
	// play, if set, answers instead of the offline model; returning false passes on.
	play func(ctx context.Context, req model.Request, yield func(model.Event, error) bool) bool
}

func (m *models) Resolve(ref string) (brain.Model, error) {
	if ref == "" {
		ref = "offline:offline"
	}
	r := model.ParseRef(ref)
	var price *brain.Price
	if r.Provider == "offline" {
		price = &brain.Price{} // it costs nothing, which is a price
	}
	return brain.Model{Provider: m, Ref: r, Name: r.Model, Kind: m.kind, Price: price}, nil
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

func (m *models) sent() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
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

func (l *trail) of(action audit.Action) (out []audit.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.Action == action {
			out = append(out, e)
		}
	}
	return out
}

// hub is one hub under test.
type hub struct {
	*work.Work
	t         testing.TB
	db        *store.DB
	leases    *lease.Leases
	bus       *bus.Local
	log       *eventlog.Log
	inbox     *approval.Inbox
	agents    *agents
	models    *models
	trail     *trail
	ledger    *brain.MemoryLedger
	workspace string
	stopOnce  sync.Once
}

type option func(*hub, *work.Deps)

func withLimits(l work.Limits) option { return func(_ *hub, d *work.Deps) { d.Limits = l } }

func withSkills(list ...skillfile.Skill) option {
	return func(_ *hub, d *work.Deps) { d.Skills = func() []skillfile.Skill { return list } }
}

func withDeps(fn func(*work.Deps)) option { return func(_ *hub, d *work.Deps) { fn(d) } }

// withTools offers tools beside the built-in ones.
func withTools(more ...*tool.Tool) option {
	return func(_ *hub, d *work.Deps) {
		own := d.Tools
		d.Tools = func(ctx context.Context, s work.ToolScope) ([]*tool.Tool, error) {
			list, err := own(ctx, s)
			return append(more, list...), err
		}
	}
}

// clustered makes the hub one of several on a bus.
func clustered(b *bus.Local) option {
	return func(h *hub, d *work.Deps) {
		_ = h.bus.Close()
		h.bus = b.Peer()
		d.Bus, d.Clustered = h.bus, true
		h.log = eventlog.New(h.db, h.bus, slog.New(slog.DiscardHandler))
		d.Log = h.log
		h.openInbox()
		d.Inbox = h.inbox
	}
}

func withLease(o lease.Options) option {
	return func(h *hub, d *work.Deps) {
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

func (h *hub) openInbox() {
	if h.inbox != nil {
		_ = h.inbox.Close()
	}
	inbox, err := approval.Open(context.Background(), h.db, h.bus, approval.Options{Recheck: 20 * time.Millisecond, Rules: h.standing()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.inbox = inbox
}

func logger() *slog.Logger {
	level := slog.LevelError + 1
	if os.Getenv("PARLEY_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// newHub starts a hub with an agent parley that may use everything.
func newHub(t testing.TB, db *store.DB, opts ...option) *hub {
	t.Helper()
	h := &hub{
		t: t, db: db, bus: bus.NewLocal(), agents: &agents{list: map[string]*brain.Agent{}}, models: &models{}, trail: &trail{},
		ledger: brain.NewMemoryLedger(), workspace: filepath.Join(t.TempDir(), "workspace"),
	}
	if err := os.MkdirAll(h.workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	h.log = eventlog.New(db, h.bus, slog.New(slog.DiscardHandler))
	h.joinLeases(lease.Options{TTL: time.Hour})
	h.openInbox()
	h.agents.put(t, "parley", "---\ntools: [\"*\"]\nskills: [\"*\"]\n---\nYou are Parley.")
	tools := builtin.Tools(builtin.Config{})
	policy, err := builtin.NewPolicy(builtin.PolicyOptions{Boxed: true})
	if err != nil {
		t.Fatal(err)
	}
	d := work.Deps{
		Policy: policy,
		DB:     db, Log: h.log, Leases: h.leases, Bus: h.bus, Agents: h.agents, Models: h.models, Inbox: h.inbox, Ledger: h.ledger, Audit: trailtest.Watch(h.trail),
		Workspace: workspace.Always(h.workspace), Logger: logger(),
		Tools: func(context.Context, work.ToolScope) ([]*tool.Tool, error) { return slices.Clone(tools), nil },
		Calls: quickRetries(),
	}
	for _, o := range opts {
		o(h, &d)
	}
	if h.Work, err = work.New(d); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	return h
}

// quickRetries waits no time between attempts.
func quickRetries() brain.CallPolicy {
	p := brain.TaskPolicy()
	p.Wait = time.Microsecond
	return p
}

// stop closes the hub as a clean shutdown does; what still runs is left at once.
func (h *hub) stop() {
	h.stopOnce.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := h.Close(ctx); err != nil {
			h.t.Error(err)
		}
		_ = h.inbox.Close()
		if err := h.leases.Close(context.Background()); err != nil {
			h.t.Error(err)
		}
		_ = h.bus.Close()
	})
}

func person(id string, scopes ...string) identity.Actor {
	if len(scopes) == 0 {
		scopes = []string{"task:*", "approval:*", identity.TaskUnattended}
	}
	return identity.Actor{
		Person: identity.Principal{Kind: identity.KindPerson, ID: id, Name: id}, Role: identity.RoleOperator, Scopes: identity.Expand(scopes...),
		Via: identity.Via{TokenID: "tok_" + id, Address: "127.0.0.1"},
	}
}

var (
	alice = person("alice")
	bob   = person("bob")
)

// goal is a submit of these lines, with deltas.
func goal(lines ...string) *viber.TaskSubmit {
	return &viber.TaskSubmit{Goal: strings.Join(lines, "\n"), Options: &viber.TaskOptions{StreamDeltas: true, Mode: viber.AlwaysExecute}}
}

func with(s *viber.TaskSubmit, change func(*viber.TaskOptions)) *viber.TaskSubmit {
	change(s.Options)
	return s
}

var keys struct {
	mu sync.Mutex
	n  int
}

func newKey() string {
	keys.mu.Lock()
	defer keys.mu.Unlock()
	keys.n++
	return fmt.Sprintf("key-%d", keys.n)
}

// submit must make a new task.
func (h *hub) submit(s *viber.TaskSubmit) *run {
	h.t.Helper()
	return h.submitKey(alice, newKey(), s)
}

func (h *hub) submitKey(who identity.Actor, key string, s *viber.TaskSubmit) *run {
	h.t.Helper()
	sub, err := h.Submit(context.Background(), who, work.SubmitRequest{Key: key, Origin: "board", Submit: s})
	if err != nil {
		h.t.Fatalf("submit: %v", err)
	}
	if sub.Stream == nil || sub.Running {
		h.t.Fatalf("no new task: %+v", sub)
	}
	return h.follow(sub.Stream)
}

// run is a task as a test reads it.
type run struct {
	h      *hub
	id     string
	next   func() (viber.TaskEvent, error, bool)
	stop   func()
	events []viber.TaskEvent
}

func (h *hub) follow(s *work.Stream) *run {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	next, stop := iter.Pull2(s.Events(ctx))
	r := &run{h: h, id: s.TaskID, next: next, stop: func() { stop(); cancel() }}
	h.t.Cleanup(r.stop)
	return r
}

// read gives the next event; nil when there is none.
func (r *run) read() viber.TaskEvent {
	r.h.t.Helper()
	ev, err, ok := r.next()
	if !ok {
		return nil
	}
	if err != nil {
		r.h.t.Fatalf("reading %s: %v (so far %s)", r.id, err, r.describe())
	}
	r.events = append(r.events, ev)
	return ev
}

// until reads up to the first event that fits.
func (r *run) until(fits func(viber.TaskEvent) bool) viber.TaskEvent {
	r.h.t.Helper()
	for {
		ev := r.read()
		if ev == nil {
			r.h.t.Fatalf("the task ended before what was waited for: %s", r.describe())
		}
		if fits(ev) {
			return ev
		}
	}
}

// untilType reads up to the first event of a type.
func untilType[T viber.TaskEvent](r *run) T {
	r.h.t.Helper()
	ev := r.until(func(ev viber.TaskEvent) bool { _, ok := ev.(T); return ok })
	return ev.(T)
}

// untilText reads until the text of the turn holds this.
func (r *run) untilText(text string) {
	r.h.t.Helper()
	r.until(func(viber.TaskEvent) bool { return strings.Contains(r.text(), text) })
}

// end reads to the end.
func (r *run) end() viber.TaskEvent {
	r.h.t.Helper()
	for ev := r.read(); ev != nil; ev = r.read() {
	}
	if len(r.events) == 0 || !viber.Ends(r.events[len(r.events)-1]) {
		r.h.t.Fatalf("no end: %s", r.describe())
	}
	return r.events[len(r.events)-1]
}

func (r *run) completed() *viber.TaskCompleted {
	r.h.t.Helper()
	done, ok := r.end().(*viber.TaskCompleted)
	if !ok {
		r.h.t.Fatalf("not completed: %s", r.describe())
	}
	return done
}

func (r *run) failed(code viber.Code) *viber.TaskError {
	r.h.t.Helper()
	e, ok := r.end().(*viber.TaskError)
	if !ok || e.Error.Type != code || !e.Ends() {
		r.h.t.Fatalf("want %s: %s", code, r.describe())
	}
	return e
}

// text is all text of the last turn, from the deltas.
func (r *run) text() string {
	turn, text := 0, ""
	for _, ev := range r.events {
		d, ok := ev.(*viber.TaskDelta)
		if !ok || d.DeltaType != viber.DeltaText {
			continue
		}
		if d.Turn != turn {
			turn, text = d.Turn, ""
		}
		text += d.Text
	}
	return text
}

// results are the tool results so far, by call.
func (r *run) results() map[string]string {
	out := map[string]string{}
	for _, ev := range r.events {
		if d, ok := ev.(*viber.TaskDelta); ok && d.ToolResult != nil {
			out[d.ToolResult.ToolCallID] = string(d.ToolResult.Result)
		}
	}
	return out
}

func ofType[T viber.TaskEvent](r *run) (out []T) {
	for _, ev := range r.events {
		if e, ok := ev.(T); ok {
			out = append(out, e)
		}
	}
	return out
}

func (r *run) describe() string {
	var b strings.Builder
	for _, ev := range r.events {
		fmt.Fprintf(&b, "\n  %d %s", ev.Ref().Seq, ev.Type())
		switch ev := ev.(type) {
		case *viber.TaskDelta:
			fmt.Fprintf(&b, " %s %q %v %v", ev.DeltaType, ev.Text, ev.ToolCall, ev.ToolResult)
		case *viber.TaskError:
			fmt.Fprintf(&b, " %+v %+v", ev.Error, ev.PartialResult)
		case *viber.TaskProgress:
			fmt.Fprintf(&b, " %s %q", ev.Status, ev.Message)
		case *viber.TaskCompleted:
			fmt.Fprintf(&b, " %q", ev.Result.Text)
		}
	}
	return b.String()
}

// message must be accepted.
func (r *run) message(mode viber.InjectionMode, text string) *viber.TaskMessageAck {
	r.h.t.Helper()
	ack, err := r.h.Message(context.Background(), alice, work.MessageRequest{
		Task: r.id, Mode: mode, Message: viber.ChatMessage{Role: viber.RoleUser, Content: text},
	})
	if err != nil {
		r.h.t.Fatalf("message: %v", err)
	}
	return ack
}

func (r *run) stopTask() *viber.TaskStopped {
	r.h.t.Helper()
	s, err := r.h.Stop(context.Background(), alice, r.id, "enough")
	if err != nil {
		r.h.t.Fatalf("stop: %v", err)
	}
	return s.Event
}

func (h *hub) answer(who identity.Actor, r viber.ApprovalResponse) work.Answered {
	h.t.Helper()
	a, err := h.Answer(context.Background(), who, &r)
	if err != nil {
		h.t.Fatalf("answer: %v", err)
	}
	return a
}

func yes(id string) viber.ApprovalResponse {
	approved := true
	return viber.ApprovalResponse{ApprovalID: id, Approved: &approved}
}

func no(id, reason string) viber.ApprovalResponse {
	approved := false
	return viber.ApprovalResponse{ApprovalID: id, Approved: &approved, Reason: reason}
}

func sqlite(t testing.TB) *store.DB {
	t.Helper()
	return storetest.SQLite(t)
}

// echo is a tool that gives back its text, and remembers its calls.
type echo struct {
	mu    sync.Mutex
	calls []string
}

func (e *echo) tool(name string, class tool.Class, before func(ctx context.Context) error) *tool.Tool {
	return &tool.Tool{
		Name: name, Class: class, Timeout: -1,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if before != nil {
				if err := before(ctx); err != nil {
					return tool.Result{}, err
				}
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.calls = append(e.calls, name+string(call.Arguments))
			return tool.Result{Text: string(call.Arguments)}, nil
		},
	}
}

func (e *echo) made() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}
