package proc

import (
	"os/exec"
	"strconv"
	"syscall"
)

// Own gives a command that has not been started a process group of its own.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// Stop asks a command and all it started to end. Nothing happens if it has ended.
func Stop(cmd *exec.Cmd) { taskkill(cmd) }

// Kill ends a command and all it started.
func Kill(cmd *exec.Cmd) { taskkill(cmd, "/F") }

func taskkill(cmd *exec.Cmd, more ...string) {
	if cmd.Process == nil {
		return
	}
	args := append([]string{"/T", "/PID", strconv.Itoa(cmd.Process.Pid)}, more...)
	_ = exec.Command("taskkill.exe", args...).Run()
}
