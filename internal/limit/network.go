package limit

import "net/netip"

// Network is what counts as one caller: an IPv4 address, however it is written,
// or the /64 of an IPv6 address, since whoever has one of those has all of it. It
// reads addresses with and without a port; what is no address is itself.
func Network(address string) string {
	ip, bare := parse(address)
	switch {
	case !ip.IsValid():
		return address
	case ip.Is4() && bare:
		return address // the common case: the text is the name
	case ip.Is4() || ip.IsLoopback():
		return ip.String()
	}
	block, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return block.String()
}

// Loopback reports an address of this machine itself.
func Loopback(address string) bool {
	ip, _ := parse(address)
	return ip.IsLoopback()
}

// parse gives the address in its plain form; bare says that the text was just that.
func parse(address string) (ip netip.Addr, bare bool) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		pair, err := netip.ParseAddrPort(address)
		if err != nil {
			return netip.Addr{}, false
		}
		return pair.Addr().Unmap().WithZone(""), false
	}
	return ip.Unmap().WithZone(""), ip.Is4()
}
