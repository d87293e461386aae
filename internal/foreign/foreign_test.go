package foreign

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/mask"
	"parley.internal/internal/sandbox"
	"parley.internal/protocol/acp"
	"parley.internal/test/acpagent"
)

// TestMain lets this very program be the agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "acp-agent" {
		acpagent.Main(os.Args[2:])
	}
	goleak.VerifyTestMain(m)
}

// unboxed opens a session where there is no box.
func unboxed(t *testing.T) brain.Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	a := New(Options{Dir: t.TempDir(), Sandbox: sandbox.New(sandbox.Options{Environ: os.Environ(), Temp: t.TempDir()}), Mask: mask.New(func() []string { return nil })})
	entry := []byte("command: " + self + "\nargs: [acp-agent]\n")
	if err := os.WriteFile(filepath.Join(a.files.dir, "tester.yaml"), entry, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := a.Model("tester")
	if err != nil {
		t.Fatal(err)
	}
	s := m.Provider.(brain.Hosted).Open(brain.Hosting{
		Call: tool.Call{Workspace: folder, Dir: folder}, Save: func(context.Context, string) error { return nil },
	})
	t.Cleanup(s.Close)
	return s
}

// hear plays one stream to its end.
func hear(t *testing.T, s brain.Session, history []model.Message) (text string, calls []model.Call, err error) {
	t.Helper()
	var a brain.Answer
	for ev, err := range s.Stream(t.Context(), model.Request{Messages: history}) {
		if err != nil {
			return a.Text(), nil, err
		}
		a.Add(&ev)
	}
	return a.Text(), a.Calls(1), nil
}

// Where there is no box, the program would have the hub's own rights: a person sees the command and says yes first.
func TestWithoutABoxAPersonSaysYesToTheStart(t *testing.T) {
	for _, yes := range []bool{true, false} {
		s := unboxed(t)
		history := []model.Message{{Role: model.User, Text: "say hello"}}
		text, calls, err := hear(t, s, history)
		if err != nil || len(calls) != 1 || calls[0].Name != toolStart || !strings.Contains(calls[0].Arguments, "acp-agent") {
			t.Fatalf("before it starts: %q %+v %v, want the question whether it may", text, calls, err)
		}
		history = append(history, model.Message{Role: model.Assistant, Calls: calls}, model.Message{Role: model.Tool, CallID: calls[0].ID, IsError: !yes, Text: `{"ok":true}`})
		text, _, err = hear(t, s, history)
		if yes && (err != nil || text != "hello\n") {
			t.Errorf("after a yes: %q %v, want hello", text, err)
		}
		if !yes && (err == nil || !strings.Contains(err.Error(), "did not want it to run without one")) {
			t.Errorf("after a no: %q %v, want that it does not start", text, err)
		}
	}
}

func TestTheBuiltInEntriesCanBeRead(t *testing.T) {
	a := New(Options{Dir: t.TempDir()})
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		agent, err := a.Agent(name)
		if err != nil || agent.Model != "foreign:"+name || agent.Description == "" {
			t.Errorf("%s: %+v, %v", name, agent, err)
		}
	}
	for _, name := range []string{"nobody", "../claude", "", "Claude"} {
		if _, err := a.Agent(name); err == nil {
			t.Errorf("there is an agent %q", name)
		}
	}
}

// A command is judged as a command only if it is all that the agent says it would do.
func TestACommandIsFoundInWhatAgentsSend(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make test","description":"run the tests","timeout":5}`: "make test",
		`{"command":["bash","-lc","make test"],"workdir":"/w"}`:             "make test",
		`{"command":["git","commit","-m","a b"]}`:                           "git commit -m 'a b'",
		`{"command":"make","dangerously_without_sandbox":true}`:             "",
		`{"command":["bash","-lc",7]}`:                                      "",
		`{"command":" "}`:                                                   "",
		`{"script":"make"}`:                                                 "",
		`[1]`:                                                               "",
	} {
		got, _, ok := commandOf(acp.ToolCall{Tool: acp.KindExecute, Input: jsontext.Value(input)})
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: the command is %q, want %q", input, got, want)
		}
	}
}

// Of the options an agent offers, a yes takes the one for this once, whatever their order; a no never allows.
func TestTheOptionForThisOnceIsChosen(t *testing.T) {
	always, once := acp.Option{ID: "a", Kind: acp.AllowAlways}, acp.Option{ID: "o", Kind: acp.AllowOnce}
	no, never := acp.Option{ID: "n", Kind: acp.RejectOnce}, acp.Option{ID: "x", Kind: acp.RejectAlways}
	var yes, rejected, cancelled result
	yes.OK = true
	rejected.Error.Type, cancelled.Error.Type = "rejected", "superseded"
	for _, c := range []struct {
		options []acp.Option
		res     result
		want    string
	}{
		{[]acp.Option{always, once, no}, yes, "o"},
		{[]acp.Option{always, no}, yes, "n"},
		{[]acp.Option{always}, yes, ""},
		{[]acp.Option{always, once, never, no}, rejected, "n"},
		{[]acp.Option{always, once, never}, rejected, "x"},
		{[]acp.Option{always, once}, rejected, ""},
		{[]acp.Option{always, once, no}, cancelled, ""},
	} {
		if got := choose(c.options, c.res); got.Option != c.want {
			t.Errorf("%+v of %+v: %q, want %q", c.res, c.options, got.Option, c.want)
		}
	}
}

func TestLinesAreCutOutOfAFile(t *testing.T) {
	for _, c := range []struct {
		first, limit int64
		want         string
	}{{0, 0, "a\nb\nc"}, {2, 0, "b\nc"}, {2, 1, "b\n"}, {3, 5, "c"}, {9, 1, ""}, {1, 2, "a\nb\n"}} {
		if got := lines("a\nb\nc", c.first, c.limit); got != c.want {
			t.Errorf("%d lines from %d: %q, want %q", c.limit, c.first, got, c.want)
		}
	}
}

func TestACommandLineIsQuoted(t *testing.T) {
	got := commandLine(acp.CreateTerminalRequest{Command: "sh", Args: []string{"-c", "echo 'it is'; ls"}, Env: []acp.Variable{{Name: "A", Value: "b c"}}})
	if want := `env 'A=b c' sh -c 'echo '\''it is'\''; ls'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
