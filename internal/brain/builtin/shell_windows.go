package builtin

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

const shellName = "PowerShell"

// openNonblock has no meaning here.
const openNonblock = 0

func shellCommand(command string) *exec.Cmd {
	return exec.Command("powershell.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command)
}

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func stopGroup(cmd *exec.Cmd) { taskkill(cmd) }

func killGroup(cmd *exec.Cmd) { taskkill(cmd, "/F") }

// taskkill ends a process and all it started. It fails when there is nothing
// left to end.
func taskkill(cmd *exec.Cmd, more ...string) {
	args := append([]string{"/T", "/PID", strconv.Itoa(cmd.Process.Pid)}, more...)
	_ = exec.Command("taskkill.exe", args...).Run()
}

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
