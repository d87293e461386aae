package sandbox

import (
	"os/exec"
	"strconv"
	"syscall"
)

// own gives a command that has not been started a process group of its own.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func (p *Process) stop(pid int) { taskkill(pid) }

func (p *Process) kill(pid int) { taskkill(pid, "/F") }

func taskkill(pid int, more ...string) {
	args := append([]string{"/T", "/PID", strconv.Itoa(pid)}, more...)
	_ = exec.Command("taskkill.exe", args...).Run()
}
