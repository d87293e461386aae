// Package trywrite writes to sockets without waiting: one system call that takes what
// the socket takes at once, in place of a goroutine that is made and finds a processor.
package trywrite

import (
	"net"
	"sync"
	"syscall"
)

// Socket is what can be tried; nil takes nothing.
type Socket struct{ raw syscall.RawConn }

// Of is the socket of a connection, or nil where there is none to be tried, as below
// TLS and on Windows.
func Of(conn net.Conn) *Socket {
	c, ok := conn.(syscall.Conn)
	if !ok || !possible {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return &Socket{raw}
}

// Write writes what the socket takes at once, which may be nothing. The caller is the
// only one who writes.
func (s *Socket) Write(data []byte) (n int, err error) {
	if s == nil {
		return 0, nil
	}
	a := attempts.Get().(*attempt)
	a.data = data
	err = s.raw.Write(a.run)
	if err == nil {
		err = a.err
	}
	n = a.n
	a.data, a.n, a.err = nil, 0, nil
	attempts.Put(a)
	return n, err
}

type attempt struct {
	data []byte
	n    int
	err  error
	run  func(fd uintptr) (done bool) // do, bound once
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.run = a.do
	return a
}}
