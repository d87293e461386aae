package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
)

func TestOnePathServesEveryRevision(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range sdk.SupportedProtocolVersions() {
		s := r.connect("/mcp/probe", revision, options{})
		if got := s.InitializeResult().ProtocolVersion; got != revision {
			t.Errorf("asked for %s, got %s", revision, got)
		}
		if (s.ID() != "") != (revision < standalone) {
			t.Errorf("%s: session %q", revision, s.ID())
		}
		works(t, s, "echo", map[string]any{"text": "hello"}, `{"said":"hello"}`)
	}
}

func TestStateExistsOnlyInASession(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	one, two := r.connect("/mcp/probe", withSessions, options{}), r.connect("/mcp/probe", withSessions, options{})
	works(t, one, "remember", map[string]any{"text": "mine"}, `{"ok":true}`)
	works(t, one, "recall", nil, `{"text":"mine"}`)
	works(t, two, "recall", nil, `{"text":null}`)
	alone := r.connect("/mcp/probe", standalone, options{})
	fails(t, alone, "recall", nil, "no_session: ")
	check(t, one.Close())
	<-p.left
	if n := r.face.Sessions(); n != 1 {
		t.Errorf("%d sessions are open, want 1", n)
	}
}

// A stdio bridge has one client and one life, so it may keep a selection whatever
// revision its client speaks.
func TestABridgeIsASessionToo(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	link := http.Header{facemcp.LinkHeader: {strings.Repeat("a", 32)}}
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{header: link})
		works(t, s, "remember", map[string]any{"text": "kept"}, `{"ok":true}`)
		works(t, s, "recall", nil, `{"text":"kept"}`)
	}
	other := r.newToken("owner", "talk")
	works(t, r.connect("/mcp/probe", standalone, options{header: link, token: other.Secret}), "recall", nil, `{"text":null}`)
	res, _ := r.send(http.MethodDelete, "/mcp/probe", "", map[string]string{facemcp.LinkHeader: strings.Repeat("a", 32)})
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("ending a link: %s", res.Status)
	}
	<-p.left
	works(t, r.connect("/mcp/probe", standalone, options{header: link}), "recall", nil, `{"text":null}`)
}

func TestToolsHaveSchemaTitleAndHints(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{})
		for tool, err := range s.Tools(t.Context(), nil) {
			check(t, err)
			schema := string(must(json.Marshal(tool.InputSchema))(t))
			if tool.Title == "" || tool.Description == "" || !strings.Contains(schema, `"additionalProperties":false`) {
				t.Errorf("%s: %q %q %s; want tool.Title not to be \"\", tool.Description not to be \"\", \"\"additionalProperties\":false\" in it", tool.Name, tool.Title, tool.Description, schema)
			}
			if a := tool.Annotations; a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || a.ReadOnlyHint != (tool.Name == "echo") {
				t.Errorf("%s: annotations %+v", tool.Name, a)
			}
		}
	}
}

func names(t testing.TB, s *sdk.ClientSession) (list []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		check(t, err)
		list = append(list, tool.Name)
	}
	slices.Sort(list)
	return list
}

func TestPartsArePrefixedWhereTheyMeet(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range bothKinds {
		all, own := r.connect("/mcp", revision, options{}), r.connect("/mcp/probe", revision, options{})
		if got := names(t, all); !slices.Contains(got, "probe_echo") || slices.Contains(got, "echo") {
			t.Errorf("/mcp lists %v", got)
		}
		if got := names(t, own); slices.Contains(got, "probe_echo") || !slices.Contains(got, "echo") {
			t.Errorf("/mcp/probe lists %v", got)
		}
		works(t, all, "probe_echo", map[string]any{"text": "x"}, `{"said":"x"}`)
		works(t, own, "probe_echo", map[string]any{"text": "x"}, `{"said":"x"}`)
	}
}

func TestATokenSeesOnlyWhatItMayUse(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	narrow := r.newToken("owner", "talk").Secret
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{token: narrow})
		if slices.Contains(names(t, s), "guarded") {
			t.Error("a tool is listed that the token may not call")
		}
		fails(t, s, "guarded", nil, "forbidden: this needs the scope admin")
		if !slices.Contains(names(t, r.connect("/mcp/probe", revision, options{})), "guarded") {
			t.Error("a tool is missing that the token may call")
		}
	}
	list := must(r.connect("/mcp/probe", standalone, options{}).ListTools(t.Context(), nil))(t)
	if list.CacheScope != "private" {
		t.Errorf("lists differ from token to token, but may be cached as %q", list.CacheScope)
	}
}

func TestFailuresReadCodeAndMessage(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{})
		for _, tc := range []struct {
			tool string
			args any
			want string
		}{
			{"echo", nil, "bad_args: "},
			{"echo", map[string]any{"text": ""}, "bad_args: "},
			{"echo", map[string]any{"text": 7}, "bad_args: "},
			{"echo", map[string]any{"text": strings.Repeat("x", 21)}, "bad_args: "},
			{"echo", map[string]any{"text": "x", "count": 4}, "bad_args: "},
			{"echo", map[string]any{"text": "x", "count": 1.5}, "bad_args: "},
			{"echo", map[string]any{"text": "x", "more": 1}, "bad_args: "},
			{"echo", json.RawMessage(`{"text":"x","text":"y"}`), "bad_args: "},
			{"echo", json.RawMessage(`["x"]`), "bad_args: "},
			{"wait", map[string]any{"text": "x"}, "bad_args: "},
			{"panic", nil, "internal: something went wrong"},
			{"break", nil, "internal: something went wrong"},
			{"busy", nil, "busy: a turn is running"},
		} {
			fails(t, s, tc.tool, tc.args, tc.want)
		}
		_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "nonesuch"})
		if answer, ok := errors.AsType[*jsonrpc.Error](err); !ok || answer.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("an unknown tool: %v", err)
		}
	}
}

func TestResultsAreStructuredAndText(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{})
		result := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}))(t)
		if diff := cmp.Diff(map[string]any{"said": "x"}, result.StructuredContent); diff != "" || textOf(result) != `{"said":"x"}` {
			t.Errorf("%s, text %s", diff, textOf(result))
		}
		if result.Meta["parley/probe"] != true {
			t.Errorf("meta %v", result.Meta)
		}
		result = must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "picture"}))(t)
		if image, ok := result.Content[0].(*sdk.ImageContent); !ok || string(image.Data) != "PNG" || image.MIMEType != "image/png" {
			t.Errorf("content %v", result.Content)
		}
	}
}

func TestProgressReachesAClientThatAsked(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	for _, revision := range bothKinds {
		heard := make(chan string, 10)
		s := r.connect("/mcp/probe", revision, options{client: sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { heard <- n.Params.Message },
		}})
		params := &sdk.CallToolParams{Name: "progress"}
		params.SetProgressToken("p1")
		must(s.CallTool(t.Context(), params))(t)
		if first, second := <-heard, <-heard; first != "first" || second != "second" {
			t.Errorf("heard %q, %q", first, second)
		}
		works(t, s, "progress", nil, `{"ok":true}`)
	}
}

func TestACancelledCallEnds(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	for _, revision := range bothKinds {
		s := r.connect("/mcp/probe", revision, options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "wait"})
			done <- err
		}()
		<-p.started
		cancel()
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the tool saw %v", revision, err)
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client saw %v", revision, err)
		}
	}
}

func TestWhatChangesSomethingIsInTheTrail(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	token := r.newToken("owner", "talk")
	s := r.connect("/mcp/probe", withSessions, options{token: token.Secret})
	works(t, s, "echo", map[string]any{"text": "only looks"}, `{"said":"only looks"}`)
	works(t, s, "remember", map[string]any{"text": "private"}, `{"ok":true}`)
	fails(t, s, "guarded", nil, "forbidden")
	all := r.trail.entries()
	if len(all) != 2 || all[0].Target != "remember" || all[0].Outcome != "" || all[1].Target != "guarded" || all[1].Outcome != "forbidden" {
		t.Fatalf("trail %+v", all)
	}
	if e := all[0]; e.Actor != "person:owner" || e.Action != "mcp.call" || e.Digest == "" || e.Detail["token"] != token.ID || e.Detail["client"] != "tester" {
		t.Errorf("entry %+v", e)
	}
	if text := string(must(json.Marshal(all))(t)); strings.Contains(text, "private") {
		t.Error("arguments are in the trail")
	}
}

func TestARevokedTokenTakesItsSessionsAndCallsWithIt(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	for _, revision := range bothKinds {
		token := r.newToken("owner", "talk")
		s := r.connect("/mcp/probe", revision, options{token: token.Secret})
		done := make(chan error, 1)
		go func() {
			_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait"})
			done <- err
		}()
		<-p.started
		check(t, r.people.Revoke(t.Context(), identity.Local(r.owner), token.ID))
		<-p.ended
		<-done // an answer "cancelled", or the end of the stream: never silence
		eventually(t, "the session is gone", func() bool { return r.face.Sessions() == 0 })
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err == nil {
			t.Errorf("%s: a revoked token was served", revision)
		}
	}
}
