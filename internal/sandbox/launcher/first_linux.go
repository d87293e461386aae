package launcher

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// stayFirst runs the program as a child of this process, which is the first one of the
// box, and ends as it ends. Everything that is left in the box ends then: the kernel sees to
// it. A program that is the first process itself could not be asked to end, and would
// have to look after the orphans of others.
func stayFirst(path string, args []string) (code int, why string) {
	terminal := hasTerminal()
	asked := make(chan os.Signal, 16)
	signal.Notify(asked, syscall.SIGTERM) // each signal costs two changes of threads
	if terminal {
		signal.Notify(asked, syscall.SIGHUP)
	}
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: syscall.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: terminal},
	})
	if err != nil {
		return failed(args[0], errno(err))
	}
	go func() {
		for s := range asked {
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(-pid, s)
			}
		}
	}()
	// Input and output are the program's alone: whoever reads them waits for its end, not for ours.
	for fd := range 3 {
		_ = syscall.Close(fd)
	}
	return wait(pid), ""
}

// wait looks after all that end in the box, until the program does.
func wait(pid int) (code int) {
	for {
		var status syscall.WaitStatus
		who, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR, err == nil && who != pid:
		case err != nil:
			return cannotRun
		case status.Signaled():
			return 128 + int(status.Signal()) // as shells say it
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// hasTerminal tells that input is the terminal of this session, whose foreground the program has to be.
func hasTerminal() bool {
	var group int32
	_, _, err := syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return err == 0
}
