package sandbox

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"parley.internal/internal/localsocket"
)

// waitForExit makes the pair of sockets by which the launcher hands over the box's way out, and
// serves that once it is there. The launcher's end is the file it gives.
func (p *Process) waitForExit(serve Exit) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "exit of a box"), os.NewFile(uintptr(pair[1]), "exit of a box")
	end, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	conn, ok := end.(*net.UnixConn)
	if !ok {
		_ = theirs.Close()
		return nil, errors.Join(errors.New("not a Unix socket"), end.Close())
	}
	p.handed, p.served = conn, make(chan struct{})
	go func() {
		defer close(p.served)
		if l, _, err := localsocket.ReceiveListener(conn); err == nil {
			serve.Serve(l, "")
		}
	}()
	return theirs, nil
}
