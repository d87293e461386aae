package openai

import (
	"encoding/json"
	"fmt"
)

type chatRequest struct {
	shared
	Messages       []chatMessage `json:"messages"`
	N              *int          `json:"n"`
	Tools          []chatTool    `json:"tools"`
	ResponseFormat *struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// DecodeChat reads a request for /v1/chat/completions. Errors are [*Error].
func DecodeChat(body []byte) (*Request, error) {
	var in chatRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	r, err := in.request()
	if err != nil {
		return nil, err
	}
	if in.N != nil && *in.N != 1 {
		return nil, invalid("n", "an agent gives one answer: n is 1")
	}
	for i, m := range in.Messages {
		if err := r.message(fmt.Sprintf("messages[%d].content", i), m); err != nil {
			return nil, err
		}
	}
	for _, t := range in.Tools {
		if t.Type == "function" || t.Type == "" {
			r.Tools = append(r.Tools, t.Function)
		}
	}
	r.choose(in.ToolChoice)
	if f := in.ResponseFormat; f != nil {
		r.format(f.Type, f.Schema.Schema)
	}
	return r.done("messages")
}

func (r *reading) message(param string, m chatMessage) error {
	text, files, err := r.content(param, m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		r.brief(text)
		return nil
	case "user":
		return r.add(Turn{Role: User, Text: text, Files: files})
	case "assistant":
		t := Turn{Role: Assistant, Text: text}
		for _, c := range m.ToolCalls {
			t.Calls = append(t.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		return r.add(t)
	case "tool":
		if m.ToolCallID == "" {
			return invalid("messages", "a tool message without tool_call_id")
		}
		return r.add(Turn{Role: Tool, Text: text, CallID: m.ToolCallID})
	default:
		return invalid("messages", "the role %q is not known here", m.Role)
	}
}

// done sees that something is said.
func (r *reading) done(param string) (*Request, error) {
	if len(r.Turns) == 0 || r.Turns[len(r.Turns)-1].Role == Assistant {
		return nil, invalid(param, "nothing is said: the last message is of the user or of a tool")
	}
	return &r.Request, nil
}
