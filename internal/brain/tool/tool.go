package tool

import (
	"context"
	"encoding/json"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
)

// Class says how dangerous a tool is.
type Class uint8

// The classes, from harmless up.
const (
	ReadOnly Class = iota + 1
	Mutating
	Sensitive
)

// String names the class as people read it.
func (c Class) String() string {
	switch c {
	case ReadOnly:
		return "read-only"
	case Mutating:
		return "mutating"
	case Sensitive:
		return "sensitive"
	default:
		return "unknown"
	}
}

// Call is one invocation of a tool. Arguments are a JSON object that has been
// checked against the tool's schema.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage
	// Agent and Principal say on whose behalf the call is made; Run names the run.
	Agent     string
	Principal string
	Run       string
	// Conversation is the one the run belongs to; empty in a task, which is one run.
	Conversation string
	// Workspace is the folder file and shell tools stay in; Dir is the working
	// directory inside it (or an allowed root), empty for the workspace itself.
	Workspace string
	Dir       string
	// Tainted tells that the run has read words of strangers; Taint, if it is known,
	// since when and whose, for whoever is asked.
	Tainted bool
	Taint   *approval.Taint
	// Required names tools (a trailing * is a prefix) about which the agent's file wants a
	// person asked each time: no standing rule answers for them.
	Required []string
	// Why is the reason for which a person is asked about the call, Need who must agree.
	Why  string
	Need judge.Need
	// ApprovedBy is who said yes to exactly this call, when its run asked. A tool
	// that would ask by itself need not ask again.
	ApprovedBy string
	// Actor is the agent as it acts for its person: what the run may do beyond this
	// hub's own folders. Nobody, for a run that nobody with a credential started.
	Actor identity.Actor
	// Permit asks whether the call may do one more thing, which it found out only while it ran:
	// a call of another tool, judged like any other; nil permits nothing. It waits for a
	// person if need be, and an error says no.
	Permit func(ctx context.Context, t *Tool, args json.RawMessage) error
}

// Arguments reads what the schema has been checked for.
func Arguments[T any](call Call) (T, error) {
	var v T
	if err := json.Unmarshal(call.Arguments, &v); err != nil {
		return v, Errorf(Validation, "the arguments are not what %s takes: %w", call.Name, err)
	}
	return v, nil
}

// Result is what a tool gives back to the model.
type Result struct {
	Text      string
	IsError   bool
	Untrusted bool   // words of strangers: web pages, files, machines, other agents
	Source    string // what the data tag names when Untrusted
}

// Tool is one capability.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
	Class       Class
	// ClassOf narrows or widens Class by the arguments of one call; nil means Class.
	ClassOf func(args json.RawMessage) Class
	// Reach names the host outside that a read-only call would speak to; nil reaches none.
	// What such a call asks for is told to that host.
	Reach func(args json.RawMessage) string
	// AboutSender marks tools that change only what the agent keeps of whoever it speaks
	// with: that person's own words lead to it, and nobody else sees it.
	AboutSender bool
	// Speaks marks tools that tell others something in the person's name: mail, messages.
	Speaks bool
	// Unboxed marks tools that start a program which no box confines.
	Unboxed bool
	// Asks marks tools that wait for a person by themselves (ask_user).
	Asks bool
	// Elsewhere marks tools that whoever sent the turn runs: nothing happens on the hub, the
	// run ends with the call, and a later one goes on with its result.
	Elsewhere bool
	// Consent tells a run whether the tool would ask about a call, and who may answer; nil
	// always asks, anybody who may answer.
	Consent func(call Call) Consent
	// Refuses, if not nil, says why a call could not run whatever anybody answered, so that
	// nobody is asked for nothing, and has the tool's own record say so.
	Refuses func(ctx context.Context, call Call) error
	// Declined, if not nil, is told of a call that a run asked about in the tool's place and
	// that may not run, so that the tool's own record has it.
	Declined func(call Call, why error)
	// Timeout replaces the usual limit of one call; negative means the tool keeps
	// its own (a shell command with timeout_ms, a delegation). Asks tools have none.
	Timeout time.Duration
	// Run must honour ctx. An error becomes an is_error result that tells the model what to do.
	Run func(ctx context.Context, call Call) (Result, error)
}

// ClassFor is the class of one call.
func (t *Tool) ClassFor(args json.RawMessage) Class {
	if t.ClassOf != nil {
		return t.ClassOf(args)
	}
	return t.Class
}

// NoteDeclined tells the tool of a call that it does not get to run.
func (t *Tool) NoteDeclined(call Call, why error) {
	if why != nil && t != nil && t.Declined != nil {
		t.Declined(call, why)
	}
}

// Consent is whether a tool that asks by itself would ask about a call, and of whom.
type Consent struct {
	Asks   bool
	Policy approval.Policy
}

// ConsentFor is whether the tool itself would ask about a call, and of whom.
func (t *Tool) ConsentFor(call Call) Consent {
	if t.Consent != nil {
		return t.Consent(call)
	}
	return Consent{Asks: t.Asks}
}

// Refusal is why a call could not run whatever anybody answered; nil if it could.
func (t *Tool) Refusal(ctx context.Context, call Call) error {
	if t.Refuses == nil {
		return nil
	}
	return t.Refuses(ctx, call)
}
