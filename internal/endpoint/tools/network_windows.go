package tools

import (
	"context"

	"parley.internal/internal/endpoint/probe"
)

func flushDNS(ctx context.Context) error {
	_, err := probe.PowerShell(ctx, "Clear-DnsClientCache")
	return err
}

func resetAdapter(ctx context.Context, name string) error {
	return downUp(ctx,
		func(ctx context.Context) error {
			_, err := probe.PowerShell(ctx, "Restart-NetAdapter -Confirm:$false -Name "+probe.Quote(name))
			return err
		},
		func(ctx context.Context) error {
			_, err := probe.PowerShell(ctx, "Enable-NetAdapter -Confirm:$false -Name "+probe.Quote(name))
			return err
		})
}
