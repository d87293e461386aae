package talk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"parley.internal/internal/identity"
)

// ErrNotLoopback says that the TCP face is for this machine only.
var ErrNotLoopback = errors.New("not a loopback address; clients elsewhere use /talk/ws")

// TCPOptions are about the TCP face.
type TCPOptions struct {
	// InsecureOpen admits clients without a token, with talk:admin and
	// agents:manage. It is for old clients that cannot send one; the safe way is
	// hello with a token.
	InsecureOpen bool
	// PortFile is where the port is written when the system chose it.
	PortFile string
}

// ListenTCP serves on a loopback address.
func (f *Face) ListenTCP(ctx context.Context, address string, o TCPOptions) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("talk over TCP: %w", err)
	}
	if err := checkLoopback(ctx, address); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("talk over TCP: %w", err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s: %w", address, ErrNotLoopback), l.Close())
	}
	if port == "0" && o.PortFile != "" {
		if err := os.WriteFile(o.PortFile, []byte(strconv.Itoa(at.Port)+"\n"), 0o600); err != nil {
			return errors.Join(err, l.Close())
		}
		l = &announced{l, o.PortFile}
	}
	session, err := f.tcpSession(ctx, o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return f.accept(l, func(net.Conn) (*identity.Actor, error) { return session, nil })
}

// announced is a listener whose port is in a file while it listens.
type announced struct {
	net.Listener
	file string
}

func (a *announced) Close() error {
	_ = os.Remove(a.file) // whoever reads it later would find somebody else there
	return a.Listener.Close()
}

// checkLoopback refuses a host that is, or may be, reached from elsewhere, before
// anything listens on it.
func checkLoopback(ctx context.Context, address string) error {
	host, _, _ := net.SplitHostPort(address)
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil || len(addrs) == 0 {
		return fmt.Errorf("%s: %w", address, ErrNotLoopback)
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return fmt.Errorf("%s: %w", address, ErrNotLoopback)
		}
	}
	return nil
}

// tcpSession is who a new connection is: nobody, unless the door is open.
func (f *Face) tcpSession(ctx context.Context, o TCPOptions) (*identity.Actor, error) {
	if !o.InsecureOpen {
		return nil, nil
	}
	owner, err := f.d.People.Owner(ctx)
	if err != nil {
		return nil, err
	}
	f.log.Warn("talk.tcp_open is set: every program on this machine may use conversations without a token")
	s := identity.Local(owner).Narrow(identity.Expand(identity.TalkAdmin, identity.AgentsManage)).From("local")
	return &s, nil
}
