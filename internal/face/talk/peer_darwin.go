package talk

import (
	"net"
	"syscall"
	"unsafe"
)

// xucred is what the kernel fills in; see unix(4).
type xucred struct {
	Version uint32
	UID     uint32
	Ngroups int16
	Groups  [16]uint32
}

const (
	solLocal      = 0
	localPeerCred = 1
)

// peerUID is the user at the other end of a socket.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred xucred
	size := uint32(unsafe.Sizeof(cred))
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, solLocal, localPeerCred,
			uintptr(unsafe.Pointer(&cred)), uintptr(unsafe.Pointer(&size)), 0)
	})
	if err != nil {
		return 0, err
	}
	if failed != 0 {
		return 0, failed
	}
	return int(cred.UID), nil
}
