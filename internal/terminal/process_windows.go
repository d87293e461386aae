package terminal

import (
	"context"
	"io"
	"os"
	"os/exec"

	"github.com/charmbracelet/x/xpty"

	"parley/internal/brain/proc"
	"parley/protocol/viber"
)

// shell runs a command line, or the user's shell without one.
func shell(command string) *exec.Cmd {
	path := os.Getenv("COMSPEC")
	if path == "" {
		path = `C:\Windows\System32\cmd.exe`
	}
	if command == "" {
		return exec.Command(path)
	}
	return exec.Command(path, "/C", command)
}

// own has nothing to do: ConPTY holds the process and its children.
func own(*exec.Cmd) {}

// handle is our side of the terminal.
func handle(pty xpty.Pty) (io.ReadWriteCloser, error) { return pty, nil }

// wait returns how the process ended.
func (p *process) wait() viber.TerminalExit {
	_ = xpty.WaitProcess(context.Background(), p.cmd) // the state says it all
	if p.cmd.ProcessState == nil {
		return viber.TerminalExit{ExitCode: -1}
	}
	return viber.TerminalExit{ExitCode: p.cmd.ProcessState.ExitCode()}
}

// hangUp asks the process to end.
func (p *process) hangUp() { proc.Stop(p.cmd) }

// kill ends the process and all it started.
func (p *process) kill() { proc.Kill(p.cmd) }
