//go:build !linux

package sandbox

import (
	"os/exec"
	"runtime"
)

// Probe finds out what boxes this system can make.
func Probe() Support {
	return Support{Why: "boxes are made on Linux only, and this is " + runtime.GOOS}
}

// Launch has nothing to do where there are no boxes.
func Launch() {}

// launcher is never asked for: Boxed is false. What it gives could not run.
func launcher([]string) *exec.Cmd { return &exec.Cmd{} }
