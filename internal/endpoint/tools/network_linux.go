package tools

import (
	"context"
	"os"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"

	"parley.internal/internal/endpoint/command"
)

// flushDNS empties the cache of whichever resolver runs here.
func flushDNS(ctx context.Context) error {
	switch {
	case exists("/run/systemd/resolve") && command.Have("resolvectl"):
		return quietly(ctx, "resolvectl", "flush-caches")
	case exists("/run/nscd/socket") && command.Have("nscd"):
		return quietly(ctx, "nscd", "--invalidate=hosts")
	}
	if pid := pidOf(ctx, "dnsmasq"); pid != 0 {
		return syscall.Kill(pid, syscall.SIGHUP) // its documented way to clear the cache
	}
	return unsupported("no resolver with a cache runs on this machine")
}

func pidOf(ctx context.Context, name string) int {
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return 0
	}
	for _, p := range all {
		if n, err := p.NameWithContext(ctx); err == nil && n == name {
			return int(p.Pid)
		}
	}
	return 0
}

// resetAdapter asks NetworkManager where it is in charge, else the kernel.
func resetAdapter(ctx context.Context, name string) error {
	down, up := []string{"ip", "link", "set", "dev", name, "down"}, []string{"ip", "link", "set", "dev", name, "up"}
	if networkManaged(ctx, name) {
		down, up = []string{"nmcli", "device", "disconnect", name}, []string{"nmcli", "device", "connect", name}
	} else if !command.Have("ip") {
		return unsupported("neither NetworkManager nor the ip program is on this machine")
	}
	return downUp(ctx,
		func(ctx context.Context) error { return quietly(ctx, down[0], down[1:]...) },
		func(ctx context.Context) error { return quietly(ctx, up[0], up[1:]...) })
}

func networkManaged(ctx context.Context, name string) bool {
	if !command.Have("nmcli") {
		return false
	}
	out, err := command.Output(ctx, "nmcli", "-g", "GENERAL.STATE", "device", "show", name)
	return err == nil && !strings.Contains(string(out), "unmanaged")
}

func quietly(ctx context.Context, program string, args ...string) error {
	_, err := command.Output(ctx, program, args...)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
