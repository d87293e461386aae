//go:build unix

package control

import (
	"context"
	"errors"
	"net"
	"os"
	"os/user"
	"strconv"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/localsocket"
)

const socketName = "control.sock"

// listen takes over a socket that a dead endpoint left. Everybody may connect;
// who they are is the kernel's word.
func listen(folder string) (net.Listener, error) {
	path, done, err := localsocket.Path(folder, socketName)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the name may be the next endpoint's
	if err := os.Chmod(path, 0o666); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

func dial(_ context.Context, folder string) (net.Conn, error) {
	return localsocket.Dial(folder, socketName)
}

// identify asks the kernel who is at the other end.
func identify(conn net.Conn) (Caller, error) {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return Caller{}, errors.New("not a local socket")
	}
	uid, pid, err := localsocket.Peer(uc)
	if err != nil {
		return Caller{}, err
	}
	return callerOf(uid, pid), nil
}

func callerOf(uid, pid int) Caller {
	c := Caller{ID: strconv.Itoa(uid), Admin: uid == 0 || uid == os.Geteuid(), Script: pid > 0 && command.Belongs(pid)}
	c.Name = c.ID
	if u, err := user.LookupId(c.ID); err == nil {
		c.Name = u.Username
	}
	return c
}

// Me is the caller behind this process, for when no endpoint runs.
func Me() (Caller, error) { return callerOf(os.Geteuid(), os.Getpid()), nil }
