package acp

import "github.com/go-json-experiment/json/jsontext"

// Version is the protocol's, as both sides name it in initialize.
const Version = 1

// The methods, as their receiver sees them.
const (
	Initialize  = "initialize"
	NewSession  = "session/new"
	LoadSession = "session/load"
	Prompt      = "session/prompt"
	Cancel      = "session/cancel"

	Update            = "session/update"
	RequestPermission = "session/request_permission"
	ReadTextFile      = "fs/read_text_file"
	WriteTextFile     = "fs/write_text_file"
	CreateTerminal    = "terminal/create"
	TerminalOutput    = "terminal/output"
	WaitForExit       = "terminal/wait_for_exit"
	KillTerminal      = "terminal/kill"
	ReleaseTerminal   = "terminal/release"
)

// InitializeRequest is the client's first message.
type InitializeRequest struct {
	Version int                `json:"protocolVersion"`
	Client  ClientCapabilities `json:"clientCapabilities"`
	Info    *Implementation    `json:"clientInfo,omitzero"`
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// ClientCapabilities is what an agent may ask its client for.
type ClientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// InitializeResponse is what the agent can.
type InitializeResponse struct {
	Version int               `json:"protocolVersion"`
	Agent   AgentCapabilities `json:"agentCapabilities"`
	Info    *Implementation   `json:"agentInfo,omitzero"`
	Auth    []AuthMethod      `json:"authMethods"`
}

// AgentCapabilities is what a client may ask an agent for.
type AgentCapabilities struct {
	LoadSession bool               `json:"loadSession"`
	Prompt      PromptCapabilities `json:"promptCapabilities"`
}

// PromptCapabilities is what a prompt may hold besides text.
type PromptCapabilities struct {
	Image    bool `json:"image"`
	Audio    bool `json:"audio"`
	Embedded bool `json:"embeddedContext"`
}

// AuthMethod is a way to log in to an agent.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// SessionRequest begins a session, or loads the one it names.
type SessionRequest struct {
	Session    string           `json:"sessionId,omitzero"`
	Dir        string           `json:"cwd"`
	MCPServers []jsontext.Value `json:"mcpServers"`
}

// SessionResponse names the session that was begun.
type SessionResponse struct {
	Session string `json:"sessionId,omitzero"`
}

// PromptRequest is what the person says.
type PromptRequest struct {
	Session string  `json:"sessionId"`
	Prompt  []Block `json:"prompt"`
}

// PromptResponse is how a prompt ended.
type PromptResponse struct {
	Reason string `json:"stopReason"`
	Usage  *Usage `json:"usage,omitzero"`
}

// The reasons for which a prompt ends.
const (
	EndTurn   = "end_turn"
	MaxTokens = "max_tokens"
	MaxTurns  = "max_turn_requests"
	Refusal   = "refusal"
	Cancelled = "cancelled"
)

// Usage is what a session has used up to now, where an agent says so.
type Usage struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
	Total  int64 `json:"totalTokens"`
}

// Block is a piece of content.
type Block struct {
	Type     string         `json:"type"`
	Text     string         `json:"text,omitzero"`
	MimeType string         `json:"mimeType,omitzero"`
	URI      string         `json:"uri,omitzero"`
	Name     string         `json:"name,omitzero"`
	Resource jsontext.Value `json:"resource,omitzero"`
}

// CancelNotification ends the prompt that runs.
type CancelNotification struct {
	Session string `json:"sessionId"`
}

// SessionUpdate tells what happens in a session.
type SessionUpdate struct {
	Session string `json:"sessionId"`
	Update  Change `json:"update"`
}

// The kinds of updates that are used here.
const (
	UserText       = "user_message_chunk"
	AgentText      = "agent_message_chunk"
	AgentThought   = "agent_thought_chunk"
	ToolCallBegan  = "tool_call"
	ToolCallUpdate = "tool_call_update"
	PlanChanged    = "plan"
	UsageChanged   = "usage_update"
)

// Change is one update. Which members there are depends on its kind.
type Change struct {
	Kind string `json:"sessionUpdate"`
	// Content is a Block of a text, and a list of ToolContent of a tool call.
	Content jsontext.Value `json:"content,omitzero"`
	ToolCall
	Entries []PlanEntry `json:"entries,omitzero"`
	Used    int64       `json:"used,omitzero"`
	Size    int64       `json:"size,omitzero"`
	Cost    *Cost       `json:"cost,omitzero"`
}

// ToolCall is something an agent does, or wants to do. An update has only what changed.
type ToolCall struct {
	ID        string         `json:"toolCallId,omitzero"`
	Title     string         `json:"title,omitzero"`
	Tool      string         `json:"kind,omitzero"`
	Status    string         `json:"status,omitzero"`
	Locations []Location     `json:"locations,omitzero"`
	Input     jsontext.Value `json:"rawInput,omitzero"`
	Output    jsontext.Value `json:"rawOutput,omitzero"`
}

// The kinds of tool calls that are told apart here.
const (
	KindRead    = "read"
	KindSearch  = "search"
	KindThink   = "think"
	KindEdit    = "edit"
	KindDelete  = "delete"
	KindMove    = "move"
	KindExecute = "execute"
	KindFetch   = "fetch"
	KindOther   = "other"
)

// The states of a tool call.
const (
	StatusPending   = "pending"
	StatusRunning   = "in_progress"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// Location is a file that a tool call is about.
type Location struct {
	Path string `json:"path"`
	Line int64  `json:"line,omitzero"`
}

// ToolContent is what a tool call made: content, a diff or a terminal.
type ToolContent struct {
	Type     string `json:"type"`
	Content  *Block `json:"content,omitzero"`
	Path     string `json:"path,omitzero"`
	Old      string `json:"oldText,omitzero"`
	New      string `json:"newText,omitzero"`
	Terminal string `json:"terminalId,omitzero"`
}

// PlanEntry is a step of an agent's plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority,omitzero"`
	Status   string `json:"status,omitzero"`
}

// Cost is what a session has cost up to now.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// PermissionRequest asks whether a tool call may be made.
type PermissionRequest struct {
	Session  string            `json:"sessionId"`
	ToolCall PermissionSubject `json:"toolCall"`
	Options  []Option          `json:"options"`
}

// PermissionSubject is the tool call that is asked about.
type PermissionSubject struct {
	ToolCall
	Content []ToolContent `json:"content,omitzero"`
}

// Option is an answer to choose from.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResponse is the answer.
type PermissionResponse struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is which option was chosen, or that the prompt was cancelled.
type Outcome struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitzero"`
}

// The outcomes of a permission request.
const (
	OutcomeSelected  = "selected"
	OutcomeCancelled = "cancelled"
)

// ReadRequest asks for a text file, or some of its lines (from 1).
type ReadRequest struct {
	Session string `json:"sessionId"`
	Path    string `json:"path"`
	Line    int64  `json:"line,omitzero"`
	Limit   int64  `json:"limit,omitzero"`
}

// ReadResponse is the file's text.
type ReadResponse struct {
	Content string `json:"content"`
}

// WriteRequest asks for a text file to be written.
type WriteRequest struct {
	Session string `json:"sessionId"`
	Path    string `json:"path"`
	Content string `json:"content"`
}

// CreateTerminalRequest asks for a command to be run.
type CreateTerminalRequest struct {
	Session string     `json:"sessionId"`
	Command string     `json:"command"`
	Args    []string   `json:"args,omitzero"`
	Env     []Variable `json:"env,omitzero"`
	Dir     string     `json:"cwd,omitzero"`
	Limit   int64      `json:"outputByteLimit,omitzero"`
}

// Variable is one of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TerminalRef names a terminal, in requests about it and in the answer that it is there.
type TerminalRef struct {
	Session  string `json:"sessionId,omitzero"`
	Terminal string `json:"terminalId"`
}

// OutputResponse is what a terminal printed.
type OutputResponse struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *ExitStatus `json:"exitStatus,omitzero"`
}

// ExitStatus is how a command ended.
type ExitStatus struct {
	Code   *int   `json:"exitCode,omitzero"`
	Signal string `json:"signal,omitzero"`
}
