package offline

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley.internal/internal/brain/model"
)

// lastResults are the results of the latest batch as JSON, one per line: as they
// are when they are JSON, else as a JSON string.
func lastResults(req *model.Request) string {
	i := len(req.Messages)
	for i > 0 && len(req.Messages[i-1].Calls) == 0 {
		i--
	}
	var lines []string
	for _, m := range req.Messages[i:] {
		if m.Role == model.Tool {
			lines = append(lines, asJSON(m.Text))
		}
	}
	return strings.Join(lines, "\n")
}

func asJSON(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) == nil {
		return b.String()
	}
	return encode(s)
}

type givenMessage struct {
	Role       model.Role  `json:"role"`
	Content    string      `json:"content"`
	ToolCalls  []givenCall `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
	Name       string      `json:"name,omitempty"`
	IsError    bool        `json:"is_error,omitempty"`
	Injected   bool        `json:"injected,omitempty"`
	Files      []givenFile `json:"files,omitempty"`
}

type givenFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Digest string `json:"digest"`
	Bytes  int    `json:"bytes"`
}

type givenCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type given struct {
	System    string         `json:"system"`
	History   []givenMessage `json:"history"`
	Tools     []string       `json:"tools"`
	MaxTokens int            `json:"max_tokens"`
}

// contextJSON shows what the model was given, so that a test (or a person) can see
// what a real model would be sent.
func contextJSON(req *model.Request) string {
	g := given{System: req.System, History: []givenMessage{}, Tools: []string{}, MaxTokens: req.MaxOutput}
	for _, m := range req.Messages {
		gm := givenMessage{
			Role: m.Role, Content: m.Text, ToolCallID: m.CallID, Name: m.Name,
			IsError: m.IsError, Injected: m.Injected,
		}
		for _, c := range m.Calls {
			gm.ToolCalls = append(gm.ToolCalls, givenCall(c))
		}
		for _, f := range m.Files {
			gm.Files = append(gm.Files, givenFile{f.Name, f.Type, f.Digest, len(f.Data)})
		}
		g.History = append(g.History, gm)
	}
	for _, t := range req.Tools {
		g.Tools = append(g.Tools, t.Name)
	}
	return encode(g)
}

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
