//go:build linux

package owners_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// modelKey is the hub's key for the model.
const modelKey = "the-key-of-the-model-1234"

// fakeModel stands for a model somewhere else: it makes the calls a message asks for
// ("shell cat .env" becomes a call of shell), and keeps everything it was sent.
type fakeModel struct {
	*httptest.Server
	mu   sync.Mutex
	sent strings.Builder
}

func startModel(t *testing.T) *fakeModel {
	m := &fakeModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.Close)
	return m
}

// Sent is every request so far.
func (m *fakeModel) Sent() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent.String()
}

func (m *fakeModel) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.sent.Write(body)
	m.mu.Unlock()
	var req struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta := map[string]any{"content": "all done"}
	if last := req.Messages[len(req.Messages)-1]; last.Role == "user" {
		delta = map[string]any{"tool_calls": calls(fmt.Sprint(last.Content))}
	}
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}} {
		chunk, _ := json.Marshal(map[string]any{"choices": []any{choice}})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// calls are the lines of a message that begin with a tool's name.
func calls(text string) (list []any) {
	for line := range strings.SplitSeq(text, "\n") {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := map[string]any{}
		switch name {
		case "shell":
			args["command"] = rest
		case "shell_briefly":
			name, args = "shell", map[string]any{"command": rest, "timeout_ms": 300}
		case "file_read", "file_list":
			args["path"] = rest
		default:
			continue
		}
		raw, _ := json.Marshal(args)
		list = append(list, map[string]any{
			"index": len(list), "id": fmt.Sprintf("call_%d", len(list)), "type": "function",
			"function": map[string]any{"name": name, "arguments": string(raw)},
		})
	}
	return list
}
