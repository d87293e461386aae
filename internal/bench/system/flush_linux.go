package system

import (
	"os"
	"syscall"
)

// Flush makes what was appended durable, by the cheapest call the system has.
func Flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
