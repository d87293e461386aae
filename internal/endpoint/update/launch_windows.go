package update

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// launch starts the program outside the service's job.
func launch(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB | windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// Forget is for systems that remember what was launched; this one does not.
func Forget() {}
