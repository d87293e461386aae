package brain

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Agent is a named brain as its file describes it. It does not change; a changed
// file makes a new Agent.
type Agent struct {
	Name        string
	Description string
	Prompt      string
	// Model is "provider:name", empty for the hub's default.
	Model string
	// Thinking is "", "low", "medium" or "high".
	Thinking string

	// Tools are names and groups of tools; GuestTools those it has as a guest;
	// AutoApprove sensitive ones that need not ask.
	Tools       []string
	GuestTools  []string
	AutoApprove []string
	// Skills, MCPs and Members are names; "*" stands for all.
	Skills  []string
	MCPs    []string
	Members []string
	// Senders may talk to it: names or "PREFIX*"; empty means everybody.
	Senders []string
	// Owner is the person whose agent it is: what it has at the meeting place is theirs.
	// Empty for the hub's own.
	Owner string
	// Workspace is where its file and shell tools work; empty for the hub's.
	Workspace string

	MaxIterations     int
	RunTimeout        time.Duration
	Compact           Threshold
	CompactModel      string // empty = Model
	CompactToolMaxLen int
	RecallAuto        bool
	AutoTitle         bool // by a model instead of by the rule
	Temperature       *float64
	MaxOutputTokens   int
	Budget            Budget

	// Mode and RequireApproval are for tasks: the mode when a submit names none,
	// and tools that always ask.
	Mode            string
	RequireApproval []string
	// ApprovalTimeout is how long its questions wait in tasks; 0 is the usual time.
	ApprovalTimeout time.Duration

	// Place agents meet those of other people at the meeting place.
	Place bool
	// Deposit agents leave their public skills on the shelf of the hub's own place.
	Deposit bool
}

// What an agent has when its file does not say.
const (
	DefaultCompactPercent    = 80
	DefaultCompactTokens     = 100_000
	DefaultCompactToolMaxLen = 1024
)

// frontAgent speaks for the hub at the meeting place unless its file says otherwise.
const frontAgent = "parley"

var defaultTools = []string{"ask_user", "recall", "remember", "forget", "skill"}

func newAgent(name string) *Agent {
	return &Agent{
		Name: name, Tools: slices.Clone(defaultTools),
		MaxIterations: DefaultRounds, RunTimeout: DefaultRunTimeout,
		Compact: Threshold{Percent: DefaultCompactPercent}, CompactToolMaxLen: DefaultCompactToolMaxLen,
		Place: name == frontAgent,
	}
}

var agentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidAgentName reports whether an agent can have this name.
func ValidAgentName(name string) bool { return agentName.MatchString(name) }

// AllowsSender reports whether a sender may talk to the agent.
func (a *Agent) AllowsSender(sender string) bool {
	if len(a.Senders) == 0 {
		return true
	}
	return slices.ContainsFunc(a.Senders, func(s string) bool {
		prefix, open := strings.CutSuffix(s, "*")
		return s == sender || open && strings.HasPrefix(sender, prefix)
	})
}

// HasMember reports whether the agent may delegate to another.
func (a *Agent) HasMember(name string) bool { return listed(a.Members, name) }

// HasSkill reports whether the agent may load a skill.
func (a *Agent) HasSkill(name string) bool { return listed(a.Skills, name) }

// HasMCP reports whether the agent may use an MCP server.
func (a *Agent) HasMCP(name string) bool { return listed(a.MCPs, name) }

func listed(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// Threshold is how full a window gets before it is compacted.
type Threshold struct {
	Off     bool
	Percent int   // of the model's window
	Tokens  int64 // instead of Percent, when set
}

// Limit is the threshold in tokens for a window (0 = unknown); on is false when
// there is none.
func (t Threshold) Limit(window int64) (tokens int64, on bool) {
	switch {
	case t.Off:
		return 0, false
	case t.Tokens > 0:
		return t.Tokens, true
	case window > 0:
		return window * int64(t.Percent) / 100, true
	default:
		return DefaultCompactTokens, true
	}
}
