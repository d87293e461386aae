package wsconn

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// OriginPolicy keeps pages of other sites away from the hub, whatever credentials the browser would add, and
// keeps a foreign name from being pointed at a loopback hub (DNS rebinding). It guards WebSocket handshakes
// and plain HTTP alike.
//
// Host must be a loopback name or address, a listener's, or configured. Origin, when a browser sends one, must be
// the hub's own or configured; "null" is foreign. Programs send no Origin and pass.
type OriginPolicy struct {
	hosts   map[string]bool // lower case, without port
	origins map[string]bool // scheme://host:port
	ports   map[string]bool // of the listeners: loopback origins have one of these
	proxied bool
	// known is the last Host that was one of ours: nearly all have the same.
	known atomic.Pointer[string]
}

// OriginConfig is what an OriginPolicy needs to know.
type OriginConfig struct {
	// Listen are the addresses the hub listens on, host:port. A wildcard host names nothing.
	Listen []string
	// PublicURL is where people reach the hub, if not there.
	PublicURL string
	// Hosts and Origins are further ones to accept, such as "hub.example" and "https://app.example".
	Hosts, Origins []string
	// BehindProxy says that TLS ends before the hub, so that pages come from https though requests do not.
	BehindProxy bool
}

// NewOriginPolicy checks the configuration.
func NewOriginPolicy(cfg OriginConfig) (*OriginPolicy, error) {
	p := &OriginPolicy{hosts: map[string]bool{}, origins: map[string]bool{}, ports: map[string]bool{}, proxied: cfg.BehindProxy}
	for _, l := range cfg.Listen {
		host, port, err := net.SplitHostPort(l)
		if err != nil {
			return nil, fmt.Errorf("wsconn: listen address %q: %w", l, err)
		}
		p.ports[port] = true
		if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
			p.hosts[bareHost(host)] = true
		}
	}
	for _, h := range cfg.Hosts {
		p.hosts[bareHost(h)] = true
	}
	origins := cfg.Origins
	if cfg.PublicURL != "" {
		origins = append(slices.Clip(origins), cfg.PublicURL)
	}
	for _, o := range origins {
		scheme, host, port, ok := parseOrigin(o)
		if !ok {
			return nil, fmt.Errorf("wsconn: origin %q is not scheme://host", o)
		}
		p.origins[originKey(scheme, host, port)] = true
		if o == cfg.PublicURL {
			p.hosts[host] = true
		}
	}
	return p, nil
}

// Check returns ErrForeignHost, ErrForeignOrigin or nil.
func (p *OriginPolicy) Check(r *http.Request) error {
	if known := p.known.Load(); known == nil || *known != r.Host {
		host := bareHost(r.Host)
		if !IsLoopbackHost(host) && !p.hosts[host] {
			return fmt.Errorf("%w: %q", ErrForeignHost, r.Host)
		}
		ours := strings.Clone(r.Host) // the request need not stay for it
		p.known.Store(&ours)
	}
	for _, o := range r.Header.Values("Origin") {
		if !p.own(o, r) {
			return fmt.Errorf("%w: %q", ErrForeignOrigin, o)
		}
	}
	return nil
}

func (p *OriginPolicy) own(origin string, r *http.Request) bool {
	scheme, host, port, ok := parseOrigin(origin)
	switch {
	case !ok:
		return false
	case p.origins[originKey(scheme, host, port)]:
		return true
	case !p.schemeFits(scheme, r):
		return false
	}
	// The page was served under the name and port it now calls (Host was checked), …
	if _, h, pt, ok := parseOrigin(scheme + "://" + r.Host); ok && h == host && pt == port {
		return true
	}
	// … or by one of our listeners under another of its names.
	return p.ports[port] && (IsLoopbackHost(host) || p.hosts[host])
}

func (p *OriginPolicy) schemeFits(scheme string, r *http.Request) bool {
	if r.TLS != nil || p.proxied {
		return scheme == "https"
	}
	return scheme == "http"
}

// IsLoopbackHost reports whether a host name or address (without port) always means this computer.
func IsLoopbackHost(host string) bool {
	host = bareHost(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// bareHost is lower case, without port, brackets and final dot.
func bareHost(h string) string {
	if host, _, err := net.SplitHostPort(h); err == nil {
		h = host
	}
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

func parseOrigin(o string) (scheme, host, port string, ok bool) {
	u, err := url.Parse(o)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", "", false
	}
	port = u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme, bareHost(u.Hostname()), port, true
}

func originKey(scheme, host, port string) string {
	return scheme + "://" + net.JoinHostPort(host, port)
}
