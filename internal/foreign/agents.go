package foreign

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/workspace"
)

// Provider is how models are written that are foreign agents: "foreign:NAME".
const Provider = "foreign"

// Options is what foreign agents are run with.
type Options struct {
	// Dir has a file for each agent that is not built in, or is to be started otherwise.
	Dir     string
	Sandbox *sandbox.Sandbox
	// Guard is what their programs connect by; Hosts need no question.
	Guard publicnet.Guard
	Hosts []string
	// Roots are folders besides the workspace that they may change, Granted those of other people.
	Roots   []string
	Granted func(ctx context.Context, who identity.Actor) ([]workspace.Folder, error)
	// Mask is what nobody gets to see of what they say and do.
	Mask *mask.Mask
	Log  *slog.Logger
}

// Agents are the foreign agents of a hub.
type Agents struct {
	o     Options
	files registry

	mu      sync.Mutex
	secrets map[string][]string // of the agents that were used
}

// New makes them. Nothing runs before a session is used.
func New(o Options) *Agents {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Agents{o: o, files: registry{dir: o.Dir}, secrets: map[string][]string{}}
}

// Agent is a foreign agent as a task's agent, for those that have no agent's file.
func (a *Agents) Agent(name string) (*brain.Agent, error) {
	e, err := a.files.get(name)
	if err != nil {
		return nil, err
	}
	front, err := yaml.Marshal(map[string]any{
		"description": e.Description, "model": Provider + ":" + name, "senders": e.Senders, "tools": []string{"ask_user", "files", "terminal"},
	})
	if err != nil {
		return nil, err
	}
	return brain.ParseAgent(name, fmt.Appendf(nil, "---\n%s---\n", front))
}

// Model is a foreign agent in the place of a model.
func (a *Agents) Model(name string) (brain.Model, error) {
	e, err := a.files.get(name)
	if err != nil {
		return brain.Model{}, err
	}
	a.mu.Lock()
	a.secrets[name] = e.secrets()
	a.mu.Unlock()
	m := brain.Model{Provider: &program{Agents: a, entry: e}, Ref: model.Ref{Provider: Provider, Model: name}, Name: name}
	if e.ReportsCost {
		m.Price = &brain.Price{} // it says itself what it costs
	}
	return m, nil
}

// Secrets are those of the environments of agents that were used.
func (a *Agents) Secrets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(a.secrets))...)
}

// program is a foreign agent that sessions can be opened with.
type program struct {
	*Agents
	entry Entry
}

var _ brain.Hosted = (*program)(nil)

// Name is the agent's.
func (p *program) Name() string { return p.entry.Name }

// Stream refuses: without a task there is no session.
func (p *program) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, p.failed("a foreign agent works on tasks only: parley run "+p.entry.Name))
	}
}

// Open begins a session; its program is started when it is first spoken to.
func (p *program) Open(h brain.Hosting) brain.Session { return newSession(p, h) }

// failed is an error that no retry mends.
func (p *program) failed(text string) *model.Error {
	return &model.Error{Provider: p.entry.Name, Cause: model.CauseBadData, Text: strings.ToValidUTF8(p.o.Mask.Text(text), "\uFFFD"), Final: true}
}
