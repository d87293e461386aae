//go:build unix

package system

import (
	"syscall"
	"time"
)

// CPUTime is what this process has used, user and system.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// OpenFiles raises the limit of open files as far as the system lets it and
// returns it.
func OpenFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 256
	}
	if raised := (syscall.Rlimit{Cur: l.Max, Max: l.Max}); l.Cur < l.Max && syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
		l = raised
	}
	return int(min(uint64(l.Cur), 1<<30)) //nolint:unconvert // the field's type differs between systems
}
