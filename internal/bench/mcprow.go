package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpRow: what the hub adds to a model's tool call.
func mcpRow() Row {
	return Row{Name: "mcp", What: "a tool call over MCP (list_agents, one after the other), as clients with and without sessions make it", Run: runMCP}
}

func runMCP(ctx context.Context, env *Env) ([]Result, error) {
	data := filepath.Join(env.Dir, "data")
	hub, err := env.start(ctx, "hub", data)
	if err != nil {
		return nil, err
	}
	defer hub.Stop()
	token, err := os.ReadFile(filepath.Join(data, "owner.token"))
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range []struct{ name, revision string }{{"in a session", "2025-11-25"}, {"standing alone", "2026-07-28"}} {
		took, err := toolCalls(ctx, hub.Hello.Addr+"/mcp/fleet", strings.TrimSpace(string(token)), c.revision, pick(env, 2000, 20))
		if err != nil {
			return results, err
		}
		results = append(results,
			atMost(c.name+", median", Figure{float64(took[len(took)/2]), Nanos}, float64(3*time.Millisecond)),
			atMost(c.name+", p99", Figure{float64(took[len(took)*99/100]), Nanos}, float64(10*time.Millisecond)))
	}
	return results, nil
}

// openaiRow: what the hub adds before the first word of a model that answers at once, the disk's
// promise about the words said included.
func openaiRow() Row {
	return Row{Name: "openai", What: "the first word at /v1/chat/completions, with a model that answers at once", Run: runOpenAI}
}

func runOpenAI(ctx context.Context, env *Env) ([]Result, error) {
	data := filepath.Join(env.Dir, "data")
	hub, err := env.start(ctx, "hub", data)
	if err != nil {
		return nil, err
	}
	defer hub.Stop()
	token, err := os.ReadFile(filepath.Join(data, "owner.token"))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: withToken{strings.TrimSpace(string(token)), transport}}
	var results []Result
	for _, c := range []struct {
		name  string
		whole bool
	}{{"only what is new", false}, {"the whole history each time", true}} {
		took, err := firstWords(ctx, client, hub.Hello.Addr+"/v1/chat/completions", c.name, c.whole, pick(env, 200, 5))
		if err != nil {
			return results, err
		}
		results = append(results,
			atMost(c.name+", median", Figure{float64(took[len(took)/2]), Nanos}, float64(2*time.Millisecond)),
			Result{Case: c.name + ", p99", Ours: Figure{float64(took[len(took)*99/100]), Nanos}})
	}
	return results, nil
}

// firstWords takes n turns in one conversation and gives how long each first word took, sorted.
func firstWords(ctx context.Context, client *http.Client, url, thread string, whole bool, n int) ([]time.Duration, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var history []message
	took := make([]time.Duration, n)
	for i := range took {
		say := message{"user", "/say hello"}
		body, err := json.Marshal(map[string]any{"model": "parley", "user": thread, "stream": true, "messages": append(history, say)})
		if err != nil {
			return nil, err
		}
		if took[i], err = firstWord(ctx, client, url, body); err != nil {
			return nil, err
		}
		if whole {
			history = append(history, say, message{"assistant", "hello"})
		}
	}
	slices.Sort(took)
	return took, nil
}

// firstWord reads a stream to its end and gives when its first word came.
func firstWord(ctx context.Context, client *http.Client, url string, body []byte) (first time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the hub answered %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if first == 0 && strings.Contains(lines.Text(), `"content":"hello`) {
			first = time.Since(began)
		}
	}
	if first == 0 && lines.Err() == nil {
		return 0, errors.New("the answer has no word")
	}
	return first, lines.Err()
}

// toolCalls makes n calls and gives how long each took, sorted.
func toolCalls(ctx context.Context, endpoint, token, revision string, n int) ([]time.Duration, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: withToken{token, transport}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_agents"}); err != nil {
			return nil, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took, nil
}

// withToken says who calls.
type withToken struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.next.RoundTrip(r)
}
