package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley.internal/internal/brain/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a set of tools with a workspace of its own.
type bench struct {
	t     *testing.T
	tools map[string]*tool.Tool
	call  tool.Call
}

func newBench(t *testing.T, c Config) *bench {
	t.Helper()
	b := &bench{t: t, tools: map[string]*tool.Tool{}, call: tool.Call{Workspace: filepath.Join(t.TempDir(), "ws")}}
	if err := os.Mkdir(b.call.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(nil, Tools(c)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range set.Names() {
		b.tools[name], _ = set.Get(name)
	}
	return b
}

func (b *bench) run(ctx context.Context, name string, args any) (map[string]any, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	call := b.call
	call.Name, call.Arguments = name, raw
	res, err := b.tools[name].Run(ctx, call)
	if err != nil {
		return nil, err
	}
	var doc struct {
		OK     bool           `json:"ok"`
		Output map[string]any `json:"output"`
	}
	if err := json.Unmarshal([]byte(res.Text), &doc); err != nil || !doc.OK {
		b.t.Fatalf("%s: result %.200s: %v", name, res.Text, err)
	}
	if len(res.Text) > tool.MaxOutput {
		b.t.Fatalf("%s: result of %d bytes", name, len(res.Text))
	}
	return doc.Output, nil
}

func (b *bench) ok(name string, args any) map[string]any {
	b.t.Helper()
	out, err := b.run(context.Background(), name, args)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	return out
}

func (b *bench) fails(want tool.ErrorType, name string, args any) string {
	b.t.Helper()
	out, err := b.run(context.Background(), name, args)
	if err == nil {
		b.t.Fatalf("%s %v succeeded: %v", name, args, out)
	}
	if got := tool.TypeOf(err); got != want {
		b.t.Fatalf("%s %v: type %q, want %q: %v", name, args, got, want, err)
	}
	if strings.Contains(err.Error(), filepath.Dir(b.call.Workspace)) {
		b.t.Errorf("%s: the message tells a path outside: %v", name, err)
	}
	return err.Error()
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	p := filepath.Join(b.call.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) content(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.call.Workspace, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(raw)
}

type obj = map[string]any

func TestToolsAreWhatTheAgentFileNames(t *testing.T) {
	want := map[string]tool.Class{
		"shell": tool.Sensitive, "file_read": tool.ReadOnly, "file_list": tool.ReadOnly, "file_search": tool.ReadOnly,
		"file_write": tool.Mutating, "file_edit": tool.Mutating, "web_fetch": tool.ReadOnly,
	}
	b := newBench(t, Config{})
	if len(b.tools) != len(want) {
		t.Errorf("%d tools", len(b.tools))
	}
	for name, class := range want {
		if b.tools[name] == nil || b.tools[name].Class != class {
			t.Errorf("%s is not %v", name, class)
		}
	}
}

func TestFailureIsJSON(t *testing.T) {
	got := Failure(tool.Errorf(tool.NotFound, `no "x"`))
	if got != `{"ok":false,"error":{"type":"not_found","message":"no \"x\""}}` {
		t.Errorf("got is %v; want \"{\"ok\":false,\"error\":{\"type\":\"not_found\",\"message\":\"no \\\"x\\\"\"}}\"", got)
	}
}

func FuzzEndsFit(f *testing.F) {
	f.Add(strings.Repeat("\x00\"", 2000), 1000)
	f.Add(strings.Repeat("ä\u2028\xff", 500), 777)
	f.Fuzz(func(t *testing.T, s string, budget int) {
		if budget < 400 || budget > 1<<16 {
			return
		}
		kept, _ := ends(s, budget)
		raw, err := json.Marshal(strings.NewReplacer("<", "_", ">", "_", "&", "_").Replace(kept))
		if err != nil || len(raw) > budget+2 {
			t.Fatalf("%d bytes of JSON for a budget of %d", len(raw), budget)
		}
		valid := strings.ToValidUTF8(s, "?")
		if h := head(valid, budget); !strings.HasPrefix(valid, h) || size(h) > budget {
			t.Fatalf("head of %d", size(h))
		}
	})
}

func TestCuttingTextThatJustDoesNotFitIsQuick(t *testing.T) {
	// Escaped, this is one byte too long; cutting it once took thousands of steps.
	s := strings.Repeat("\"", room/2+1)
	kept, cut := ends(s, room)
	if !cut || size(kept) > room || len(kept) < room/2-200 {
		t.Errorf("kept %d of %d, cut %v", len(kept), len(s), cut)
	}
	if n := testing.AllocsPerRun(1, func() { ends(s, room) }); n > 60 {
		t.Errorf("%v allocations", n)
	}
}
