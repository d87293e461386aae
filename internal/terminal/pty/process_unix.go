//go:build unix

package pty

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/charmbracelet/x/xpty"
	"golang.org/x/sys/unix"

	"parley.internal/protocol/viber"
)

// Shell runs a command line, or the user's shell without one.
func Shell(command string) (path string, args []string) {
	if command != "" {
		return "/bin/sh", []string{"-c", command}
	}
	path = os.Getenv("SHELL")
	if info, err := os.Stat(path); err != nil || info.IsDir() || !filepath.IsAbs(path) {
		path = "/bin/sh"
	}
	return path, nil
}

// own makes the command the leader of a session whose terminal is the PTY, so
// that job control works and a hang-up reaches what it started.
func own(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, true, 0
}

// handle is our side of the terminal. It does not block, unlike the library's,
// so that closing it ends whoever reads or writes. Our own handle of the process's
// side goes: reading ends when the process and its children have closed theirs.
func handle(pty xpty.Pty) (io.ReadWriteCloser, error) {
	u, ok := pty.(*xpty.UnixPty)
	if !ok {
		return pty, nil
	}
	_ = u.Slave().Close()
	var fd int
	var failed error
	err := u.Control(func(master uintptr) {
		if fd, failed = unix.FcntlInt(master, unix.F_DUPFD_CLOEXEC, 0); failed == nil {
			failed = unix.SetNonblock(fd, true)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), u.Name()), nil
}

// Wait returns how the process ended.
func (p *Process) Wait() viber.TerminalExit {
	_ = p.run.Cmd.Wait() // the state says it all
	status, ok := p.run.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return viber.TerminalExit{ExitCode: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return viber.TerminalExit{ExitCode: p.run.Cmd.ProcessState.ExitCode()}
}

// HangUp asks the whole group to end, as closing a window does.
func (p *Process) HangUp() { _ = syscall.Kill(-p.run.Cmd.Process.Pid, syscall.SIGHUP) }
