//go:build unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// own gives a command that has not been started a session of its own, and so a process group.
// In the hub's session it would have the terminal that a person started the hub at: what
// they type could be read there, and typed for them.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func stop(cmd *exec.Cmd) { signal(cmd, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s)
	}
}
