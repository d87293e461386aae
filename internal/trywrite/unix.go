//go:build unix

package trywrite

import (
	"errors"
	"syscall"
)

// possible: sockets are files here, and never wait.
const possible = true

func (a *attempt) do(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), a.data)
		switch {
		case err == nil:
			a.n = n
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
		default:
			a.err = err
		}
		return true
	}
}
