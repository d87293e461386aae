package probe

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"net"
	"strconv"
	"strings"
)

// parseProcRoute reads /proc/net/route: addresses in hex, least byte first.
func parseProcRoute(text string) []Route {
	var out []Route
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] == "Iface" {
			continue
		}
		dest, err1 := littleEndian(f[1])
		hop, err2 := littleEndian(f[2])
		mask, err3 := strconv.ParseUint(f[7], 16, 32)
		metric, err4 := strconv.Atoi(f[6])
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
			continue
		}
		out = append(out, Route{Destination: fmt.Sprintf("%s/%d", dest, bits.OnesCount64(mask)), NextHop: gateway(hop), Interface: f[0], Metric: metric})
	}
	return out
}

func littleEndian(s string) (net.IP, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 4 {
		return nil, fmt.Errorf("not an address: %q", s)
	}
	return net.IPv4(b[3], b[2], b[1], b[0]), nil
}

// gateway is "" for what is reached directly.
func gateway(ip net.IP) string {
	if ip.IsUnspecified() {
		return ""
	}
	return ip.String()
}

// parseProcRoute6 reads /proc/net/ipv6_route, leaving out what the kernel made
// for itself.
func parseProcRoute6(text string) []Route {
	var out []Route
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[9] == "lo" {
			continue
		}
		dest, err1 := hex.DecodeString(f[0])
		length, err2 := strconv.ParseUint(f[1], 16, 8)
		hop, err3 := hex.DecodeString(f[4])
		metric, err4 := strconv.ParseUint(f[5], 16, 32)
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(dest) != 16 || len(hop) != 16 {
			continue
		}
		out = append(out, Route{Destination: fmt.Sprintf("%s/%d", net.IP(dest), length), NextHop: gateway(hop), Interface: f[9], Metric: int(metric)})
	}
	return out
}

// parseNetstat reads `netstat -rn` of macOS by its header columns.
func parseNetstat(text string) []Route {
	var out []Route
	netif := -1
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 0 && f[0] == "Destination" {
			netif = indexOf(f, "Netif")
			continue
		}
		if netif < 0 || len(f) <= netif {
			continue
		}
		out = append(out, Route{Destination: bsdDestination(f[0]), NextHop: bsdGateway(f[1]), Interface: f[netif]})
	}
	return out
}

func indexOf(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}

func bsdDestination(s string) string {
	if s == "default" {
		return "0.0.0.0/0"
	}
	return s
}

func bsdGateway(s string) string {
	if strings.HasPrefix(s, "link#") || strings.Count(s, ":") == 5 {
		return "" // reached directly
	}
	return s
}

// IsDefault reports whether a route leads everywhere.
func (r Route) IsDefault() bool {
	switch r.Destination {
	case "0.0.0.0/0", "::/0", "default":
		return true
	}
	return false
}

// DefaultInterface is where the best default route leads; "" without one.
func DefaultInterface(routes []Route) string {
	best, name := 0, ""
	for _, r := range routes {
		if r.IsDefault() && r.Interface != "" && (name == "" || r.Metric < best) {
			best, name = r.Metric, r.Interface
		}
	}
	return name
}
