//go:build unix

package builtin

import (
	"os"
	"syscall"

	"parley.internal/internal/sandbox"
)

const shellName = "sh -c"

// openNonblock keeps a named pipe from holding a file tool up.
const openNonblock = syscall.O_NONBLOCK

func shellCommand(command string) sandbox.Program {
	return sandbox.Program{Path: "/bin/sh", Args: []string{"-c", command}}
}

// exitCode is what a shell would report: 128 and the signal for one that died.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
