package viber

import (
	"maps"
	"slices"
)

// Scope is a permission of a connection.
type Scope string

// The scopes that requests and pushes of this protocol need.
const (
	ScopeTaskRead        Scope = "task:read"
	ScopeTaskSubmit      Scope = "task:submit"
	ScopeTaskControl     Scope = "task:control"
	ScopeTaskUnattended  Scope = "task:unattended"
	ScopeApprovalRead    Scope = "approval:read"
	ScopeApprovalRespond Scope = "approval:respond"
	ScopeTerminalRead    Scope = "terminal:read"
	ScopeTerminalWrite   Scope = "terminal:write"
	ScopeTerminalCreate  Scope = "terminal:create"
	ScopeStatusRead      Scope = "status:read"
	ScopeDeviceManage    Scope = "device:manage"
	ScopeAdmin           Scope = "admin"
	ScopeNodeRegister    Scope = "node:register"
)

// request is what a server must know about a type a client may send.
type request struct {
	payload func() Payload
	scope   Scope
	// early requests are allowed before authentication.
	early bool
	// free ones are not counted against the message rate.
	free bool
}

// requests is everything a client may send. The hub accepts pongs as well: they
// answer heartbeats of its own.
var requests = map[Type]request{
	TypeAuth:        {payload: make1[Auth], early: true},
	TypeRefresh:     {payload: make1[Refresh]},
	TypeTokenRotate: {payload: make1[TokenRotate]},
	TypeClose:       {payload: make1[Close], early: true},
	TypeGoodbye:     {payload: make1[Goodbye], early: true},
	TypePing:        {payload: make1[Ping], early: true, free: true},
	TypePong:        {payload: make1[Pong], early: true, free: true},
	TypeHealthPing:  {payload: make1[HealthPing], early: true, free: true},
	TypeHealthPong:  {payload: make1[HealthPong], early: true, free: true},

	TypeTaskSubmit:      {payload: make1[TaskSubmit], scope: ScopeTaskSubmit},
	TypeTaskStop:        {payload: make1[TaskStop], scope: ScopeTaskControl},
	TypeTaskMessage:     {payload: make1[TaskMessage], scope: ScopeTaskControl},
	TypeTaskResume:      {payload: make1[TaskResume], scope: ScopeTaskRead},
	TypeTaskUnsubscribe: {payload: make1[TaskUnsubscribe], scope: ScopeTaskRead},
	TypeTaskList:        {payload: make1[TaskList], scope: ScopeTaskRead},

	TypeApprovalResponse: {payload: make1[ApprovalResponse], scope: ScopeApprovalRespond, free: true},
	TypeApprovalList:     {payload: make1[ApprovalList], scope: ScopeApprovalRead},

	TypeTerminalList:   {payload: make1[TerminalList], scope: ScopeTerminalRead},
	TypeTerminalAttach: {payload: make1[TerminalAttach], scope: ScopeTerminalRead},
	TypeTerminalDetach: {payload: make1[TerminalDetach], scope: ScopeTerminalRead},
	TypeTerminalInput:  {payload: make1[TerminalInput], scope: ScopeTerminalWrite, free: true},
	TypeTerminalResize: {payload: make1[TerminalResize], scope: ScopeTerminalWrite},
	TypeTerminalCreate: {payload: make1[TerminalCreate], scope: ScopeTerminalCreate},
	TypeTerminalClose:  {payload: make1[TerminalClose], scope: ScopeTerminalCreate},
}

// ClientTypes returns every type a client may send, sorted.
func ClientTypes() []Type { return slices.Sorted(maps.Keys(requests)) }

// ServerTypes returns every type a server may send, sorted.
func ServerTypes() []Type { return slices.Sorted(maps.Keys(answers)) }

// make1 makes an empty payload of one kind.
func make1[T any, P interface {
	*T
	Payload
}]() Payload {
	return P(new(T))
}

// ScopeFor is the scope a request needs; empty when being authenticated is
// enough. Rotating a token other than one's own needs device:manage besides.
func ScopeFor(t Type) Scope { return requests[t].scope }

// AllowedBeforeAuth reports whether a stranger may send t.
func AllowedBeforeAuth(t Type) bool { return requests[t].early }

// RateCounted reports whether t counts against the message rate. Heartbeats,
// terminal input and answers to approvals have bounds of their own or must never
// be held up.
func RateCounted(t Type) bool { return !requests[t].free }

// NeedsCapability is the capability a server must have announced before a client
// sends t; empty for what the base has.
func NeedsCapability(t Type) Capability {
	switch t {
	case TypeTaskResume, TypeTaskUnsubscribe:
		return CapResume
	case TypeTaskList:
		return CapTaskList
	case TypeApprovalList:
		return CapApprovalResolved
	case TypeTerminalCreate, TypeTerminalClose:
		return CapTerminalCreate
	case TypeRefresh, TypeTokenRotate:
		return CapRefresh
	case TypeTerminalList, TypeTerminalAttach, TypeTerminalDetach, TypeTerminalInput, TypeTerminalResize:
		return CapTerminal
	case TypeApprovalResponse:
		return CapApproval
	}
	return ""
}

// fromServer makes the payload for a type that a server sends.
func fromServer(t Type) Payload {
	if f, ok := answers[t]; ok {
		return f()
	}
	return &Unknown{kind: t}
}

// answers is everything a server may send.
var answers = map[Type]func() Payload{
	TypeWelcome: make1[Welcome], TypeAuthenticated: make1[Authenticated], TypeError: make1[ConnectionError],
	TypeClose: make1[Close], TypeGoodbye: make1[Goodbye], TypeTokenRotated: make1[TokenRotated],
	TypePing: make1[Ping], TypePong: make1[Pong], TypeHealthPing: make1[HealthPing], TypeHealthPong: make1[HealthPong],
	TypeStatusAgent: make1[StatusAgent],

	TypeTaskStarted: make1[TaskStarted], TypeTaskProgress: make1[TaskProgress], TypeTaskDelta: make1[TaskDelta],
	TypeTaskCompleted: make1[TaskCompleted], TypeTaskError: make1[TaskError], TypeTaskStopped: make1[TaskStopped],
	TypeTaskUserMessage: make1[TaskUserMessage], TypeTaskMessageAck: make1[TaskMessageAck],
	TypeTaskSnapshot: make1[TaskSnapshot], TypeTaskListResponse: make1[TaskListResponse],

	TypeApprovalRequired: make1[ApprovalRequired], TypeApprovalResolved: make1[ApprovalResolved],
	TypeApprovalListResponse: make1[ApprovalListResponse],

	TypeTerminalListResponse: make1[TerminalListResponse], TypeTerminalAttached: make1[TerminalAttached],
	TypeTerminalOutput: make1[TerminalOutput], TypeTerminalResized: make1[TerminalResized],
	TypeTerminalDetached: make1[TerminalDetached], TypeTerminalCreated: make1[TerminalCreated],
	TypeTerminalExit: make1[TerminalExit], TypeTerminalError: make1[TerminalError],
}
