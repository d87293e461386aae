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

// stop signals the group, and those that have left it one by one. Of a program with
// processes of its own the first one tells the others, and they cannot outlive it.
func (p *Process) stop(pid int) {
	var left []int
	if !p.contained {
		for _, m := range members(pid, p.mark) {
			if m.group != pid {
				left = append(left, m.pid)
			}
		}
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	signalAll(left, syscall.SIGTERM)
}

func (p *Process) kill(pid int) {
	if p.contained {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		return
	}
	KillMembers(pid, p.mark)
}
