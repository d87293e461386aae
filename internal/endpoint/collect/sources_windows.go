package collect

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/windows/registry"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
)

// fromFeed is a section that PowerShell answers for.
func fromFeed(name string, make func(json.RawMessage, time.Time) (*section, error)) source {
	return source{name, func(ctx context.Context, run *round) (*section, error) {
		raw, err := run.feed.get(ctx, name)
		if err != nil {
			return nil, err
		}
		return make(raw, run.now)
	}}
}

func systemSources() []source {
	return []source{
		fromFeed("firewall", winFirewall), // in the order of the script: quick ones first
		fromFeed("routing", winRouting),
		fromFeed("defender", winDefender),
		fromFeed("disk_smart", winSmart),
		fromFeed("battery", winBattery),
		fromFeed("thermals", winThermals),
		fromFeed("encryption", func(raw json.RawMessage, _ time.Time) (*section, error) {
			return winEncryption(raw, os.Getenv("SystemDrive"))
		}),
		fromFeed("av_thirdparty", winAntivirus),
		fromFeed("defender_quarantine", winQuarantine),
		fromFeed("printers", winPrinters),
		fromFeed("peripherals", winPeripherals),
		{"autostart", winAutostart},
		fromFeed("win_update", winUpdates),
		fromFeed("reliability", winReliability),
		{"app_updates", appUpdates},
		{"time_sync", timeSync},
		{"wifi_quality", wifiQuality},
		{"reboot_pending", rebootPending},
		{"os_support", osSupport},
	}
}

func winAutostart(ctx context.Context, run *round) (*section, error) {
	raw, err := run.feed.get(ctx, "autostart")
	if err != nil {
		return nil, err
	}
	tasks, err := winItems[probe.Startup](raw)
	entries := append(probe.AutostartFiles(), tasks...)
	return ok(count(len(entries), "entry"), map[string]any{"entries": list(entries)}), err
}

func appUpdates(ctx context.Context, _ *round) (*section, error) {
	packages, err := probe.WingetUpgrades(ctx)
	if err != nil {
		return nil, err
	}
	return updatesSection(packages), nil
}

// timeSync asks the time service for its source and compares with it.
func timeSync(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "w32tm.exe", "/query", "/source")
	if err != nil {
		return syncSection(clock{}), nil //nolint:nilerr // the time service does not run: not synchronised
	}
	c := clock{Source: strings.TrimSpace(command.Text(out))}
	server, _, _ := strings.Cut(c.Source, ",")
	if !strings.Contains(server, " ") { // a sentence means the machine's own clock
		if out, err := command.Output(ctx, "w32tm.exe", "/stripchart", "/dataonly", "/samples:1", "/computer:"+server); err == nil {
			if offset, ok := parseStripchart(string(out)); ok {
				c.Synchronized, c.Offset = true, &offset
			}
		}
	}
	return syncSection(c), nil
}

func wifiQuality(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "netsh.exe", "wlan", "show", "interfaces")
	if err != nil {
		return nil, probe.ErrUnsupported // no wireless service, no wireless
	}
	return wifiSection(parseNetsh(command.Text(out))), nil
}

func keyExists(path string) bool {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	_ = k.Close()
	return true
}

func keyText(path, name string) string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	s, _, err := k.GetStringValue(name)
	if err != nil {
		return ""
	}
	return s
}

// rebootPending never counts pending file renames: they are always some.
func rebootPending(context.Context, *round) (*section, error) {
	var reasons []string
	if keyExists(`SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending`) {
		reasons = append(reasons, "ComponentBasedServicing")
	}
	if keyExists(`SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired`) {
		reasons = append(reasons, "WindowsUpdate")
	}
	const names = `SYSTEM\CurrentControlSet\Control\ComputerName\`
	if keyText(names+"ComputerName", "ComputerName") != keyText(names+"ActiveComputerName", "ComputerName") {
		reasons = append(reasons, "PendingComputerRename")
	}
	return rebootSection(reasons), nil
}

func osSupport(_ context.Context, run *round) (*section, error) {
	const path = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	s := winSystem(keyText(path, "ProductName"), keyText(path, "DisplayVersion"), keyText(path, "CurrentBuildNumber"), keyText(path, "InstallationType"))
	return supportSection(s, run.now)
}
