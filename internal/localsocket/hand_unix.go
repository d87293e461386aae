//go:build unix

package localsocket

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxWords is how much may be said with a listener.
const maxWords = 256

// HandListener gives a listener to the process at the other end, with some words (not
// none). It stays the giver's as well.
func HandListener(to *net.UnixConn, l net.Listener, words string) error {
	source, ok := l.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := source.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { _, _, failed = to.WriteMsgUnix([]byte(words), unix.UnixRights(int(fd)), nil) })
	return errors.Join(err, failed)
}

// ReceiveListener waits for a listener that somebody hands over, and the words with it.
func ReceiveListener(from *net.UnixConn) (l net.Listener, words string, err error) {
	text, room := make([]byte, maxWords), make([]byte, unix.CmsgSpace(4))
	said, n, _, _, err := from.ReadMsgUnix(text, room)
	if err != nil {
		return nil, "", err
	}
	messages, err := unix.ParseSocketControlMessage(room[:n])
	if err != nil || len(messages) != 1 {
		return nil, "", errors.New("no socket came")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, "", errors.New("no socket came")
	}
	f := os.NewFile(uintptr(fds[0]), "a listener")
	defer func() { _ = f.Close() }()
	l, err = net.FileListener(f)
	return l, string(text[:said]), err
}
