package openai

import (
	"encoding/json"
	"fmt"
)

type responsesRequest struct {
	shared
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Background   bool            `json:"background"`
	Tools        []responsesTool `json:"tools"`
	Text         *struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

type responsesTool struct {
	Type string `json:"type"`
	Function
}

// item is one entry of input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// DecodeResponses reads a request for /v1/responses. Errors are [*Error].
func DecodeResponses(body []byte) (*Request, error) {
	var in responsesRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	r, err := in.request()
	if err != nil {
		return nil, err
	}
	if in.Background {
		return nil, invalid("background", "answers are not made in the background here; hand the agent a task instead")
	}
	r.Previous = in.Previous
	r.brief(in.Instructions)
	if err := r.input(in.Input); err != nil {
		return nil, err
	}
	for _, t := range in.Tools {
		if t.Type == "function" {
			r.Tools = append(r.Tools, t.Function)
		}
	}
	r.choose(in.ToolChoice)
	if in.Text != nil && in.Text.Format != nil {
		r.format(in.Text.Format.Type, in.Text.Format.Schema)
	}
	return r.done("input")
}

func (r *reading) input(raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return r.add(Turn{Role: User, Text: text})
	}
	var items []item
	if json.Unmarshal(raw, &items) != nil {
		return invalid("input", "input is a text or a list of items")
	}
	for i, it := range items {
		if err := r.item(fmt.Sprintf("input[%d]", i), it); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) item(param string, it item) error {
	switch it.Type {
	case "", "message":
		return r.message(param, chatMessage{Role: it.Role, Content: it.Content})
	case "function_call":
		call := Call{ID: it.CallID, Name: it.Name, Arguments: it.Arguments}
		if n := len(r.Turns); n > 0 && r.Turns[n-1].Role == Assistant && r.Turns[n-1].Calls != nil {
			r.Turns[n-1].Calls = append(r.Turns[n-1].Calls, call)
			return nil
		}
		return r.add(Turn{Role: Assistant, Calls: []Call{call}})
	case "function_call_output":
		if it.CallID == "" {
			return invalid(param, "a function_call_output without call_id")
		}
		text, _, err := r.content(param, it.Output)
		if err != nil {
			return err
		}
		return r.add(Turn{Role: Tool, Text: text, CallID: it.CallID})
	case "reasoning":
		return nil // how an answer came about is not part of what was said
	default:
		return invalid(param, "an item of the type %q is not known here", it.Type)
	}
}
