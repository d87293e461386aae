package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"parley.internal/internal/brain/tool"
)

// roleEnv makes this test binary an MCP server on its standard input and output.
const roleEnv = "MCP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "server":
		if err := testServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot find my configuration, password is "+os.Getenv("DB_PASSWORD"))
		os.Exit(7)
	case "mute": // never answers
		select {}
	}
}

type none struct{}

func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
	add := func(name string, readOnly bool, run func(ctx context.Context) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
			func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
				res, err := run(ctx)
				return res, nil, err
			})
	}
	say := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add("pid", true, func(context.Context) (*mcp.CallToolResult, error) { return say(fmt.Sprint(os.Getpid())), nil })
	add("env", true, func(context.Context) (*mcp.CallToolResult, error) { return say(strings.Join(os.Environ(), "\n")), nil })
	add("fail", false, func(context.Context) (*mcp.CallToolResult, error) { return nil, fmt.Errorf("it did not work") })
	add("die", false, func(context.Context) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("hang", false, func(ctx context.Context) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("mixed", true, func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "words"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
			&mcp.ResourceLink{URI: "file:///x", Name: "x"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Text: "inside"}},
		}}, nil
	})
	return s
}

func stdio(role string) Server {
	return Server{Name: "test", Command: os.Args[0], Env: map[string]string{roleEnv: role, "DB_PASSWORD": "hunter2secret"}}
}

func pool(t *testing.T, o Options, servers ...Server) *Pool {
	t.Helper()
	o.Patience = time.Minute // a process may take its time to start on a busy machine
	if o.Connect == 0 {
		o.Connect = time.Minute
	}
	p := New(o)
	t.Cleanup(p.Close)
	if err := p.Set(servers); err != nil {
		t.Fatal(err)
	}
	return p
}

func tools(t *testing.T, p *Pool, agent string) map[string]*tool.Tool {
	t.Helper()
	list, err := p.Tools(context.Background(), User{Agent: agent}, []string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.NewSet(nil, list...); err != nil {
		t.Fatal(err)
	}
	out := map[string]*tool.Tool{}
	for _, x := range list {
		out[strings.TrimPrefix(x.Name, "mcp__test__")] = x
	}
	return out
}

func call(t *testing.T, x *tool.Tool) tool.Result {
	t.Helper()
	res, err := x.Run(context.Background(), tool.Call{Arguments: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Untrusted || res.Source != "mcp:test" {
		t.Errorf("not marked as a stranger's words: %+v", res)
	}
	return res
}

func status(p *Pool) string {
	s := p.Status()[0]
	return fmt.Sprintf("%s %d %s", s.State, s.Tools, s.Error)
}

func TestStdioServer(t *testing.T) {
	p := pool(t, Options{}, stdio("server"))
	if s := status(p); s != "disconnected 0 " {
		t.Errorf("before use: %s", s)
	}
	x := tools(t, p, "a")
	if s := status(p); s != "connected 6 " {
		t.Errorf("in use: %s", s)
	}
	if res := call(t, x["mixed"]); res.IsError || res.Text != "words\n[image image/png, 4 bytes]\n[resource x file:///x]\ninside" {
		t.Errorf("%+v; want not res.IsError, res.Text to be \"words\\n[image image/png, 4 bytes]\\n[resource x file:///x]\\ninside\"", res)
	}
	if res := call(t, x["fail"]); !res.IsError || res.Text != "it did not work" {
		t.Errorf("%+v; want res.IsError, res.Text to be \"it did not work\"", res)
	}
	if x["pid"].Class != tool.Mutating {
		t.Error("an untrusted server is not believed")
	}
	if x["pid"].Description != "does pid" || !json.Valid(x["pid"].Schema) {
		t.Errorf("%+v; want x[\"pid\"].Description to be \"does pid\", json.Valid(x[\"pid\"].Schema)", x["pid"])
	}
}

func TestATrustedServerIsBelieved(t *testing.T) {
	s := stdio("server")
	s.Trusted = true
	x := tools(t, pool(t, Options{}, s), "a")
	if x["pid"].Class != tool.ReadOnly || x["fail"].Class != tool.Mutating {
		t.Errorf("pid %v, fail %v", x["pid"].Class, x["fail"].Class)
	}
}

func TestTheServerSeesOnlyItsOwnSecrets(t *testing.T) {
	t.Setenv("HUB_API_KEY", "leak-me")
	p := pool(t, Options{}, stdio("server"))
	res := call(t, tools(t, p, "a")["env"])
	if strings.Contains(res.Text, "leak-me") {
		t.Error("a secret of the hub")
	}
	if !strings.Contains(res.Text, "DB_PASSWORD=***") {
		t.Error("its own variable is missing, or shown")
	}
}

func TestOneClientPerAgent(t *testing.T) {
	p := pool(t, Options{}, stdio("server"))
	a, b := tools(t, p, "a"), tools(t, p, "b")
	one, two, again := call(t, a["pid"]).Text, call(t, b["pid"]).Text, call(t, a["pid"]).Text
	if one == two || one != again {
		t.Errorf("processes %s, %s, %s", one, two, again)
	}
}

func TestAServerDyingMidCall(t *testing.T) {
	p := pool(t, Options{}, stdio("server"))
	x := tools(t, p, "a")
	before := call(t, x["pid"]).Text
	res := call(t, x["die"])
	if !res.IsError || !strings.Contains(res.Text, "stopped during the call") {
		t.Errorf("%+v; want res.IsError, \"stopped during the call\" in it", res)
	}
	if s := status(p); !strings.HasPrefix(s, "failed 6 it stopped during a call") {
		t.Errorf("status %s", s)
	}
	after := call(t, x["pid"]) // started again by the next use
	if after.IsError || after.Text == before {
		t.Errorf("before %s, after %+v", before, after)
	}
	if s := status(p); s != "connected 6 " {
		t.Errorf("status %s", s)
	}
}

func TestCancelEndsACallAndKeepsTheServer(t *testing.T) {
	p := pool(t, Options{}, stdio("server"))
	x := tools(t, p, "a")
	pid := call(t, x["pid"]).Text
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := x["hang"].Run(ctx, tool.Call{}); err == nil {
		t.Error("no error")
	}
	if again := call(t, x["pid"]).Text; again != pid {
		t.Errorf("another process: %s, %s", pid, again)
	}
}

func TestABrokenCommandIsReportedWithoutSecrets(t *testing.T) {
	p := pool(t, Options{}, stdio("broken"))
	_, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"test"})
	if err == nil || !strings.Contains(err.Error(), "cannot find my configuration") {
		t.Fatalf("got %v", err)
	}
	s := status(p)
	if !strings.HasPrefix(s, "failed 0 ") || !strings.Contains(s, "password is ***") || strings.Contains(s+err.Error(), "hunter2secret") {
		t.Errorf("status %s", s)
	}
}

func TestACommandThatDoesNotExist(t *testing.T) {
	p := pool(t, Options{}, Server{Name: "test", Command: "/nonexistent/mcp"}, Server{Name: "other", URL: "http://127.0.0.1:1/mcp"})
	list, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"})
	if err == nil || len(list) != 0 || !strings.Contains(err.Error(), "test") || !strings.Contains(err.Error(), "other") {
		t.Errorf("got %v", err)
	}
}

func TestAMuteServerDoesNotHoldAnybodyUp(t *testing.T) {
	p := pool(t, Options{Connect: 100 * time.Millisecond}, stdio("mute"))
	if _, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"}); err == nil {
		t.Error("no error")
	}
}

func TestCloseKillsTheProcessEvenDuringACall(t *testing.T) {
	p := pool(t, Options{}, stdio("server"))
	x := tools(t, p, "a")
	pid := call(t, x["pid"]).Text
	started := make(chan struct{})
	done := make(chan tool.Result)
	go func() {
		close(started)
		res, _ := x["hang"].Run(context.Background(), tool.Call{})
		done <- res
	}()
	<-started
	p.Close()
	<-done
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if process, err := os.FindProcess(n); err == nil && process.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %s lives", pid)
	}
	if _, err := x["pid"].Run(context.Background(), tool.Call{}); tool.TypeOf(err) != tool.NotFound {
		t.Errorf("after Close: %v", err)
	}
	if _, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"}); err == nil {
		t.Error("Tools after Close")
	}
}

func TestSetKeepsWhatDidNotChange(t *testing.T) {
	a, b := stdio("server"), stdio("server")
	b.Name = "second"
	p := pool(t, Options{}, a, b)
	x := tools(t, p, "a")
	pid := call(t, x["pid"]).Text
	if err := p.Set([]Server{a}); err != nil {
		t.Fatal(err)
	}
	if again := call(t, x["pid"]).Text; again != pid {
		t.Error("the unchanged server was restarted")
	}
	if _, err := x["mcp__second__pid"].Run(context.Background(), tool.Call{}); tool.TypeOf(err) != tool.NotFound {
		t.Errorf("a removed server answers: %v", err)
	}
	a.Disabled = true
	if err := p.Set([]Server{a}); err != nil {
		t.Fatal(err)
	}
	if list, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"}); err != nil || len(list) != 0 {
		t.Errorf("a disabled server offers %d tools, %v", len(list), err)
	}
}

func TestOnlyListedServersAreUsed(t *testing.T) {
	p := pool(t, Options{}, stdio("server"), Server{Name: "never", Command: "/nonexistent"})
	list, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"test"})
	if err != nil || len(list) != 6 {
		t.Errorf("%d tools, %v", len(list), err)
	}
	if list, err := p.Tools(context.Background(), User{Agent: "a"}, nil); err != nil || len(list) != 0 {
		t.Errorf("%d tools, %v", len(list), err)
	}
}

func TestBadServersAreRefused(t *testing.T) {
	p := pool(t, Options{})
	for _, list := range [][]Server{
		{{Command: "x"}},
		{{Name: "x"}},
		{{Name: "x", Command: "x", URL: "http://x"}},
		{{Name: "x", URL: "x"}},
		{{Name: "x", URL: "ftp://x"}},
		{{Name: strings.Repeat("x", 65), Command: "x"}},
		{{Name: "x", Command: "x"}, {Name: "x", Command: "y"}},
	} {
		if err := p.Set(list); err == nil {
			t.Errorf("%v accepted", list)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	s := stdio("server")
	s.Bearer = "bearer-secret"
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s)
	p := New(Options{})
	defer p.Close()
	if err := p.Set([]Server{s}); err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(p.Servers())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{log.String(), fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), string(shown)} {
		if strings.Contains(text, "hunter2secret") || strings.Contains(text, "bearer-secret") {
			t.Errorf("secret in %s", text)
		}
	}
	if !strings.Contains(string(shown), `"DB_PASSWORD":"***"`) {
		t.Errorf("%s; want \"\"DB_PASSWORD\":\"***\"\" in it", shown)
	}
}

func TestHTTPServer(t *testing.T) {
	var authorized atomic.Int32
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bearer-secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		authorized.Add(1)
		handler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	p := pool(t, Options{}, Server{Name: "test", URL: srv.URL, Bearer: "bearer-secret"})
	x := tools(t, p, "a")
	if res := call(t, x["pid"]); res.Text != fmt.Sprint(os.Getpid()) {
		t.Errorf("%+v", res)
	}
	p.Close()
	if authorized.Load() == 0 {
		t.Error("the token was not sent")
	}
	wrong := pool(t, Options{}, Server{Name: "test", URL: srv.URL, Bearer: "other-secret"})
	if _, err := wrong.Tools(context.Background(), User{Agent: "a"}, []string{"*"}); err == nil || strings.Contains(err.Error(), "other-secret") {
		t.Errorf("got %v", err)
	}
}

func TestAnHTTPServerThatGoesAway(t *testing.T) {
	var down atomic.Bool
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, &mcp.StreamableHTTPOptions{Stateless: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	p := pool(t, Options{}, Server{Name: "test", URL: srv.URL})
	x := tools(t, p, "a")
	down.Store(true)
	if res := call(t, x["pid"]); !res.IsError {
		t.Errorf("%+v; want res.IsError", res)
	}
	down.Store(false)
	if res := call(t, x["pid"]); res.IsError {
		t.Errorf("not started again: %+v", res)
	}
}

// What a server says of its tools is believed where it makes the hub ask more often.
func TestAToolThatSaysItReachesOthersSpeaks(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		hints  *mcp.ToolAnnotations
		speaks bool
	}{
		"one that says nothing":          {nil, false},
		"one that changes its server":    {&mcp.ToolAnnotations{OpenWorldHint: &no}, false},
		"one that acts in an open world": {&mcp.ToolAnnotations{OpenWorldHint: &yes}, true},
	} {
		made := (&server{}).tool(User{}, &mcp.Tool{Name: "send", Annotations: c.hints})
		if made.Speaks != c.speaks {
			t.Errorf("%s speaks to others: %v, want %v", name, made.Speaks, c.speaks)
		}
	}
}
