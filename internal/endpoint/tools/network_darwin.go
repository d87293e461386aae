package tools

import (
	"context"

	"parley.internal/internal/endpoint/command"
)

func flushDNS(ctx context.Context) error {
	if err := quietly(ctx, "/usr/bin/dscacheutil", "-flushcache"); err != nil {
		return err
	}
	return quietly(ctx, "/usr/bin/killall", "-HUP", "mDNSResponder")
}

func resetAdapter(ctx context.Context, name string) error {
	return downUp(ctx,
		func(ctx context.Context) error { return quietly(ctx, "/sbin/ifconfig", name, "down") },
		func(ctx context.Context) error { return quietly(ctx, "/sbin/ifconfig", name, "up") })
}

func quietly(ctx context.Context, program string, args ...string) error {
	_, err := command.Output(ctx, program, args...)
	return err
}
