package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/tool"
)

func TestFileRoundTrip(t *testing.T) {
	b := newBench(t, Config{})
	got := b.ok("file_write", obj{"path": "a/b.txt", "content": "one\n"})
	if d := cmp.Diff(obj{"path": "a/b.txt", "bytes": 4.0}, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	b.ok("file_write", obj{"path": "a/b.txt", "content": "twö\n", "append": true})
	got = b.ok("file_read", obj{"path": "a/b.txt"})
	if d := cmp.Diff(obj{"content": "one\ntwö\n", "size": 9.0, "truncated": false}, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	got = b.ok("file_edit", obj{"path": "a/b.txt", "old": "one", "new": "1"})
	if d := cmp.Diff(obj{"path": "a/b.txt", "replacements": 1.0, "bytes": 7.0}, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if c := b.content("a/b.txt"); c != "1\ntwö\n" {
		t.Errorf("%q; want c to be \"1\\ntwö\\n\"", c)
	}
}

func TestPathsAreRelativeToTheWorkingDirectory(t *testing.T) {
	b := newBench(t, Config{})
	b.write("sub/x.txt", "here")
	b.call.Dir = filepath.Join(b.call.Workspace, "sub")
	if got := b.ok("file_read", obj{"path": "x.txt"}); got["content"] != "here" {
		t.Errorf("got is %v; want got[\"content\"] to be \"here\"", got)
	}
	b.call.Dir = "sub"
	b.ok("file_read", obj{"path": "x.txt"})
	b.ok("file_read", obj{"path": "../sub/x.txt"})
	b.ok("file_read", obj{"path": filepath.Join(b.call.Workspace, "sub", "x.txt")})
}

func TestWorkspaceEscapesFail(t *testing.T) {
	b := newBench(t, Config{})
	outer := filepath.Dir(b.call.Workspace)
	if err := os.WriteFile(filepath.Join(outer, "secret"), []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"abs": filepath.Join(outer, "secret"), "rel": "../secret", "dir": "..", "root": "/", "new": "../planted", "chain": "dir/secret",
	} {
		if err := os.Symlink(to, filepath.Join(b.call.Workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(b.call.Workspace+"-twin", 0o700); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"../secret", "a/../../secret", "/etc/passwd", filepath.Join(outer, "secret"), b.call.Workspace + "/../secret",
		b.call.Workspace + "-twin/x", "abs", "rel", "dir/secret", "dir/ws/../secret", "root/etc/passwd", "new", "chain", "..",
	}
	for _, p := range paths {
		t.Run(p, func(t *testing.T) {
			b := &bench{t: t, tools: b.tools, call: b.call}
			b.fails(tool.Permission, "file_read", obj{"path": p})
			b.fails(tool.Permission, "file_write", obj{"path": p, "content": "x"})
			b.fails(tool.Permission, "file_write", obj{"path": p, "content": "x", "append": true})
			b.fails(tool.Permission, "file_edit", obj{"path": p, "old": "s", "new": "x"})
			b.fails(tool.Permission, "file_list", obj{"path": p})
			b.fails(tool.Permission, "file_search", obj{"path": p, "query": "s"})
			b.fails(tool.Permission, "shell", obj{"command": "pwd", "cwd": p})
		})
	}
	if raw, err := os.ReadFile(filepath.Join(outer, "secret")); err != nil || string(raw) != "s3cret" {
		t.Errorf("the secret is %q now (%v)", raw, err)
	}
	if _, err := os.Stat(filepath.Join(outer, "planted")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was planted outside")
	}
	for _, m := range b.ok("file_search", obj{"query": "s3cret"})["matches"].([]any) {
		t.Errorf("found through a link: %v", m)
	}
	for _, e := range b.ok("file_list", obj{"recursive": true})["entries"].([]any) {
		if e := e.(obj); e["type"] != "symlink" {
			t.Errorf("a link was followed: %v", e)
		}
	}
}

func TestLinksInsideTheWorkspaceWork(t *testing.T) {
	b := newBench(t, Config{})
	b.write("real.txt", "x")
	if err := os.Symlink("real.txt", filepath.Join(b.call.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	b.ok("file_write", obj{"path": "link", "content": "y"})
	if b.content("real.txt") != "y" {
		t.Error("the link was replaced instead of followed")
	}
}

func TestAWorkspaceReachedThroughALink(t *testing.T) {
	b := newBench(t, Config{})
	b.write("x", "x")
	link := b.call.Workspace + "-link"
	if err := os.Symlink(b.call.Workspace, link); err != nil {
		t.Fatal(err)
	}
	real := b.call.Workspace
	b.call.Workspace = link
	b.ok("file_read", obj{"path": filepath.Join(link, "x")})
	b.ok("file_read", obj{"path": filepath.Join(real, "x")})
	b.ok("shell", obj{"command": "cat x"})
}

func TestConfiguredRootsMayBeUsed(t *testing.T) {
	root := t.TempDir()
	b := newBench(t, Config{Roots: []string{root}})
	b.ok("file_write", obj{"path": filepath.Join(root, "x"), "content": "y"})
	b.call.Dir = root
	if got := b.ok("shell", obj{"command": "cat x"}); got["stdout"] != "y" {
		t.Errorf("got is %v; want got[\"stdout\"] to be \"y\"", got)
	}
	b.fails(tool.Permission, "file_read", obj{"path": "../x"})
}

func TestReadingInPieces(t *testing.T) {
	b := newBench(t, Config{})
	want := strings.Repeat("zwölf Boxkämpfer\t\"jagen\"\n", 40_000)
	b.write("long.txt", want)
	var got strings.Builder
	for offset, pieces := 0.0, 0; ; pieces++ {
		out := b.ok("file_read", obj{"path": "long.txt", "offset": offset})
		got.WriteString(out["content"].(string))
		if out["truncated"] == false {
			if pieces < 3 {
				t.Errorf("only %d pieces", pieces)
			}
			break
		}
		offset = out["next_offset"].(float64)
	}
	if got.String() != want {
		t.Error("the pieces are not the file")
	}
	out := b.ok("file_read", obj{"path": "long.txt", "offset": 3, "limit": 4})
	if out["content"] != "\uFFFDlf " { // the offset fell into the ö
		t.Errorf("piece %q", out["content"])
	}
	if out := b.ok("file_read", obj{"path": "long.txt", "offset": 1 << 40}); out["content"] != "" || out["truncated"] != false {
		t.Errorf("out is %v; want out[\"content\"] to be \"\", out[\"truncated\"] to be false", out)
	}
}

func TestInvalidUTF8IsReplacedAndStillPaged(t *testing.T) {
	b := newBench(t, Config{})
	b.write("latin1", strings.Repeat("caf\xe9 ", 100_000))
	pieces, offset := 0, 0.0
	for {
		out := b.ok("file_read", obj{"path": "latin1", "offset": offset})
		pieces++
		if out["truncated"] == false {
			break
		}
		if out["next_offset"].(float64) <= offset {
			t.Fatal("no progress")
		}
		offset = out["next_offset"].(float64)
	}
	if pieces < 2 {
		t.Errorf("%d pieces", pieces)
	}
}

func TestWhatIsNoTextFile(t *testing.T) {
	b := newBench(t, Config{})
	b.write("bin", "a\x00b")
	b.write("dir/x", "")
	b.fails(tool.Validation, "file_read", obj{"path": "bin"})
	b.fails(tool.Validation, "file_read", obj{"path": "dir"})
	b.fails(tool.Validation, "file_write", obj{"path": "dir", "content": ""})
	b.fails(tool.NotFound, "file_read", obj{"path": "nothing"})
	b.fails(tool.Validation, "file_read", obj{"path": "a\x00b"})
	b.fails(tool.Validation, "file_list", obj{"path": "bin"})
	b.fails(tool.NotFound, "file_list", obj{"path": "nothing"})
	b.call.Workspace = ""
	b.fails(tool.Permission, "file_read", obj{"path": "bin"})
}

func TestList(t *testing.T) {
	b := newBench(t, Config{})
	b.write("b.txt", "12345")
	b.write("a/c.txt", "")
	names := func(out obj) (s []string) {
		for _, e := range out["entries"].([]any) {
			e := e.(obj)
			s = append(s, fmt.Sprintf("%v:%v:%v", e["name"], e["type"], e["type"] == "dir" || e["size"] == 5.0 || e["size"] == 0.0))
		}
		return s
	}
	if d := cmp.Diff([]string{"a:dir:true", "b.txt:file:true"}, names(b.ok("file_list", obj{}))); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if d := cmp.Diff([]string{"a:dir:true", "a/c.txt:file:true", "b.txt:file:true"}, names(b.ok("file_list", obj{"recursive": true}))); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if d := cmp.Diff([]string{"c.txt:file:true"}, names(b.ok("file_list", obj{"path": "a"}))); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestSearch(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a.go", "package a\n\nfunc Hello() {} // x.y")
	b.write("sub/b.go", "func hello() {}\r\nfunc Hello2() {}\n")
	b.write("c.txt", "Hello xzy")
	b.write(".git/config", "Hello")
	b.write("bin", "Hello\x00")
	tests := []struct {
		args obj
		want []string
	}{
		{obj{"query": "Hello"}, []string{"a.go:3:func Hello() {} // x.y", "c.txt:1:Hello xzy", "sub/b.go:2:func Hello2() {}"}},
		{obj{"query": "Hello", "glob": "*.go"}, []string{"a.go:3:func Hello() {} // x.y", "sub/b.go:2:func Hello2() {}"}},
		{obj{"query": "x.y"}, []string{"a.go:3:func Hello() {} // x.y"}},
		{obj{"query": "x.y", "regex": true}, []string{"a.go:3:func Hello() {} // x.y", "c.txt:1:Hello xzy"}},
		{obj{"query": "(?i)^func hello\\b", "regex": true, "path": "sub"}, []string{"b.go:1:func hello() {}"}},
		{obj{"query": "absent"}, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, m := range b.ok("file_search", tt.args)["matches"].([]any) {
			m := m.(obj)
			got = append(got, fmt.Sprintf("%v:%v:%v", m["path"], m["line"], m["text"]))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, d)
		}
	}
	if out := b.ok("file_search", obj{"query": "Hello", "limit": 1}); len(out["matches"].([]any)) != 1 || out["truncated"] != true {
		t.Errorf("out is %v; want len(out[\"matches\"].([]any)) to be 1, out[\"truncated\"] to be true", out)
	}
	b.fails(tool.Validation, "file_search", obj{"query": "(", "regex": true})
	b.fails(tool.Validation, "file_search", obj{"query": "x", "glob": "["})
}

func TestHugeResultsStayWithinTheirLimit(t *testing.T) {
	b := newBench(t, Config{})
	b.write("lines", strings.Repeat("\"\t\" needle\n", 20_000))
	if out := b.ok("file_search", obj{"query": "needle", "limit": 1000}); out["truncated"] != true {
		t.Error("not truncated")
	}
	b.write("one", strings.Repeat("needle", 100_000))
	b.ok("file_search", obj{"query": "needle", "limit": 1000, "glob": "one"})
	long := strings.Repeat("n", 200)
	for i := range 1500 {
		b.write(fmt.Sprintf("d/%s%d", long, i), "")
	}
	if out := b.ok("file_list", obj{"path": "d"}); out["truncated"] != true {
		t.Error("not truncated")
	}
}

func TestEditNeedsOneMatch(t *testing.T) {
	b := newBench(t, Config{})
	b.write("f", "aa bb aa")
	b.fails(tool.NotFound, "file_edit", obj{"path": "f", "old": "zz", "new": ""})
	if msg := b.fails(tool.Validation, "file_edit", obj{"path": "f", "old": "aa", "new": ""}); !strings.Contains(msg, "2 times") {
		t.Errorf("msg is %v; want \"2 times\" in it", msg)
	}
	b.ok("file_edit", obj{"path": "f", "old": "aa", "new": "c", "all": true})
	if b.content("f") != "c bb c" {
		t.Error(b.content("f"))
	}
	b.fails(tool.NotFound, "file_edit", obj{"path": "g", "old": "a", "new": "b"})
}

func TestWritingKeepsTheModeAndLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes mean little here")
	}
	b := newBench(t, Config{})
	b.write("run.sh", "#!/bin/sh")
	if err := os.Chmod(filepath.Join(b.call.Workspace, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.ok("file_write", obj{"path": "run.sh", "content": "#!/bin/sh\necho"})
	entries, err := os.ReadDir(b.call.Workspace)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v; want no error, len(entries) to be 1", entries, err)
	}
	if info, _ := entries[0].Info(); info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestReadersSeeFilesAsStrangersWords(t *testing.T) {
	b := newBench(t, Config{})
	b.write("x", "x")
	for name, args := range map[string]string{
		"file_read": `{"path":"x"}`, "file_list": `{}`, "file_search": `{"query":"x"}`, "shell": `{"command":"cat x"}`,
	} {
		call := b.call
		call.Arguments = json.RawMessage(args)
		if res, err := b.tools[name].Run(context.Background(), call); err != nil || !res.Untrusted || res.Source == "" {
			t.Errorf("%s: %+v %v; want no error, res.Untrusted, res.Source not to be \"\"", name, res, err)
		}
	}
}

func TestSearchStopsWithTheRun(t *testing.T) {
	b := newBench(t, Config{})
	b.write("x", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.run(ctx, "file_search", obj{"query": "x"}); err == nil {
		t.Error("went on")
	}
}
