package viber

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TaskRef places an event in its task: every event of a task begins with it.
// Events of a base server have neither seq nor turn.
type TaskRef struct {
	TaskID string `json:"task_id"`
	// Seq is the number of the event in its task, from 1.
	Seq int64 `json:"seq,omitzero"`
	// Turn is the number of the message the model is answering, from 1.
	Turn int `json:"turn,omitzero"`
	// At is when it happened, which its frame says as the timestamp; zero is now.
	At time.Time `json:"-"`
}

// Ref returns where the event belongs.
func (r *TaskRef) Ref() *TaskRef { return r }

// TaskEvent is a payload that belongs to a task.
type TaskEvent interface {
	Payload
	// Ref returns where the event belongs; a server stamps seq and turn there.
	Ref() *TaskRef
}

// TaskStarted is the first event of a task.
type TaskStarted struct {
	TaskRef
	IdempotencyKey string `json:"idempotency_key"`
	StartedAt      Time   `json:"started_at"`
	EffectiveMode  Mode   `json:"effective_mode,omitzero"`
	Agent          string `json:"agent,omitzero"`
	// Replayed says that nothing runs: the end of an earlier run follows.
	Replayed bool `json:"replayed,omitzero"`
	// Attempt counts the runs of an idempotency key, from 1.
	Attempt int `json:"attempt,omitzero"`
}

// Phase is what a task is busy with.
type Phase string

// The phases.
const (
	Planning  Phase = "planning"
	Executing Phase = "executing"
	Verifying Phase = "verifying"
)

// TaskProgress says how far a task is.
type TaskProgress struct {
	TaskRef
	Status          Phase    `json:"status"`
	CurrentStep     string   `json:"current_step,omitzero"`
	TokensUsed      *int64   `json:"tokens_used,omitzero"`
	CostEstimateUSD *float64 `json:"cost_estimate_usd,omitzero"`
	Message         string   `json:"message,omitzero"`
	Budget          *Budget  `json:"budget,omitzero"`
	// RetryAfterMS says that the provider failed and is asked again after that time.
	RetryAfterMS int64 `json:"retry_after_ms,omitzero"`
}

// Budget is what a task has spent of what it may.
type Budget struct {
	UsedUSD  float64 `json:"used_usd"`
	LimitUSD float64 `json:"limit_usd"`
	Warning  bool    `json:"warning,omitzero"`
}

// DeltaType says which part of a delta is filled in.
type DeltaType string

// The kinds of deltas.
const (
	DeltaText       DeltaType = "text"
	DeltaToolCall   DeltaType = "tool_call"
	DeltaToolResult DeltaType = "tool_result"
)

// TaskDelta is a piece of a task's output.
type TaskDelta struct {
	TaskRef
	DeltaType  DeltaType        `json:"delta_type"`
	Text       string           `json:"text,omitzero"`
	ToolCall   *ToolCallDelta   `json:"tool_call,omitzero"`
	ToolResult *ToolResultDelta `json:"tool_result,omitzero"`
	// FromSeq is the first number that a merged delta stands for; Seq is the last.
	FromSeq int64 `json:"from_seq,omitzero"`
	// Truncated says that the result is longer than what is shown.
	Truncated bool `json:"truncated,omitzero"`
}

// ToolCallDelta is a piece of a call: its arguments are a fragment to append.
type ToolCallDelta struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolResultDelta is what a call gave.
type ToolResultDelta struct {
	ToolCallID string         `json:"tool_call_id"`
	Result     jsontext.Value `json:"result"`
}

// Usage is what a task used up.
type Usage struct {
	PromptTokens     int64    `json:"prompt_tokens"`
	CompletionTokens int64    `json:"completion_tokens"`
	TotalTokens      int64    `json:"total_tokens"`
	CostUSD          *float64 `json:"cost_usd,omitzero"`
}

// NewUsage makes a usage whose total is right. A nil cost is an unknown one.
func NewUsage(prompt, completion int64, cost *float64) Usage {
	return Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion, CostUSD: cost}
}

// TaskResult is what a task achieved.
type TaskResult struct {
	Text         string     `json:"text"`
	Summary      string     `json:"summary,omitzero"`
	ArtifactRefs []Artifact `json:"artifact_refs,omitzero"`
	PlanUpdates  string     `json:"plan_updates,omitzero"`
}

// PartialResult is the text of a task that did not get to its end.
type PartialResult struct {
	Text string `json:"text"`
}

// TaskCompleted is the good end of a task.
type TaskCompleted struct {
	TaskRef
	Result      TaskResult `json:"result"`
	Usage       Usage      `json:"usage"`
	CompletedAt Time       `json:"completed_at"`
	Turns       int        `json:"turns,omitzero"`
}

// TaskError is the bad end of a task, or the refusal of a request about one.
type TaskError struct {
	TaskRef
	Error         ErrorInfo      `json:"error"`
	PartialResult *PartialResult `json:"partial_result,omitzero"`
	Usage         *Usage         `json:"usage,omitzero"`
	// Final says whether the task has ended; a base server does not say. See Ends.
	Final               *bool           `json:"final,omitzero"`
	Details             *Details        `json:"details,omitzero"`
	IdempotencyKey      string          `json:"idempotency_key,omitzero"`
	UnprocessedMessages []QueuedMessage `json:"unprocessed_messages,omitzero"`
}

// ErrorInfo says what went wrong.
type ErrorInfo struct {
	Type        Code   `json:"type"`
	Message     string `json:"message"`
	Recoverable bool   `json:"recoverable"`
	Suggestion  string `json:"suggestion,omitzero"`
}

// Ends reports whether the error ends the task. Of a base server's errors, only
// those about a request do not.
func (e *TaskError) Ends() bool {
	if e.Final != nil {
		return *e.Final
	}
	return e.Error.Type != CodeAlreadyRunning && e.Error.Type != CodeTaskNotFound
}

// TaskStopped is the end of a task that somebody stopped.
type TaskStopped struct {
	TaskRef
	PartialResult       *PartialResult  `json:"partial_result,omitzero"`
	Usage               *Usage          `json:"usage,omitzero"`
	Turns               int             `json:"turns,omitzero"`
	Reason              string          `json:"reason,omitzero"`
	By                  string          `json:"by,omitzero"`
	UnprocessedMessages []QueuedMessage `json:"unprocessed_messages,omitzero"`
}

// TaskUserMessage says that the model got a message.
type TaskUserMessage struct {
	TaskRef
	MessageID string `json:"message_id"`
	// MessageIDs are all of those that were collected into this one.
	MessageIDs []string      `json:"message_ids,omitzero"`
	Message    ChatMessage   `json:"message"`
	Mode       InjectionMode `json:"mode"`
	By         string        `json:"by"`
}

// Ends reports whether a payload is the last event of its task.
func Ends(p Payload) bool {
	switch p := p.(type) {
	case *TaskCompleted, *TaskStopped:
		return true
	case *TaskError:
		return p.Ends()
	}
	return false
}

// Type names the message.
func (*TaskStarted) Type() Type { return TypeTaskStarted }

// Type names the message.
func (*TaskProgress) Type() Type { return TypeTaskProgress }

// Type names the message.
func (*TaskDelta) Type() Type { return TypeTaskDelta }

// Type names the message.
func (*TaskCompleted) Type() Type { return TypeTaskCompleted }

// Type names the message.
func (*TaskError) Type() Type { return TypeTaskError }

// Type names the message.
func (*TaskStopped) Type() Type { return TypeTaskStopped }

// Type names the message.
func (*TaskUserMessage) Type() Type { return TypeTaskUserMessage }
