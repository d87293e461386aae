package pty

import (
	"context"
	"io"
	"os"
	"os/exec"

	"github.com/charmbracelet/x/xpty"

	"parley.internal/protocol/viber"
)

// Shell runs a command line, or the user's shell without one.
func Shell(command string) (path string, args []string) {
	path = os.Getenv("COMSPEC")
	if path == "" {
		path = `C:\Windows\System32\cmd.exe`
	}
	if command == "" {
		return path, nil
	}
	return path, []string{"/C", command}
}

// own has nothing to do: ConPTY holds the process and its children.
func own(*exec.Cmd) {}

// handle is our side of the terminal.
func handle(pty xpty.Pty) (io.ReadWriteCloser, error) { return pty, nil }

// Wait returns how the process ended.
func (p *Process) Wait() viber.TerminalExit {
	_ = xpty.WaitProcess(context.Background(), p.run.Cmd) // the state says it all
	if p.run.Cmd.ProcessState == nil {
		return viber.TerminalExit{ExitCode: -1}
	}
	return viber.TerminalExit{ExitCode: p.run.Cmd.ProcessState.ExitCode()}
}

// HangUp asks the process to end.
func (p *Process) HangUp() { p.run.Stop() }
