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

func stop(cmd *exec.Cmd) { taskkill(cmd) }

func kill(cmd *exec.Cmd) { taskkill(cmd, "/F") }

func taskkill(cmd *exec.Cmd, more ...string) {
	if cmd.Process == nil {
		return
	}
	args := append([]string{"/T", "/PID", strconv.Itoa(cmd.Process.Pid)}, more...)
	_ = exec.Command("taskkill.exe", args...).Run()
}
