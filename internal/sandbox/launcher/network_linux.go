package launcher

import (
	"syscall"
	"unsafe"
)

// ifRequest is the kernel's struct ifreq, as far as it is about flags.
type ifRequest struct {
	name  [16]byte
	flags uint16
	_     [22]byte
}

// loopback starts the one interface of the box's own network.
func loopback() syscall.Errno {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return errno(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	req := ifRequest{flags: syscall.IFF_UP}
	copy(req.name[:], "lo")
	_, _, failed := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req)))
	return failed
}

// backlog is how many connections may wait for the hub to look.
const backlog = 128

// listen makes the box's way out, a socket inside its network, and hands it to the hub: a
// socket belongs to the network it was made in, wherever it is used. Nobody but this
// box can reach it.
func listen() syscall.Errno {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return errno(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: ExitPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return errno(err)
	}
	if err := syscall.Listen(fd, backlog); err != nil {
		return errno(err)
	}
	if err := syscall.Sendmsg(Socket, []byte{0}, syscall.UnixRights(fd), nil, 0); err != nil {
		return errno(err)
	}
	return errno(syscall.Close(Socket))
}
