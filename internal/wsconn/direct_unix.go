//go:build unix

package wsconn

import (
	"errors"
	"syscall"
)

// canTry: sockets are files here, and never wait.
const canTry = true

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
