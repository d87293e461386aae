package terminal

import (
	"context"
	"io"
	"os"
	"os/exec"

	"github.com/charmbracelet/x/xpty"

	"parley/protocol/viber"
)

// shell runs a command line, or the user's shell without one.
func shell(command string) (path string, args []string) {
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

// wait returns how the process ended.
func (p *process) wait() viber.TerminalExit {
	_ = xpty.WaitProcess(context.Background(), p.Cmd) // the state says it all
	if p.Cmd.ProcessState == nil {
		return viber.TerminalExit{ExitCode: -1}
	}
	return viber.TerminalExit{ExitCode: p.Cmd.ProcessState.ExitCode()}
}

// hangUp asks the process to end.
func (p *process) hangUp() { p.Stop() }

// kill ends the process and all it started.
func (p *process) kill() { p.Kill() }
