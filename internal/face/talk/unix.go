package talk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/localsocket"
)

// ErrAnotherHub says that a hub already listens on the socket.
var ErrAnotherHub = errors.New("another hub answers on the socket of this data folder")

// ErrPathTooLong says that the system cannot have a socket at so long a path.
var ErrPathTooLong = errors.New("the path is too long for a Unix socket")

// maxSocketPath is what every system allows.
const maxSocketPath = 103

// ListenUnix serves on a socket at path, for the hub's own user and root. A dead
// socket is removed; a live one means another hub.
func (f *Face) ListenUnix(ctx context.Context, path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("%w: %s", ErrPathTooLong, path)
	}
	if err := clearSocket(ctx, path); err != nil {
		return err
	}
	owner, err := f.d.People.Owner(ctx)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	// The folder keeps others out until this is done.
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	return f.accept(l, func(c net.Conn) (*identity.Actor, error) { return peerSession(c, owner, peerUID) })
}

// peerUID is the user at the other end of a socket.
func peerUID(c *net.UnixConn) (int, error) {
	uid, _, err := localsocket.Peer(c)
	return uid, err
}

// peerSession is who the system says is at the other end. Where it says nothing,
// nobody is known yet.
func peerSession(c net.Conn, owner identity.Person, uidOf func(*net.UnixConn) (int, error)) (*identity.Actor, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, localsocket.ErrUnknown
	}
	uid, err := uidOf(u)
	switch {
	case errors.Is(err, localsocket.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, err
	case uid != os.Geteuid() && uid != 0:
		return nil, fmt.Errorf("user %d is neither the hub's user nor root", uid)
	}
	s := identity.Local(owner).From("local")
	return &s, nil
}

// clearSocket removes what a dead hub left, and nothing else.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket; move it away", path)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("%w: %s", ErrAnotherHub, path), c.Close())
	}
	return os.Remove(path)
}
