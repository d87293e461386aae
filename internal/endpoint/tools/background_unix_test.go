//go:build unix

package tools

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley.internal/internal/endpoint/guard"
	wire "parley.internal/protocol/kenny"
)

// A result says in words what became of what a script left running.
func TestAScriptsResultTellsOfWhatItLeftRunning(t *testing.T) {
	s := New(Deps{OS: wire.Linux, Guard: guard.New(wire.Linux, slog.New(slog.DiscardHandler))})
	tool, _ := wire.Lookup("shell_exec")
	for args, want := range map[string]string{
		`{"script":"sleep 600 >/dev/null 2>&1 & echo $!"}`:                        "left running: sleep (",
		`{"script":"sleep 600 >/dev/null 2>&1 & echo $!","kill_background":true}`: "ended with the script, as kill_background asks: sleep (",
		`{"script":"echo 1"}`: "",
	} {
		checked, err := tool.CheckArgs([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Run(t.Context(), Call{ID: "c", Tool: tool, Args: checked})
		if err != nil {
			t.Fatal(err)
		}
		out := result.(execResult)
		if !strings.Contains(out.Note, want) || (want == "") != (out.Note == "") {
			t.Errorf("%s: the result says %q, not that something is %q", args, out.Note, want)
		}
		if len(out.Left) > 0 {
			pid, _ := strconv.Atoi(strings.TrimSpace(out.Stdout))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// An original hub has no shell_exec.
func TestAnOriginalHubReachesTheShellThroughPowershellExec(t *testing.T) {
	t.Setenv("PATH", "/nowhere") // no PowerShell, whoever tests this
	s := New(Deps{OS: wire.Linux, Guard: guard.New(wire.Linux, slog.New(slog.DiscardHandler))})
	tool, _ := wire.Lookup("powershell_exec")
	run := func(args string) (any, error) {
		checked, err := tool.CheckArgs([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		return s.Run(t.Context(), Call{ID: "c", Tool: tool, Args: checked})
	}
	result, err := run(`{"script":"#!/bin/sh\necho $((40+2)); exit 3","timeout_s":20}`)
	if out, ok := result.(execResult); err != nil || !ok || out.Stdout != "42\n" || out.ExitCode != 3 {
		t.Errorf("the shell's script gives %+v, %v", result, err)
	}
	_, err = run(`{"script":"$d = '/tmp/x'; rm -r $d/*","timeout_s":20}`)
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.CodeUnsupported || !strings.Contains(e.Message, "#!/bin/sh") {
		t.Errorf("PowerShell without PowerShell: %v; wanted unsupported, with the way to the shell", err)
	}
}
