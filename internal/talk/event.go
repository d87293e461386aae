package talk

import (
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk/memory"
)

// Kind tells what an Event is. Up to AskResolved they are the wire's stream
// events, one to one; the others concern the conversation, not a run's stream.
type Kind uint8

// The kinds, and the fields each uses beside Run.
const (
	Start         Kind = iota + 1 // Agent = speaker, Seq = the user message
	Chunk                         // Text
	Thinking                      // Text
	ToolStart                     // Calls: early with names only, then complete
	ToolResult                    // Result
	ToolsComplete                 //
	End                           // Agent, Error, Code, Stop, Provider, Model, Usage, Finish, Seq = last stored message, Calls = for the client to run
	Ask                           // Ask
	Queued                        // Position
	Steered                       // Text, Seq, Host = the run it joined
	Segment                       // Segment, Open
	RoundUsage                    // Round, Usage, ContextUsed, ContextLimit
	Compacted                     // Compaction
	Notice                        // Code, Text
	Waiting                       // Approval
	AskResolved                   // Ask.ID, By

	UserMessage // Seq, Text: a turn's words entered the history
	Titled      // Text
	Deleted     // the conversation is gone
	stored      // Seq: messages up to it are in the store; never leaves the hubs
)

// Event is one thing that happened in a conversation.
type Event struct {
	Kind  Kind   `json:"k"`
	Run   string `json:"run,omitempty"`
	Agent string `json:"agent,omitempty"`
	Seq   int64  `json:"seq,omitempty"`
	Text  string `json:"text,omitempty"`
	Code  string `json:"code,omitempty"`

	Files []model.File `json:"files,omitempty"` // of a UserMessage

	Calls      []model.Call `json:"calls,omitempty"`
	Result     *Result      `json:"result,omitempty"`
	Ask        *Question    `json:"ask,omitempty"`
	By         string       `json:"by,omitempty"`
	Approval   *Approval    `json:"approval,omitempty"`
	Compaction *Compaction  `json:"compaction,omitempty"`

	Position int    `json:"position,omitempty"`
	Host     string `json:"host,omitempty"`

	Segment brain.Segment `json:"segment,omitempty"`
	Open    bool          `json:"open,omitempty"`

	Error    string       `json:"error,omitempty"`
	Stop     brain.Stop   `json:"stop,omitempty"`
	Finish   model.Finish `json:"finish,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Usage    *model.Usage `json:"usage,omitempty"`

	Round        int   `json:"round,omitempty"`
	ContextUsed  int64 `json:"used,omitempty"`
	ContextLimit int64 `json:"limit,omitempty"`
}

// Codes of an End that tell one failure of a model from another.
const (
	CodeTimeout = "timeout"  // the provider did not answer in time
	CodeNoAgent = "no_agent" // there is no such guest
	// CodeNotRepeated: the key's turn was interrupted and may have changed something.
	CodeNotRepeated = "not_repeated"
)

// Result is what a tool gave back.
type Result struct {
	CallID   string        `json:"id"`
	Name     string        `json:"name"`
	Output   string        `json:"output,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	IsError  bool          `json:"is_error,omitempty"`
	LeftOut  int           `json:"left_out,omitempty"`
}

// Question is what an agent asks its person: one to four parts, answered at once.
type Question struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires,omitzero"`
	Parts   []AskPart `json:"parts,omitempty"`
}

// AskPart is one part of a question.
type AskPart struct {
	Question    string      `json:"question"`
	Header      string      `json:"header,omitempty"`
	Options     []AskOption `json:"options,omitempty"`
	MultiSelect bool        `json:"multi_select,omitempty"`
}

// AskOption is one answer to choose.
type AskOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Approval is a tool call that waits for a person. Resolved is empty while it
// waits, then approved, rejected, expired or withdrawn.
type Approval struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Summary  string `json:"summary,omitempty"`
	Resolved string `json:"resolved,omitempty"`
}

// Compaction is a segment that was archived.
type Compaction struct {
	ArchiveID string      `json:"archive_id"`
	Title     string      `json:"title,omitempty"`
	Automatic bool        `json:"automatic,omitempty"`
	Messages  int64       `json:"messages"`
	Usage     model.Usage `json:"usage"`
}

// ConversationEvent is what an attached device gets: exactly one of Message,
// Event, CaughtUp and Deleted is set.
type ConversationEvent struct {
	Key Key
	// Seq is the message's number, or what an event says of it; Run the run.
	Seq int64
	Run string

	Message  *memory.Message
	Event    *Event
	CaughtUp bool
	Deleted  bool
}

// Activity is one thing that happened anywhere a subscriber may look.
type Activity struct {
	Key Key
	// Speaker is the agent that acts; it differs from Key.Agent in a guest's turn.
	Speaker string
	At      time.Time
	Event   Event
}
