package viber

// Type names a message.
type Type string

// Connection, health and status.
const (
	TypeWelcome       Type = "connection:welcome"
	TypeAuth          Type = "connection:auth"
	TypeAuthenticated Type = "connection:authenticated"
	TypeError         Type = "connection:error"
	TypeClose         Type = "connection:close"
	TypeGoodbye       Type = "connection:goodbye"
	TypeRefresh       Type = "connection:refresh"
	TypeTokenRotate   Type = "token:rotate"
	TypeTokenRotated  Type = "token:rotated"
	TypePing          Type = "ping"
	TypePong          Type = "pong"
	TypeHealthPing    Type = "health:ping"
	TypeHealthPong    Type = "health:pong"
	TypeStatusAgent   Type = "status:agent"
)

// Tasks.
const (
	TypeTaskSubmit       Type = "task:submit"
	TypeTaskStarted      Type = "task:started"
	TypeTaskProgress     Type = "task:progress"
	TypeTaskDelta        Type = "task:delta"
	TypeTaskCompleted    Type = "task:completed"
	TypeTaskError        Type = "task:error"
	TypeTaskStop         Type = "task:stop"
	TypeTaskStopped      Type = "task:stopped"
	TypeTaskMessage      Type = "task:message"
	TypeTaskMessageAck   Type = "task:message_ack"
	TypeTaskUserMessage  Type = "task:user_message"
	TypeTaskResume       Type = "task:resume"
	TypeTaskSnapshot     Type = "task:snapshot"
	TypeTaskUnsubscribe  Type = "task:unsubscribe"
	TypeTaskList         Type = "task:list"
	TypeTaskListResponse Type = "task:list_response"
)

// Approvals.
const (
	TypeApprovalRequired     Type = "approval:required"
	TypeApprovalResponse     Type = "approval:response"
	TypeApprovalResolved     Type = "approval:resolved"
	TypeApprovalList         Type = "approval:list"
	TypeApprovalListResponse Type = "approval:list_response"
)

// Terminals.
const (
	TypeTerminalList         Type = "terminal:list"
	TypeTerminalListResponse Type = "terminal:list_response"
	TypeTerminalAttach       Type = "terminal:attach"
	TypeTerminalAttached     Type = "terminal:attached"
	TypeTerminalOutput       Type = "terminal:output"
	TypeTerminalInput        Type = "terminal:input"
	TypeTerminalResize       Type = "terminal:resize"
	TypeTerminalResized      Type = "terminal:resized"
	TypeTerminalDetach       Type = "terminal:detach"
	TypeTerminalDetached     Type = "terminal:detached"
	TypeTerminalCreate       Type = "terminal:create"
	TypeTerminalCreated      Type = "terminal:created"
	TypeTerminalClose        Type = "terminal:close"
	TypeTerminalExit         Type = "terminal:exit"
	TypeTerminalError        Type = "terminal:error"
)

// Version is the protocol version a welcome announces.
const Version = "1"

// Capability is a word in a welcome. A client uses an extension only if its
// capability was announced.
type Capability string

// The capabilities of the base, then those of Parley.
const (
	CapStreaming Capability = "streaming"
	CapTerminal  Capability = "terminal"
	CapApproval  Capability = "approval"

	CapResume           Capability = "resume"
	CapInjection        Capability = "injection"
	CapTaskList         Capability = "task_list"
	CapApprovalResolved Capability = "approval_resolved"
	CapTerminalCreate   Capability = "terminal_create"
	CapRefresh          Capability = "refresh"
	CapTakeover         Capability = "takeover"
)

// Capabilities returns all of them, as Parley announces them.
func Capabilities() []Capability {
	return []Capability{
		CapStreaming, CapTerminal, CapApproval,
		CapResume, CapInjection, CapTaskList, CapApprovalResolved, CapTerminalCreate, CapRefresh, CapTakeover,
	}
}
