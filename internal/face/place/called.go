package place

import (
	"net"
	"net/http"
	"slices"

	"parley.internal/protocol/mmp"
)

// calledHere notes the address the caller used, if it is ours: what is proven here is
// bound to it. Somebody in between may pass on any Host, so a name of ours with
// another program's port does not count; what port a proxy listens on, only the
// operator can say.
func (r *request) calledHere() {
	address := mmp.CalledAt(r.http.Host)
	if slices.Contains(r.d.Addresses, address) {
		r.who.Called = address
		return
	}
	_, port, err := net.SplitHostPort(address)
	local, connected := r.http.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if err == nil && port != "" && (r.d.Proxied || connected && !portIs(local, port)) {
		return
	}
	r.who.Called = address
}

func portIs(a net.Addr, port string) bool {
	_, ours, err := net.SplitHostPort(a.String())
	return err == nil && ours == port
}
