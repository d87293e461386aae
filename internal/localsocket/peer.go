package localsocket

import (
	"errors"
	"net"
)

// ErrUnknown says that the system does not tell who is at the other end.
var ErrUnknown = errors.New("this system does not tell who is at the other end of a socket")

// Peer is the user and the process at the other end of a socket.
func Peer(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { uid, pid, failed = peer(int(fd)) })
	return uid, pid, errors.Join(err, failed)
}
