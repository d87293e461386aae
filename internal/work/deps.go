package work

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/skillfile"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/defaults"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/lease"
	"parley.internal/internal/mask"
	"parley.internal/internal/store"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// Agents finds agents; *brain.Library does.
type Agents interface {
	Get(name string) (*brain.Agent, error)
}

// Models finds models; *brain.Catalogue does.
type Models interface {
	Resolve(ref string) (brain.Model, error)
}

// ToolScope is what a provider of tools is told about the task they are for.
type ToolScope struct {
	Agent *brain.Agent
	// Names are the names and groups of tools the agent's file lists.
	Names []string
	Task  string
	// Workspace is the folder that the task works in.
	Workspace string
}

// Terminals opens terminals for agents. The hub adapts package terminal to it.
type Terminals interface {
	Open(ctx context.Context, owner TerminalOwner, spec TerminalSpec) (id string, err error)
	// Send types and gives what is printed then.
	Send(ctx context.Context, owner TerminalOwner, id string, data []byte, wait time.Duration) (TerminalOutput, error)
	// Read gives output after a byte position, waiting for some up to a while.
	Read(ctx context.Context, owner TerminalOwner, id string, after int64, wait time.Duration) (TerminalOutput, error)
	Close(ctx context.Context, owner TerminalOwner, id string) error
	// CloseTask ends the terminals of a task that nobody looks at, and waits for their ends.
	CloseTask(ctx context.Context, task string)
}

// TerminalOwner is for whom an agent uses terminals, and where.
type TerminalOwner struct {
	Actor     identity.Actor // the task's agent
	Workspace string
}

// TerminalSpec is what to run; zero values are the usual ones.
type TerminalSpec struct {
	Name, Command, Cwd string
	Size               viber.Size
	// Call is the one that opens it, which is asked for whatever its programs want to reach.
	Call tool.Call
}

// TerminalOutput is what a terminal printed.
type TerminalOutput struct {
	Data     string `json:"data"`
	Offset   int64  `json:"offset"`
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// Deps is what tasks are made from. DB, Log, Leases, Bus, Agents, Models and Inbox
// are required.
type Deps struct {
	DB     *store.DB
	Log    *eventlog.Log
	Leases *lease.Leases
	Bus    bus.Bus
	Agents Agents
	Models Models
	// Files are pictures, PDFs and voice notes; nil takes none.
	Files *files.Store
	Inbox *approval.Inbox
	// Ledger counts what agents spend; nil keeps no days.
	Ledger brain.Ledger
	Audit  audit.Recorder
	// Skills are those that can be used; nil is none.
	Skills func() []skillfile.Skill
	// Tools gives the tools of a task beside work's own: those that Names selects,
	// and those of the agent's MCP servers. A failing provider leaves them out.
	Tools func(ctx context.Context, scope ToolScope) ([]*tool.Tool, error)
	// Recall searches an agent's memory of a sender; nil has none.
	Recall func(ctx context.Context, agent, sender, query string, limit int) (any, error)
	// Terminals may be nil: then agents have none.
	Terminals Terminals
	// Policy knows which commands never run and which need nobody's yes; nil is the usual
	// one, without a box: every command asks.
	Policy *builtin.Policy
	// MaxMode is the ceiling of submitted modes; empty is always_execute.
	MaxMode viber.Mode
	// Rules say who must agree to what; the first that matches counts.
	Rules judge.Rules
	// Attended reports whether somebody who may answer is connected. It is asked
	// only with FailUnattended: then a spent budget ends a task that nobody watches
	// instead of asking.
	Attended       func(principal string) bool
	FailUnattended bool
	// Ended reports whether what somebody came with has ended since: revoked, logged
	// out or run out; nil knows of none.
	Ended func(identity.Actor) bool
	// Calls is how patient model calls are; zero is brain.TaskPolicy.
	Calls brain.CallPolicy

	// Mask is what models, followers and the store never get to see.
	Mask *mask.Mask
	// Workspace gives the folder that a person's agents work in.
	Workspace workspace.Finder
	// Clustered says that other hubs share the store and the bus.
	Clustered bool
	Logger    *slog.Logger
	Limits    Limits
}

// Limits bound a hub; the zero value has the usual ones.
type Limits struct {
	RunningPerPrincipal int           // tasks of a person that run, in the cluster (32)
	RunningPerHub       int           // tasks that this hub runs (2000)
	QueuedMessages      int           // messages that wait in one task (20)
	SubmitsPerMinute    int           // submits of a person that make a task (120)
	SubmitBurst         int           // so many of them at once (60)
	Drain               time.Duration // how long Close lets tasks go on (10 s)
	Sweep               time.Duration // how often a hub looks for what a dead one left (2 s)
	Keep                time.Duration // how long logs and keys of ended tasks stay (24 h)
	LogBytes            int           // a running task's log before its oldest events go (16 MiB)
}

func (d *Deps) defaults() {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Skills == nil {
		d.Skills = func() []skillfile.Skill { return nil }
	}
	if d.Policy == nil {
		d.Policy, _ = builtin.NewPolicy(builtin.PolicyOptions{}) // without options nothing can be wrong
	}
	if d.Calls.Attempts == 0 {
		d.Calls = brain.TaskPolicy()
	}
	l := &d.Limits
	defaults.Set(&l.RunningPerPrincipal, 32)
	defaults.Set(&l.RunningPerHub, 2000)
	defaults.Set(&l.QueuedMessages, 20)
	defaults.Set(&l.SubmitsPerMinute, 120)
	defaults.Set(&l.SubmitBurst, 60)
	defaults.Set(&l.Drain, 10*time.Second)
	defaults.Set(&l.Sweep, 2*time.Second)
	defaults.Set(&l.Keep, 24*time.Hour)
	defaults.Set(&l.LogBytes, 16<<20)
}
