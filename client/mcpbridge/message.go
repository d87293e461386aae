package mcpbridge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// firstAlone is the first revision whose requests carry everything themselves.
const firstAlone = "2026-07-28"

// message is as much of a JSON-RPC message as a carrier must know.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`

	raw []byte
}

// read looks into a message; raw is one line.
func read(raw []byte) (message, error) {
	m := message{raw: raw}
	var shape struct {
		Version string `json:"jsonrpc"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil || shape.Version != "2.0" {
		return m, fmt.Errorf("not a JSON-RPC message: %w", err)
	}
	// Params of another shape than expected are the hub's to judge.
	_ = json.Unmarshal(raw, &m)
	return m, nil
}

// isRequest reports whether somebody waits for an answer: ids are texts or numbers.
func (m message) isRequest() bool { return m.Method != "" && sameID(m.ID, m.ID) && m.ID[0] != 'n' }

// answers reports whether m is the response to a request.
func (m message) answers(to message) bool {
	return m.Method == "" && sameID(m.ID, to.ID)
}

// sameID compares what two programs may have written differently.
func sameID(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	switch x.(type) {
	case string, float64:
		return x == y
	default:
		return string(a) == string(b)
	}
}

// alone reports whether the message needs no session.
func (m message) alone() bool { return m.Params.Meta.Version >= firstAlone }

// target is what a header must name beside the method.
func (m message) target() string {
	switch m.Method {
	case "tools/call", "prompts/get":
		return m.Params.Name
	case "resources/read":
		return m.Params.URI
	default:
		return ""
	}
}

// failure is the response to a request that got none.
func failure(to message, text string) []byte {
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	out, _ := json.Marshal(struct { // text and a checked id: cannot fail
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   problem         `json:"error"`
	}{"2.0", to.ID, problem{-32000, text}})
	return out
}

// headerText is a text as a header may carry it.
func headerText(s string) string {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}
