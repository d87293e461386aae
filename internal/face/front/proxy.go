package front

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the reverse proxies that are allowed to speak for others. With
// any given, nobody else is served.
type Proxies []netip.Prefix

// Trusts reports whether the peer is one of the proxies.
func (p Proxies) Trusts(peer string) bool {
	addr, err := netip.ParseAddr(peer)
	if err != nil {
		return false
	}
	for _, prefix := range p {
		if prefix.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// Wrap admits only the proxies, demands that they did TLS, and takes the
// caller's address from them. Forwarded headers of anybody else mean nothing.
func (p Proxies) Wrap(f *Front, next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, _, _ := net.SplitHostPort(r.RemoteAddr)
		if !p.Trusts(peer) {
			f.Fail(w, r, NewProblem(http.StatusForbidden, "not_a_proxy", "this hub is served through its proxy only", nil))
			return
		}
		if !strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
			f.Fail(w, r, NewProblem(http.StatusForbidden, "tls_required", "this hub is served over https only", nil))
			return
		}
		ctx := context.WithValue(r.Context(), secureKey{}, true)
		ctx = context.WithValue(ctx, addressKey{}, p.caller(r, peer))
		inner := r.WithContext(ctx)
		next.ServeHTTP(w, inner)
		r.Pattern = inner.Pattern // for metrics: the mux told the copy
	})
}

// caller is the last forwarded address that is not itself a proxy: what stands
// before it was written by the caller and proves nothing.
func (p Proxies) caller(r *http.Request, peer string) string {
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop := strings.TrimSpace(hop)
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		if !p.Trusts(hop) {
			return hop
		}
	}
	return peer
}
