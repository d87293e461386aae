package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// methods are what the library knows in revisions with sessions, which change no more.
// It answers others there with a line of text that clients take for a broken server.
var methods = []string{
	"initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
	"resources/read", "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "completion/complete", "server/discover",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
}

// message is what the face looks at of a request before the library does.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// namesRevision reports whether a message carries its own revision.
func (m message) namesRevision() bool {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return false
	}
	_, named := params.Meta[versionMeta]
	return named
}

// unknown tells of a request or notification that no revision with sessions has.
// Answers to questions of ours have no method.
func (m message) unknown() bool { return m.Method != "" && !slices.Contains(methods, m.Method) }

// answerUnknown says so as the protocol wants it. Notifications are never answered.
func (m message) answerUnknown(w http.ResponseWriter) {
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{
		"code": jsonrpc.CodeMethodNotFound, "message": "method not found: " + strings.ToValidUTF8(short(m.Method), ""),
	}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
