package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/client/mcpbridge"
	facemcp "parley.internal/internal/face/mcp"
)

// overStdio is a client at the other end of a bridge's pipes.
func (r *rig) overStdio(path, revision, token string, o sdk.ClientOptions) (s *sdk.ClientSession, hangUp func()) {
	r.t.Helper()
	fromClient, toBridge := io.Pipe()
	fromBridge, toClient := io.Pipe()
	bridge := &mcpbridge.Bridge{Endpoint: r.server.URL + path, Token: token, Client: &http.Client{Transport: r.server.Client().Transport}}
	done := make(chan error, 1)
	go func() {
		done <- bridge.Run(context.Background(), fromClient, toClient)
		_ = toClient.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "desktop", Version: "1"}, &o)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s = must(client.Connect(ctx, &sdk.IOTransport{Reader: fromBridge, Writer: toBridge}, &sdk.ClientSessionOptions{ProtocolVersion: revision}))(r.t)
	return s, func() {
		_ = s.Close()
		_ = toBridge.Close()
		check(r.t, <-done)
	}
}

func TestABridgeCarriesEveryRevision(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	for _, revision := range sdk.SupportedProtocolVersions() {
		shown := make(chan string, 1)
		s, hangUp := r.overStdio("/mcp/probe", revision, r.token, person("accept", shown))
		if got := s.InitializeResult().ProtocolVersion; got != revision {
			t.Errorf("asked for %s, got %s", revision, got)
		}
		works(t, s, "echo", map[string]any{"text": "hello"}, `{"said":"hello"}`)
		fails(t, s, "echo", map[string]any{}, "bad_args: ")
		// What is selected stays selected: a bridge is one client's, whatever it speaks.
		works(t, s, "remember", map[string]any{"text": "mine"}, `{"ok":true}`)
		works(t, s, "recall", nil, `{"text":"mine"}`)
		if revision >= "2025-06-18" { // elicitation is no older
			works(t, s, "confirm", map[string]any{"text": "go"}, `{"did":"go"}`)
			<-shown
		}
		hangUp()
		<-p.left
		eventually(t, "the hub knows that the bridge is gone", func() bool { return r.face.Sessions() == 0 })
	}
}

func TestABridgeCancels(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	for _, revision := range bothKinds {
		s, hangUp := r.overStdio("/mcp/probe", revision, r.token, sdk.ClientOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
		}()
		<-p.started
		works(t, s, "echo", map[string]any{"text": "meanwhile"}, `{"said":"meanwhile"}`)
		cancel()
		<-p.ended
		<-done
		hangUp()
	}
}

// raw runs a bridge on a text and gives its lines.
func (r *rig) raw(token, endpoint, input string) []map[string]any {
	r.t.Helper()
	var out bytes.Buffer
	bridge := &mcpbridge.Bridge{Endpoint: endpoint, Token: token, Client: &http.Client{Transport: r.server.Client().Transport}}
	check(r.t, bridge.Run(r.t.Context(), strings.NewReader(input), &out))
	var all []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			r.t.Errorf("not a message: %q", line)
		}
		all = append(all, m)
	}
	return all
}

func TestABridgeAnswersWhateverHappens(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	path := r.server.URL + "/mcp/probe"
	narrow := r.newToken("owner", "audit:read").Secret
	for name, tc := range map[string]struct{ token, endpoint, input, want string }{
		"a wrong token":      {"prl_nonsense", path, hello, "unauthorized"},
		"a narrow token":     {narrow, path, hello, "insufficient_scope"},
		"no such part":       {r.token, r.server.URL + "/mcp/nothing", hello, "404"},
		"no hub":             {r.token, "http://127.0.0.1:1/mcp", hello, "cannot be reached"},
		"not JSON":           {r.token, path, "so what", "not a JSON-RPC message"},
		"not JSON-RPC":       {r.token, path, `{"id":1}`, "not a JSON-RPC message"},
		"no session yet":     {r.token, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "initialization"},
		"a method of no one": {r.token, path, `{"jsonrpc":"2.0","id":1,"method":"a/b"}`, "a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			all := r.raw(tc.token, tc.endpoint, tc.input+"\n")
			if len(all) != 1 || !strings.Contains(string(must(json.Marshal(all[0]["error"]))(t)), tc.want) {
				t.Errorf("%v; want len(all) to be 1, strings.Contains(string(must(json.Marshal(all[0][\"error\"]))(t)), tc.want)", all)
			}
		})
	}
	if all := r.raw(r.token, path, "\n\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); len(all) != 0 {
		t.Errorf("answers to nothing: %v", all)
	}
}

// The client of a bridge cannot know that the hub was restarted: the bridge says
// hello again for it.
func TestABridgeBeginsAgainWhenTheHubForgotTheSession(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	s, hangUp := r.overStdio("/mcp/probe", withSessions, r.token, sdk.ClientOptions{})
	works(t, s, "remember", map[string]any{"text": "mine"}, `{"ok":true}`)
	check(t, r.face.Close(t.Context()))
	r.stop()
	address := strings.TrimPrefix(r.server.URL, "http://")
	r.serveAt(address, facemcp.Limits{}, []facemcp.Toolset{p.toolset()})
	works(t, s, "echo", map[string]any{"text": "still here"}, `{"said":"still here"}`)
	works(t, s, "recall", nil, `{"text":null}`)
	hangUp()
}
