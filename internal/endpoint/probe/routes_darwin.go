package probe

import (
	"context"

	"parley.internal/internal/endpoint/command"
)

// Routes reads the IPv4 routing table.
func Routes(ctx context.Context) ([]Route, error) {
	out, err := command.Output(ctx, "/usr/sbin/netstat", "-rn", "-f", "inet")
	if err != nil {
		return nil, err
	}
	return parseNetstat(string(out)), nil
}
