package bench

import (
	"context"
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
