package builtin

import (
	"os"

	"parley.internal/internal/sandbox"
)

const shellName = "PowerShell"

// openNonblock has no meaning here.
const openNonblock = 0

func shellCommand(command string) sandbox.Program {
	return sandbox.Program{Path: "powershell.exe", Args: []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command}}
}

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
