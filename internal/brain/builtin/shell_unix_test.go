//go:build unix

package builtin

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/brain/tool"
)

func TestShell(t *testing.T) {
	b := newBench(t, Config{})
	b.write("sub/x", "")
	tests := []struct {
		args           obj
		code           float64
		stdout, stderr string
	}{
		{obj{"command": "echo out; echo err >&2; exit 3"}, 3, "out\n", "err\n"},
		{obj{"command": "ls", "cwd": "sub"}, 0, "x\n", ""},
		{obj{"command": "cat"}, 0, "", ""}, // stdin is empty
		{obj{"command": "kill -9 $$"}, 137, "", ""},
		{obj{"command": "printf 'a\\377b'"}, 0, "a\uFFFDb", ""},
	}
	for _, tt := range tests {
		got := b.ok("shell", tt.args)
		delete(got, "duration_ms")
		want := obj{"exit_code": tt.code, "stdout": tt.stdout, "stderr": tt.stderr, "truncated": false}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, d)
		}
	}
	b.fails(tool.NotFound, "shell", obj{"command": "ls", "cwd": "nowhere"})
	b.fails(tool.Validation, "shell", obj{"command": "ls", "cwd": "sub/x"})
	b.fails(tool.Denied, "shell", obj{"command": "echo " + SelfTest})
}

func TestShellSeesNoSecrets(t *testing.T) {
	for _, name := range []string{"PARLEY_HUB", "X_API_KEY", "x_token", "A_SECRET", "B_PASSWORD", "C_CREDENTIALS"} {
		t.Setenv(name, "leak-me")
	}
	t.Setenv("UNHEARD_OF", "leak-me")
	t.Setenv("LC_TIME", "harmless")
	b := newBench(t, Config{})
	out := b.ok("shell", obj{"command": "env"})["stdout"].(string)
	if strings.Contains(out, "leak-me") || !strings.Contains(out, "LC_TIME=harmless") {
		t.Errorf("out is %v; want not \"leak-me\" in it, \"LC_TIME=harmless\" in it", out)
	}
}

func TestShellOutputIsBounded(t *testing.T) {
	b := newBench(t, Config{})
	out := b.ok("shell", obj{"command": "echo first; head -c 12000000 /dev/zero | tr '\\0' '\\t'; echo last; head -c 300000 /dev/zero | tr '\\0' '\"' >&2"})
	stdout := out["stdout"].(string)
	if out["truncated"] != true || !strings.HasPrefix(stdout, "first\n") || !strings.HasSuffix(stdout, "last\n") {
		t.Errorf("%d bytes, %q … %q", len(stdout), stdout[:10], stdout[len(stdout)-10:])
	}
}

// A named pipe tells which processes are alive: what reads from it ends when
// nobody holds its other end any more.
func fifo(t *testing.T, b *bench) string {
	t.Helper()
	name := filepath.Join(b.call.Workspace, "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// open opens it for reading; without O_NONBLOCK in flags, once a writer is there.
func open(t *testing.T, name string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDONLY|flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// stubborn is a command whose child and grandchild ignore the polite signal and
// keep the pipe open; it says up when they do.
const stubborn = `trap "" TERM; exec 3>fifo; (while :; do sleep 100; done) & sh -c 'sleep 1000' & echo up >&3; wait; while :; do sleep 100; done`

func TestCancelKillsEverythingTheCommandStarted(t *testing.T) {
	b := newBench(t, Config{grace: 50 * time.Millisecond})
	pipe := fifo(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.run(ctx, "shell", obj{"command": stubborn})
		done <- err
	}()
	f := open(t, pipe, 0)
	if _, err := f.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; tool.TypeOf(err) != tool.Cancelled {
		t.Errorf("got %v", err)
	}
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
}

func TestTimeoutKillsEverythingTheCommandStarted(t *testing.T) {
	b := newBench(t, Config{grace: 50 * time.Millisecond})
	f := open(t, fifo(t, b), syscall.O_NONBLOCK)
	if msg := b.fails(tool.TimedOut, "shell", obj{"command": stubborn, "timeout_ms": 300}); !strings.Contains(msg, "300ms") {
		t.Errorf("msg is %v; want \"300ms\" in it", msg)
	}
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
}

// daemon leaves the command's session and parents behind, as daemons do, ignores polite
// signals and keeps the pipe open.
const daemon = `exec 3>fifo; (setsid sh -c 'trap "" TERM HUP; echo >up; while :; do sleep 100; done' </dev/null >/dev/null 2>&1 &); while [ ! -e up ]; do sleep 0.01; done; `

// Without a box a daemon outlived the command that had started it, and so the task that
// was stopped.
func TestADaemonEndsWithItsCommandAlsoWithoutABox(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed: daemons cannot be made")
	}
	for _, end := range []string{"sleep 1000", "echo done"} {
		t.Run(end, func(t *testing.T) {
			b := newBench(t, Config{grace: 50 * time.Millisecond})
			f, err := syscall.Open(fifo(t, b), syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Close(f) }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = b.run(ctx, "shell", obj{"command": daemon + end})
			}()
			for up := filepath.Join(b.call.Workspace, "up"); end != "echo done"; <-time.After(time.Millisecond) {
				if _, err := os.Stat(up); err == nil {
					cancel()
					break
				}
			}
			<-done
			if n, err := syscall.Read(f, make([]byte, 1)); n != 0 || err != nil {
				t.Errorf("the command is over, and a daemon of its still holds the pipe: %d, %v", n, err)
			}
		})
	}
}

func TestTheMessageOfATimeoutShowsTheLastOutput(t *testing.T) {
	o := shellOutput{Stdout: strings.Repeat("x", 5000) + "last words"}
	if got := o.last(); !strings.HasSuffix(got, "last words") || len(got) > 2100 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestNothingStaysInTheBackground(t *testing.T) {
	b := newBench(t, Config{grace: 50 * time.Millisecond})
	f := open(t, fifo(t, b), syscall.O_NONBLOCK)
	out := b.ok("shell", obj{"command": "exec 3>fifo; sleep 1000 & echo started"})
	if out["stdout"] != "started\n" || out["exit_code"] != 0.0 {
		t.Errorf("out is %v; want out[\"stdout\"] to be \"started\\n\", out[\"exit_code\"] to be 0.0", out)
	}
	if _, err := io.ReadAll(f); err != nil {
		t.Error(err)
	}
}

func TestAPoliteCommandEndsByItself(t *testing.T) {
	b := newBench(t, Config{grace: time.Hour})
	pipe := fifo(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.run(ctx, "shell", obj{"command": `trap 'echo bye > bye; exit 0' TERM; echo up > fifo; while :; do sleep 0.01; done`})
		done <- err
	}()
	if _, err := open(t, pipe, 0).Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	if b.content("bye") != "bye\n" {
		t.Error("no time to clean up")
	}
}

func TestANamedPipeHoldsNobodyUp(t *testing.T) {
	b := newBench(t, Config{})
	fifo(t, b)
	b.fails(tool.Validation, "file_read", obj{"path": "fifo"})
	b.fails(tool.Validation, "file_write", obj{"path": "fifo", "content": "x"})
	b.fails(tool.Unknown, "file_write", obj{"path": "fifo", "content": "x", "append": true}) // nobody reads it
	b.ok("file_search", obj{"query": "x"})
}
