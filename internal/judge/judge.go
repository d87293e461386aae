// Package judge decides what becomes of a call: it runs, a person is asked, or it is
// refused. Tasks, conversations, rooms, machines, REST, MCP and the command line all
// ask Decide; there is no other table (see table.go).
//
//	v := rules.Decide(who, judge.Call{Tool: "shell", Class: judge.Runs, …}, judge.Setting{Where: identity.InTask})
//	switch v.Action { case judge.Run: … case judge.Ask: … case judge.Refuse: … }
//
// It guarantees that the answer follows from who acts, what the call does, where, and
// what the hub's owner and the agent's file say; never from words of a model or a tool.
package judge

import (
	"slices"
	"strings"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
)

// Action is what becomes of a call.
type Action uint8

// The actions.
const (
	Run    Action = iota
	Ask           // run it if a person approves
	Refuse        // never
)

// Verdict is an Action and its reason: a refusal's is told to whoever called, a
// question's to the person. Need says who must agree, where a rule does.
type Verdict struct {
	Action Action
	Reason string
	Need   Need
}

// Need is who must agree, and how many of them.
type Need struct {
	Quorum int
	approval.Policy
	// Scene lets a standing rule of the person answer, if one names all of it (package
	// rule); nil wants a person to look.
	Scene *approval.Scene
}

// Bound reports whether a rule says who must agree. Then no single yes elsewhere, such
// as one in an MCP client, is enough.
func (n Need) Bound() bool { return n.Quorum > 1 || n.NotAsker || n.Scope != "" || len(n.People) > 0 }

// Call is what somebody wants to do.
type Call struct {
	// Tool is its name; Label the class as rules write it.
	Tool, Label string
	Class       Class
	// Why is why a person should look at it, in words.
	Why string
	// Never is why nobody's yes would help; empty if one would.
	Never string
	// Harmless marks a command on the hub's list that stays inside the box.
	Harmless bool
	// NoSparing marks what no agent's file spares the question.
	NoSparing bool
	// AsksItself marks a call that its tool will put to the judge and ask about when it runs.
	// One call is one question: a conversation leaves it to the tool, a task asks in its place.
	AsksItself bool
	// Agreed says that somebody has said yes to the like of it in this run.
	Agreed bool
	// Unboxed marks a program that no box confines. It has the rights of the hub itself, so a
	// person looks at each one, whatever mode, list, agent's file or standing rule there is.
	Unboxed bool
	// Unruled marks what no standing rule answers: a call that runs later than the rule was
	// looked at.
	Unruled bool
	// Scene is what a standing rule must name before it answers.
	Scene approval.Scene
}

// Setting is where it would happen.
type Setting struct {
	Where identity.Where
	// Stranger marks a run for a sender that is no person at this hub's own devices.
	Stranger bool
	// Mode is what the person who gave a task wants; empty is AgentDecides.
	Mode Mode
	// Tainted says that words of strangers were read in this run.
	Tainted bool
	// Spared names tools that need not ask, Required those that always do: the agent's file.
	Spared, Required []string
	// MCPUnasked lets MCP clients change machines: the owner's setting.
	MCPUnasked bool
}

// Mode is how much a task asks.
type Mode string

// The modes.
const (
	AgentDecides  Mode = ""
	AlwaysAsk     Mode = "always_ask"
	AlwaysExecute Mode = "always_execute"
)

// Decide judges a call. Stronger first: what never runs, the hub's rules, the mode, the
// agent's file, and then the table. Where the table asks, a standing rule of the person may
// answer (Need.Scene); where something stronger does, none may.
func (r Rules) Decide(who identity.Actor, c Call, s Setting) Verdict {
	answer := table[c.Class][columnOf(who, s)]
	rule, ruled := r.about(c)
	switch {
	case c.Never != "":
		return Verdict{Action: Refuse, Reason: c.Never}
	case answer == never:
		return Verdict{Action: Refuse, Reason: neverReason(c)}
	case s.Where == identity.AtHub:
		return Verdict{} // it was judged when somebody started it
	case c.AsksItself && (s.Where == identity.InConversation || s.Where == identity.BySchedule):
		return Verdict{}
	case ruled:
		return Verdict{Action: Ask, Reason: "a rule of this hub says who must agree to " + c.Tool, Need: rule.Need}
	case answer == always, c.Unboxed:
		return ask(c.Why)
	case s.Mode == AlwaysExecute:
		return Verdict{}
	case s.Mode == AlwaysAsk:
		return ask("this task asks before every call")
	case Matches(s.Required, c.Tool):
		return ask("the agent asks before every call of " + c.Tool)
	case answer.holds(who, c, s):
		return Verdict{}
	case s.Stranger && c.Class == Writes:
		return ask(c.Tool + " changes something, and the sender is not one of this hub's people")
	}
	return Verdict{Action: Ask, Reason: c.Why, Need: Need{Scene: c.scene(who, s)}}
}

// scene is what a standing rule is held against. Only hosted agents' calls have one: what a
// program at a token has read nobody here knows. None has a run that read words of
// strangers, or that a stranger speaks to.
func (c Call) scene(who identity.Actor, s Setting) *approval.Scene {
	if s.Tainted || s.Stranger || c.Unruled || who.Agent == "" || s.Where == identity.InRoom {
		return nil
	}
	out := c.Scene
	out.Agent = who.Agent
	return &out
}

func neverReason(c Call) string {
	if c.Class == Spends {
		return "the budget is spent, and nobody is asked for more here"
	}
	return "sensitive tools never run for this sender"
}

func ask(reason string) Verdict { return Verdict{Action: Ask, Reason: reason} }

// holds reports whether a call runs by an answer of the table.
func (a answer) holds(who identity.Actor, c Call, s Setting) bool {
	switch a {
	case yes:
		return true
	case untilTainted:
		return !s.Tainted
	case unlessSpared:
		return c.spared(s)
	case unlessListed:
		return c.Harmless || c.spared(s)
	case oncePerRun:
		return c.Agreed
	case unlessNamed:
		return who.Scopes.Has(identity.FleetUnattended) || s.Where == identity.AtMCP && s.MCPUnasked
	}
	return false
}

// spared reports whether the agent's file spares a call the question. It does not once
// words of strangers were read, nor for strangers.
func (c Call) spared(s Setting) bool {
	return slices.Contains(s.Spared, c.Tool) && !s.Tainted && !s.Stranger && !c.NoSparing
}

// Matches reports whether a name is listed; a trailing * is a prefix.
func Matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		prefix, open := strings.CutSuffix(s, "*")
		return s == name || open && strings.HasPrefix(name, prefix)
	})
}
