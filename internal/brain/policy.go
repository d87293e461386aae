package brain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley.internal/internal/brain/builtin"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// Policy is what the judge is told about the calls of a run: in conversations, in rooms
// and in tasks. It is made from who the run is for, the agent's file and the hub's
// settings, never from anything a model or a tool says.
type Policy struct {
	// Commands are the hub's lists of commands; nil knows none and no box.
	Commands *builtin.Policy
	// Stranger marks a sender that is no person at this hub's own devices.
	Stranger bool
	// AutoApprove names tools that need not ask; RequireApproval those that always do (a
	// trailing * is a prefix).
	AutoApprove, RequireApproval []string
	// Where the run is: in a conversation, unless it says otherwise.
	Where identity.Where
	// Mode is what the person who gave the task wants; empty is AgentDecides.
	Mode judge.Mode
	// Rules are the hub's, about who must agree to certain calls.
	Rules judge.Rules
}

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

// Judge puts a call that has been checked to the judge.
func (p Policy) Judge(t *tool.Tool, call tool.Call, class tool.Class, seen Seen) judge.Verdict {
	c := judge.Call{Tool: t.Name, Label: class.String(), AsksItself: t.ConsentFor(call).Asks, NoSparing: t.Asks, Unboxed: t.Unboxed}
	c.Never, _ = p.Commands.Refused(call)
	p.classify(&c, t, call, class, seen)
	c.Scene = builtin.SceneOf(t, call)
	return p.Rules.Decide(call.Actor, c, p.setting(seen.Tainted))
}

func (p Policy) setting(tainted bool) judge.Setting {
	return judge.Setting{
		Where: cmp.Or(p.Where, identity.InConversation), Stranger: p.Stranger, Mode: p.Mode, Tainted: tainted, Spared: p.AutoApprove, Required: p.RequireApproval,
	}
}

// Spending puts more money than a budget allows to the judge, under the name that rules
// know it by.
func (p Policy) Spending(who identity.Actor, name, why string) judge.Verdict {
	return p.Rules.Decide(who, judge.Call{Tool: name, Label: judge.Sensitive, Class: judge.Spends, Why: why}, p.setting(false))
}

// classify says what a call does, and why a person might have to look at it.
func (p Policy) classify(c *judge.Call, t *tool.Tool, call tool.Call, class tool.Class, seen Seen) {
	c.Why = t.Name + " can change something outside the workspace"
	switch {
	case builtin.IsCommand(t.Name):
		needs := builtin.NeedsOf(call)
		c.Class, c.Why, c.Harmless = judge.Runs, p.command(call, needs), p.Commands.Unasked(call)
		c.Unboxed = !p.Commands.Boxed()
		c.NoSparing = c.NoSparing || needs != ""
	case t.Name == builtin.NetworkTool:
		c.Class, c.Why = judge.Leaves, "a program of the agent wants to connect to "+t.Reach(call.Arguments)
	case class == tool.ReadOnly:
		c.Class = judge.Reads
		if host := newHost(t, call, seen); host != "" {
			c.Class = judge.Fetches
			c.Why = fmt.Sprintf("the agent has read words of strangers, and wants something from %s for the first time", host)
		}
	case t.AboutSender:
		c.Class = judge.Notes
	case t.Asks && p.Where == identity.InTask && c.AsksItself: // the task asks in the tool's place
		c.Class = judge.Leaves
	case t.Asks:
		c.Class = judge.Writes
	case class != tool.Mutating:
		c.Class = judge.Leaves
	case t.Speaks:
		c.Class, c.Why = judge.Speaks, t.Name+" tells others something in your name"
	case strings.HasPrefix(t.Name, "mcp__"):
		c.Class = judge.Serves
	default:
		c.Class = judge.Writes
	}
}

// command is why a command asks.
func (p Policy) command(call tool.Call, needs string) string {
	switch {
	case !p.Commands.Boxed():
		return "runs a command, and there is no box here that would confine it"
	case needs != "":
		return "runs a command that is to " + needs
	case call.Name == "shell":
		return "runs a command"
	}
	return "uses a terminal"
}

// newHost is the host that a call would ask for the first time. What a stranger wrote may
// have put into the address what nobody else should know.
func newHost(t *tool.Tool, call tool.Call, seen Seen) string {
	if t.Reach == nil {
		return ""
	}
	host := t.Reach(call.Arguments)
	if slices.Contains(seen.Hosts, host) {
		return ""
	}
	return host
}
