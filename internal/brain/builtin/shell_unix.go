//go:build unix

package builtin

import (
	"os"
	"os/exec"
	"syscall"
)

const shellName = "sh -c"

// openNonblock keeps a named pipe from holding a file tool up.
const openNonblock = syscall.O_NONBLOCK

func shellCommand(command string) *exec.Cmd { return exec.Command("/bin/sh", "-c", command) }

// exitCode is what a shell would report: 128 and the signal for one that died.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
