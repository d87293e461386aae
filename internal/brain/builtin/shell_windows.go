package builtin

import (
	"os"
	"os/exec"
)

const shellName = "PowerShell"

// openNonblock has no meaning here.
const openNonblock = 0

func shellCommand(command string) *exec.Cmd {
	return exec.Command("powershell.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command)
}

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
