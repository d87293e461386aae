package talk

import (
	"net"
	"syscall"
)

// socketFile is a connection's file, to be written to without waiting.
type socketFile struct {
	raw  syscall.RawConn
	data []byte
	n    int
	err  error
	// run is write, bound once.
	run func(fd uintptr) (done bool)
}

// socketOf is nil where a connection is no file that can be asked not to wait.
func socketOf(nc net.Conn) writer {
	c, ok := nc.(syscall.Conn)
	if !ok || !canTry {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socketFile{raw: raw}
	s.run = s.write
	return s
}

// try writes what the socket takes at once; one at a time.
func (s *socketFile) try(b []byte) (n int, err error) {
	s.data, s.n, s.err = b, 0, nil
	if err := s.raw.Write(s.run); err != nil {
		return 0, err
	}
	s.data = nil
	return s.n, s.err
}
