package viber

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ChatRole says who spoke.
type ChatRole string

// Who may have spoken.
const (
	RoleUser      ChatRole = "user"
	RoleAssistant ChatRole = "assistant"
	RoleSystem    ChatRole = "system"
)

// ChatMessage is one message of a history, or one said to a running task.
type ChatMessage struct {
	Role        ChatRole         `json:"role"`
	Content     string           `json:"content"`
	ToolCalls   []ToolCall       `json:"tool_calls,omitzero"`
	ToolResults []ChatToolResult `json:"tool_results,omitzero"`
}

// ToolCall is a call with all of its arguments.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is an object; in a history also a string that holds one.
	Arguments jsontext.Value `json:"arguments"`
}

// ArgumentsText returns the arguments as JSON text, whichever form they came in.
func (c ToolCall) ArgumentsText() string {
	if s, ok := textIn(c.Arguments); ok {
		return s
	}
	return string(c.Arguments)
}

// ChatToolResult is the result of a call in a history.
type ChatToolResult struct {
	ToolCallID string         `json:"tool_call_id"`
	Result     jsontext.Value `json:"result"`
	IsError    bool           `json:"is_error,omitzero"`
}

func (m *ChatMessage) check(field string) *Violation {
	switch m.Role {
	case RoleUser, RoleAssistant, RoleSystem:
	default:
		return violation(ReasonBadRole, field+"/role", "role is user, assistant or system")
	}
	for i := range m.ToolCalls {
		at := fmt.Sprintf("%s/tool_calls/%d", field, i)
		c := &m.ToolCalls[i]
		if c.ID == "" || c.Name == "" {
			return violation(ReasonBadPayload, at, "a tool call has an id and a name")
		}
		if k := c.Arguments.Kind(); k != '{' && k != '"' {
			return violation(ReasonBadPayload, at+"/arguments", "arguments are an object or its JSON text")
		}
	}
	for i := range m.ToolResults {
		r := &m.ToolResults[i]
		if r.ToolCallID == "" {
			return violation(ReasonBadPayload, fmt.Sprintf("%s/tool_results/%d", field, i), "a tool result names its call")
		}
		// A result left out is the same as one of nothing.
		if r.Result == nil {
			r.Result = jsontext.Value("null")
		}
	}
	return nil
}

// size is what a message weighs against MaxHistoryBytes.
func (m *ChatMessage) size() int {
	n := len(m.Content)
	for _, c := range m.ToolCalls {
		n += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	for _, r := range m.ToolResults {
		n += len(r.ToolCallID) + len(r.Result)
	}
	return n
}

// InjectionMode says when a running task gets a message.
type InjectionMode string

// The injection modes.
const (
	// Steer interrupts: the model gets the message at once.
	Steer InjectionMode = "steer"
	// Followup waits its turn.
	Followup InjectionMode = "followup"
	// Collect waits and is joined with others of its kind.
	Collect InjectionMode = "collect"
)

// UnmarshalJSONFrom reads a mode; none is followup, an unknown one a violation.
func (m *InjectionMode) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == 'n' {
		return nil
	}
	s, ok := textIn(v)
	switch InjectionMode(s) {
	case "", Steer, Followup, Collect:
		if ok {
			*m = InjectionMode(s)
			return nil
		}
	}
	return violation(ReasonBadInjectionMode, "/injection_mode", "injection_mode is steer, followup or collect")
}

// TaskMessage says something to a running task.
type TaskMessage struct {
	TaskID        string        `json:"task_id"`
	Message       ChatMessage   `json:"message"`
	InjectionMode InjectionMode `json:"injection_mode"`
}

func (m *TaskMessage) check() *Violation {
	if m.InjectionMode == "" {
		m.InjectionMode = Followup
	}
	if m.Message.Role != RoleUser {
		return violation(ReasonBadRole, "/message/role", "only the user speaks to a running task")
	}
	if v := needTask(m.TaskID); v != nil {
		return v
	}
	if v := m.Message.check("/message"); v != nil {
		return v
	}
	if strings.TrimSpace(m.Message.Content) == "" {
		return violation(ReasonBadPayload, "/message/content", "the message is empty")
	}
	if m.Message.size() > MaxHistoryBytes {
		return tooLarge("/message", MaxHistoryBytes, "bytes")
	}
	return nil
}

// Disposition says what became of a message to a running task.
type Disposition string

// What can become of a message.
const (
	Steering   Disposition = "steering"
	Queued     Disposition = "queued"
	Collecting Disposition = "collecting"
)

// TaskMessageAck says that a message was accepted.
type TaskMessageAck struct {
	TaskID      string      `json:"task_id"`
	MessageID   string      `json:"message_id"`
	Disposition Disposition `json:"disposition"`
	// Position is the place among those that wait, from 1.
	Position int `json:"position"`
}

// QueuedMessage is a message that no model has seen.
type QueuedMessage struct {
	MessageID string        `json:"message_id"`
	Message   ChatMessage   `json:"message"`
	Mode      InjectionMode `json:"mode"`
}

// Type names the message.
func (*TaskMessage) Type() Type { return TypeTaskMessage }

// Type names the message.
func (*TaskMessageAck) Type() Type { return TypeTaskMessageAck }
