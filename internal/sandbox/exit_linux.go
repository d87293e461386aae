package sandbox

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// waitForExit makes the pair of sockets by which the launcher hands over the box's way out, and
// serves that once it is there. The launcher's end is the file it gives.
func (p *Process) waitForExit(serve Exit) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "exit of a box"), os.NewFile(uintptr(pair[1]), "exit of a box")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	p.handed, p.served = conn, make(chan struct{})
	go func() {
		defer close(p.served)
		if l, err := receiveListener(conn); err == nil {
			serve.Serve(l, "")
		}
	}()
	return theirs, nil
}

// receiveListener waits for the launcher's message.
func receiveListener(conn net.Conn) (net.Listener, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("not a Unix socket")
	}
	room := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unixConn.ReadMsgUnix(make([]byte, 1), room)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(room[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("no socket came")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("no socket came")
	}
	f := os.NewFile(uintptr(fds[0]), "exit of a box")
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}
