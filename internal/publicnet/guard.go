package publicnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrNotPublic says that an address is not on the public internet.
var ErrNotPublic = errors.New("not a public address")

// connectTime bounds one attempt to connect.
const connectTime = 10 * time.Second

// Guard dials public addresses only. The zero value is ready.
type Guard struct {
	// Allow lists networks inside that may be reached all the same.
	Allow []netip.Prefix
	// Named are addresses inside that the operator wrote out where they are used.
	// Only that very spelling reaches them; a name that leads there does not.
	Named []netip.Addr
	// Lookup resolves names; nil asks the system.
	Lookup func(context.Context, string) ([]netip.Addr, error)
}

// CheckHost refuses by spelling what the check at connecting would refuse
// anyway, with a clearer reason and without asking any resolver.
func (g Guard) CheckHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if slices.Contains(g.Named, a) {
			return nil
		}
		return g.checkAddr(a)
	}
	if oddNumber(host) || (insideName(host) && len(g.Allow) == 0) {
		return ErrNotPublic
	}
	return nil
}

func (g Guard) checkAddr(a netip.Addr) error {
	if Public(a) || within(a.Unmap(), g.Allow) {
		return nil
	}
	return ErrNotPublic
}

// Dial resolves, then connects to the very address it has checked; Control
// checks once more at the last moment.
func (g Guard) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := g.CheckHost(host); err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	if named, err := netip.ParseAddr(host); err == nil && slices.Contains(g.Named, named) {
		return (&net.Dialer{Timeout: connectTime}).DialContext(ctx, network, addr)
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("no address found for %s", host)
	}
	d := net.Dialer{Timeout: connectTime, Control: g.Control}
	err = fmt.Errorf("no address found for %s", host)
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
		if errors.Is(err, ErrNotPublic) {
			return nil, err // one bad answer spoils the name
		}
	}
	return nil, err
}

func (g Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if g.Lookup != nil {
		return g.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Control is for a net.Dialer.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrNotPublic
	}
	return g.checkAddr(ap.Addr())
}
