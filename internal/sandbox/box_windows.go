package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"box.local/launcher"
)

// Probe finds out what boxes this system can make.
func Probe(string) Support {
	return Support{Why: "Windows has none for programs that do not know of it; they run in a job, with fewer privileges and with limits"}
}

// box is never asked for: Boxed is false.
func (s *Sandbox) box(*Process, string, Program) error { return errors.New("there are no boxes here") }

// unboxed is a program that the launcher runs in a job: all of it ends with the launcher, and the
// limits hold for all of it.
func (s *Sandbox) unboxed(path string, args []string) (*exec.Cmd, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	limits := fmt.Sprintf("%d,%d", max(s.o.Limits.Processes, 0), max(s.o.Limits.Memory, 0))
	return exec.Command(own, append([]string{launcher.Flag, limits, path}, args...)...), nil
}
