package publicnet

import (
	"errors"
	"net/netip"
	"testing"
)

func TestTheAddressIsCheckedAgainWhenConnecting(t *testing.T) {
	var g Guard
	for _, a := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:10.0.0.1]:80", "[fe80::1%eth0]:80", "nonsense"} {
		if err := g.Control("tcp", a, nil); !errors.Is(err, ErrNotPublic) {
			t.Errorf("%s: %v; want ErrNotPublic", a, err)
		}
	}
	for _, a := range []string{"93.184.216.34:80", "[2606:4700::1111]:443"} {
		if err := g.Control("tcp", a, nil); err != nil {
			t.Errorf("%s: %v; want no error", a, err)
		}
	}
}

func FuzzCheckHost(f *testing.F) {
	for _, h := range []string{"127.0.0.1", "::ffff:127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "10.0.0.1", "fe80::1%eth0", "example.com"} {
		f.Add(h)
	}
	var g Guard
	f.Fuzz(func(t *testing.T, host string) {
		a, err := netip.ParseAddr(host)
		if ok := g.CheckHost(host) == nil; ok && err == nil && (a.Unmap().IsLoopback() || a.Unmap().IsPrivate() || a.IsUnspecified() || a.Unmap().IsLinkLocalUnicast()) {
			t.Errorf("%q passes", host)
		}
	})
}
