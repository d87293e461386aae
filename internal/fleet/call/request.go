package call

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/fleet/fault"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// Request asks one machine to do one thing.
type Request struct {
	// ID names the call; empty makes one. A repeated id is refused.
	ID      string
	Machine string
	Tool    string
	// Args are the tool's own arguments (not agent_id, queue_for_s); nil is {}.
	Args jsontext.Value
	// Timeout is how long the machine may take; 0 is the tool's usual time.
	Timeout time.Duration
	// QueueFor keeps the call that long for a machine that is away.
	QueueFor time.Duration
	// Approver asks in the surface's own way, where a person must be asked. It
	// may return [ErrAskInbox]. Nil asks in the inbox.
	Approver Approver
	// ApprovalWait is how long Call itself waits for the inbox before it answers
	// approval_pending and goes on by itself; 0 waits until it is decided.
	ApprovalWait time.Duration
	// ApprovedBy is who said yes to exactly this call when the run asked; nobody is
	// asked again.
	ApprovedBy string
	// Taint tells whoever is asked that the run had read words of strangers; Tainted that it
	// had, and Stranger that one speaks to the agent: no standing rule answers then.
	Taint             *approval.Taint
	Tainted, Stranger bool
	// Unruled wants a person to look: no standing rule answers.
	Unruled bool
	// OnAsk, where given, is told once that a question waits in the inbox.
	OnAsk func(Question)
}

// Approver asks a person. What it is shown is what will run.
type Approver interface {
	Approve(ctx context.Context, q Question) (Decision, error)
}

// Question is a call as a person sees it before it runs.
type Question struct {
	CallID string      `json:"call_id"`
	Class  kenny.Class `json:"class"`
	// Title is one sentence; Machines are the targets, Args exactly what will run.
	Title    string         `json:"title"`
	Machines []string       `json:"machines"`
	Tool     string         `json:"tool"`
	Args     jsontext.Value `json:"arguments"`
	// Digest is the SHA-256 of the canonical arguments.
	Digest string `json:"digest"`
	// ApprovalID names the inbox entry, where there is one.
	ApprovalID string `json:"approval_id,omitempty"`
}

// Decision is a person's answer.
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
	// How tells the way it was asked: inbox, elicitation, task or rule.
	How    string `json:"how"`
	Reason string `json:"reason,omitempty"`
}

// State is where a call stands.
type State = rest.CallState

// The states of a call. All but the first three are final.
const (
	StateAsking    = rest.StateAsking
	StateQueued    = rest.StateQueued
	StateSent      = rest.StateSent
	StateDone      = rest.StateDone
	StateFailed    = rest.StateFailed
	StateLost      = rest.StateLost
	StateExpired   = rest.StateExpired
	StateCancelled = rest.StateCancelled
)

// Result is a finished call, or one that waits for its machine.
type Result struct {
	CallID  string
	Machine string
	Tool    string
	// State is done or queued.
	State State
	// Result is the machine's own object.
	Result   jsontext.Value
	Duration time.Duration
	// Expires is until when a queued call waits.
	Expires time.Time
}

// Status is a call looked at later.
type Status = rest.CallStatus

// Failure is a failure as records keep it.
type Failure = rest.CallError

// ErrAskInbox is what an [Approver] returns that cannot ask (a client without
// elicitation): the question goes to the inbox instead.
var ErrAskInbox = errors.New("ask in the inbox")

// StateOf is the final state a code means.
func StateOf(code fault.Code) State {
	switch code {
	case "":
		return StateDone
	case fault.Cancelled:
		return StateCancelled
	case fault.Expired:
		return StateExpired
	case fault.Lost:
		return StateLost
	}
	return StateFailed
}
