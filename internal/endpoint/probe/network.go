package probe

import (
	"context"
	"fmt"
	"net"
	"slices"
)

// Interfaces lists the network interfaces with their addresses.
func Interfaces() ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("network interfaces: %w", err)
	}
	var out []Interface
	for _, i := range all {
		one := Interface{Name: i.Name, MAC: i.HardwareAddr.String(), IPs: []string{}}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			one.IPs = append(one.IPs, a.String())
		}
		out = append(out, one)
	}
	return out, nil
}

// Loopback reports whether an interface is the machine talking to itself; the
// error tells that there is no such interface.
func Loopback(name string) (bool, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false, fmt.Errorf("there is no network adapter %q", name)
	}
	return i.Flags&net.FlagLoopback != 0, nil
}

// DNS lists the name servers in use.
func DNS(ctx context.Context) ([]string, error) {
	servers, err := nameServers(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range servers {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}
