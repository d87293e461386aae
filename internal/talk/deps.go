package talk

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/defaults"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/workspace"
)

// Agents finds agents; *brain.Library does.
type Agents interface {
	Get(name string) (*brain.Agent, error)
	List() []brain.Entry
}

// Models finds models; *brain.Catalogue does.
type Models interface {
	Resolve(ref string) (brain.Model, error)
}

// Inbox is where everything that waits for a person is shown; *approval.Inbox is
// one. Without one nobody can be asked, and what needs approval is refused.
type Inbox interface {
	Ask(ctx context.Context, r approval.Request) (*approval.Pending, error)
	// AnswerByRule has a standing rule answer instead of a person, if there is one.
	AnswerByRule(ctx context.Context, r approval.Request) (approval.Outcome, bool)
	Cancel(ctx context.Context, id, reason string) (approval.Outcome, error)
	CancelConversation(ctx context.Context, conversation, reason string) (int, error)
}

// Skill is something an agent can be told to do by name.
type Skill struct {
	Name        string
	Description string
	Body        string
	// AllowedTools narrows the tools of a run that uses the skill; nil does not.
	AllowedTools []string
	// Agents are the only ones that may load it; nil for all that list it.
	Agents []string
}

// For tells whether an agent may load the skill: its file lists it, and the skill is
// not kept for others.
func (s Skill) For(a *brain.Agent) bool {
	return a.HasSkill(s.Name) && (s.Agents == nil || slices.Contains(s.Agents, a.Name))
}

// Skills is the library of skills. List has names and descriptions only. Get
// reads one; ok is false when there is none of that name.
type Skills interface {
	List() []Skill
	Get(name string) (s Skill, ok bool)
}

// ToolScope is what a provider of tools is told about the run they are for.
type ToolScope struct {
	Agent *brain.Agent
	// Names are the names and groups of tools the agent's file lists: its tools, or
	// its guest_tools when it is a guest.
	Names        []string
	Sender       string
	Conversation string
	Run          string
	Guest        bool
	// Workspace is the folder that the run works in.
	Workspace string
	// Tell says to whoever looks on what getting the tools waits for.
	Tell func(text string)
}

// Deps is what conversations are made from. Memory, Leases, Bus, Agents and Models
// are required.
type Deps struct {
	Memory *memory.Memory
	Leases *lease.Leases
	Bus    bus.Bus
	Agents Agents
	Models Models
	// Ledger counts what agents spend; nil keeps no days.
	Ledger brain.Ledger
	Inbox  Inbox
	Audit  audit.Recorder
	Skills Skills
	// Tools gives the tools of a run beside talk's own: those that Names selects,
	// and those of the agent's MCP servers. A failing provider leaves them out.
	Tools func(ctx context.Context, scope ToolScope) ([]*tool.Tool, error)
	// Files are pictures, PDFs and voice notes; nil takes none.
	Files *files.Store
	// Rules say who must agree to certain calls.
	Rules judge.Rules
	// People look after what schedules act with; nil trusts what they were made with.
	People People
	// Commands are the hub's lists of commands; nil asks about every one.
	Commands *builtin.Policy
	// PersonOf is the id of the person whose inbox questions for a sender go to;
	// nil takes the sender's own name.
	PersonOf func(sender string) string
	// Mask is what models, clients and the store never get to see of tools.
	Mask *mask.Mask
	Log  *slog.Logger

	// Workspace gives the folder that agents work in for somebody; WhoseOf tells whose
	// folder a sender's is. Roots are others that a client's working directory may be in.
	Workspace workspace.Finder
	WhoseOf   func(sender string) workspace.Whose
	Roots     []string
	// Clustered says that other hubs share the store and the bus.
	Clustered bool
	// Local is the clock quiet hours go by (time.Local).
	Local *time.Location

	Limits Limits
}

// Limits bound a hub; the zero value has the usual ones.
type Limits struct {
	Waiting     int           // turns that wait in one conversation (32)
	Runs        int           // runs at a time, more wait (2000)
	Idle        time.Duration // unloaded after this long without use (15 min)
	AskTimeout  time.Duration // how long a question waits, unless the agent's file says otherwise (7 days)
	Drain       time.Duration // how long Close lets runs go on (20 s)
	Sweep       time.Duration // how often a hub looks for what a dead one left (2 s)
	ScheduleLag time.Duration // a firing this late is missed (1 min)
}

func (d *Deps) defaults() {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Workspace == nil {
		d.Workspace = workspace.Always("")
	}
	if d.WhoseOf == nil {
		d.WhoseOf = workspace.Sender
	}
	if d.PersonOf == nil {
		d.PersonOf = func(sender string) string { return sender }
	}
	if d.Local == nil {
		d.Local = time.Local
	}
	if d.Skills == nil {
		d.Skills = noSkills{}
	}
	defaults.Set(&d.Limits.Waiting, 32)
	defaults.Set(&d.Limits.Runs, 2000)
	defaults.Set(&d.Limits.Idle, 15*time.Minute)
	defaults.Set(&d.Limits.AskTimeout, 7*24*time.Hour)
	defaults.Set(&d.Limits.Drain, 20*time.Second)
	defaults.Set(&d.Limits.Sweep, 2*time.Second)
	defaults.Set(&d.Limits.ScheduleLag, time.Minute)
}

type noSkills struct{}

func (noSkills) List() []Skill            { return nil }
func (noSkills) Get(string) (Skill, bool) { return Skill{}, false }

// People is how a schedule keeps to its maker's rights. *identity.Directory is one.
type People interface {
	// Lasting is an actor for what acts later and by itself.
	Lasting(ctx context.Context, who identity.Actor) (identity.Actor, error)
	// Standing is an actor as it stands now; one that ended is refused.
	Standing(ctx context.Context, who identity.Actor) (identity.Actor, error)
}
