package redo

import (
	"errors"
	"os"
	"syscall"
)

// flush makes what was written durable, by the cheapest call the system has.
func flush(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
