package brain

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/brain/builtin"
	"parley/internal/brain/tool"
)

// Policy decides whether a call of a tool runs, asks a person or is refused: in
// conversations, in rooms and in tasks. It is made from who the run is for, the
// agent's file and the hub's settings, never from anything a model or a tool says.
type Policy struct {
	// Commands are the hub's lists of commands; nil knows none and no box.
	Commands *builtin.Policy
	// Stranger marks a sender that is no person at this hub's own devices.
	Stranger bool
	// AutoApprove names tools that need not ask; RequireApproval those that always do (a
	// trailing * is a prefix).
	AutoApprove, RequireApproval []string
	// Task marks a run that somebody handed over: what would reach outside asks.
	Task bool
	// Mode is what the person who gave the task wants; empty is AgentDecides.
	Mode Mode
	// Ruled tells whether a rule of the hub says who must agree to a call; nil has no rules.
	Ruled func(name string, class tool.Class) bool
}

// Mode is how much a task asks.
type Mode string

// The modes.
const (
	AgentDecides  Mode = ""
	AlwaysAsk     Mode = "always_ask"
	AlwaysExecute Mode = "always_execute"
)

// Seen is what a run has met so far.
type Seen struct {
	// Tainted tells that words of strangers were read: from then on whatever could carry
	// something outside asks.
	Tainted bool
	// Hosts are those that were fetched from before that, or with a person's yes.
	Hosts []string
}

// PolicyFor is the policy of a conversation with a sender: one with a ":" came
// through a gateway or from another agent.
func PolicyFor(sender string, autoApprove []string, commands *builtin.Policy) Policy {
	return Policy{Stranger: strings.Contains(sender, ":"), AutoApprove: autoApprove, Commands: commands}
}

// Judge says what to do with a call that has been checked. It is the one place where
// that is decided.
func (p Policy) Judge(t *tool.Tool, call tool.Call, class tool.Class, seen Seen) tool.Verdict {
	if reason, refused := p.refuses(call, class); refused {
		return tool.Verdict{Action: tool.Refuse, Reason: reason}
	}
	switch {
	case p.Ruled != nil && p.Ruled(t.Name, class):
		return ask("a rule of this hub says who must agree to " + t.Name)
	case p.Mode == AlwaysExecute:
		return tool.Verdict{Action: tool.Allow}
	case p.Mode == AlwaysAsk:
		return ask("this task asks before every call")
	case MatchesAny(p.RequireApproval, t.Name):
		return ask("the agent asks before every call of " + t.Name)
	}
	reason := p.question(t, call, class, seen)
	if reason == "" || p.spares(t, call, seen) {
		return tool.Verdict{Action: tool.Allow}
	}
	return ask(reason)
}

func ask(reason string) tool.Verdict { return tool.Verdict{Action: tool.Ask, Reason: reason} }

// refuses is what no yes of anybody changes.
func (p Policy) refuses(call tool.Call, class tool.Class) (reason string, refused bool) {
	if reason, refused := p.Commands.Refused(call); refused {
		return reason, true
	}
	harmless := class == tool.ReadOnly || class == tool.Mutating
	return "sensitive tools never run for this sender", p.Stranger && !p.Task && !harmless
}

// question is why a person has to look at a call; empty if nobody has to.
func (p Policy) question(t *tool.Tool, call tool.Call, class tool.Class, seen Seen) string {
	outside := t.Name + " can change something outside the workspace"
	switch {
	case builtin.IsCommand(t.Name):
		return p.command(call)
	case t.Name == builtin.NetworkTool:
		return "a program of the agent wants to connect to " + t.Reach(call.Arguments)
	case class == tool.ReadOnly:
		return newHost(t, call, seen)
	case class != tool.Mutating:
		return outside
	case p.Stranger && !p.Task:
		return t.Name + " changes something, and the sender is not one of this hub's people"
	case p.Task && t.ConsentFor(call, class).Asks:
		return outside // it would ask by itself
	case strings.HasPrefix(t.Name, "mcp__") && (p.Task || seen.Tainted):
		return outside
	}
	return ""
}

// command is why a command asks. The allow list is for tasks; in a conversation
// the person is there.
func (p Policy) command(call tool.Call) string {
	switch {
	case p.Task && p.Commands.Unasked(call):
		return ""
	case !p.Commands.Boxed():
		return "runs a command, and there is no box here that would confine it"
	case builtin.NeedsOf(call) != "":
		return "runs a command that is to " + builtin.NeedsOf(call)
	case call.Name == "shell":
		return "runs a command"
	}
	return "uses a terminal"
}

// newHost is why looking at a page asks: what a stranger wrote may have put into the
// address what nobody else should know.
func newHost(t *tool.Tool, call tool.Call, seen Seen) string {
	if t.Reach == nil || !seen.Tainted {
		return ""
	}
	host := t.Reach(call.Arguments)
	if host == "" || slices.Contains(seen.Hosts, host) {
		return ""
	}
	return fmt.Sprintf("the agent has read words of strangers, and wants something from %s for the first time", host)
}

// spares reports whether the agent's file spares a call the question. It does not
// once words of strangers were read, nor for strangers, nor for tools that ask by
// themselves, nor for commands that no box confines or that need more than the box has.
func (p Policy) spares(t *tool.Tool, call tool.Call, seen Seen) bool {
	return slices.Contains(p.AutoApprove, t.Name) && !seen.Tainted && !p.Stranger && !t.Asks &&
		(!builtin.IsCommand(t.Name) || p.Commands.Boxed() && builtin.NeedsOf(call) == "")
}

// MatchesAny reports whether a name is listed; a trailing * is a prefix.
func MatchesAny(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		prefix, open := strings.CutSuffix(s, "*")
		return s == name || open && strings.HasPrefix(name, prefix)
	})
}
