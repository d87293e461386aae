//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// Own gives a command that has not been started a process group of its own.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Stop asks everything in the group to end. Nothing happens if it has ended.
func Stop(cmd *exec.Cmd) { signal(cmd, syscall.SIGTERM) }

// Kill ends everything in the group.
func Kill(cmd *exec.Cmd) { signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s)
	}
}
