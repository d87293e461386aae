//go:build unix

package talk

import (
	"errors"
	"syscall"
)

// canTry: sockets are files here, and never wait.
const canTry = true

func (s *socketFile) write(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), s.data)
		switch {
		case err == nil:
			s.n = n
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
		default:
			s.err = err
		}
		return true
	}
}
