package probe

import (
	"context"

	"parley.internal/internal/endpoint/command"
)

func nameServers(ctx context.Context) ([]string, error) {
	out, err := command.Output(ctx, "/usr/sbin/scutil", "--dns")
	if err != nil {
		return nil, err
	}
	return parseScutil(string(out)), nil
}
