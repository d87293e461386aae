package probe

import (
	"context"
	"os"
)

// Routes reads the routing tables of the kernel.
func Routes(context.Context) ([]Route, error) {
	v4, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, err
	}
	out := parseProcRoute(string(v4))
	if v6, err := os.ReadFile("/proc/net/ipv6_route"); err == nil {
		out = append(out, parseProcRoute6(string(v6))...)
	}
	return out, nil
}
