package collect

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
)

func systemSources() []source {
	return []source{
		{"app_updates", appUpdates}, // the slowest first
		{"peripherals", peripherals},
		{"wifi_quality", wifiQuality},
		{"battery", powerSupply},
		{"disk_smart", diskSmart},
		{"printers", printers},
		{"time_sync", timeSync},
		{"firewall", firewall},
		{"encryption", encryption},
		{"reliability", reliability},
		{"os_support", osSupport},
		{"defender", nothing},
		{"win_update", nothing},
	}
}

// nothing is a section that makes no sense here.
func nothing(context.Context, *round) (*section, error) { return nil, nil } //nolint:nilnil // no section and no failure

func profiler(ctx context.Context, kinds ...string) (map[string][]profilerItem, error) {
	out, err := command.Output(ctx, "/usr/sbin/system_profiler", append([]string{"-json"}, kinds...)...)
	if err != nil {
		return nil, err
	}
	return parseProfiler(out)
}

func peripherals(ctx context.Context, _ *round) (*section, error) {
	lists, err := profiler(ctx, "SPUSBDataType", "SPDisplaysDataType", "SPAudioDataType", "SPCameraDataType")
	if err != nil {
		return nil, err
	}
	return peripheralsSection(macDevices(lists)), nil
}

func powerSupply(ctx context.Context, _ *round) (*section, error) {
	lists, err := profiler(ctx, "SPPowerDataType")
	if err != nil {
		return nil, err
	}
	return batterySection(macBattery(lists["SPPowerDataType"])), nil
}

func wifiQuality(ctx context.Context, _ *round) (*section, error) {
	lists, err := profiler(ctx, "SPAirPortDataType")
	if err != nil {
		return nil, err
	}
	return wifiSection(macWifi(lists["SPAirPortDataType"])), nil
}

func diskSmart(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "/usr/sbin/diskutil", "list", "-plist", "physical")
	if err != nil {
		return nil, err
	}
	var disks []smartDisk
	for _, name := range probe.WholeDisks(out) {
		info, err := command.Output(ctx, "/usr/sbin/diskutil", "info", "-plist", name)
		if err != nil {
			return nil, err
		}
		if p, err := probe.Plist(info); err == nil {
			if d, ok := macSmart(p); ok {
				disks = append(disks, d)
			}
		}
	}
	return smartSection(disks), nil
}

func firewall(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "/usr/libexec/ApplicationFirewall/socketfilterfw", "--getglobalstate")
	if err != nil {
		return nil, err
	}
	return firewallSection([]profile{{"Application Firewall", parseALF(string(out))}}), nil
}

func encryption(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "/usr/bin/fdesetup", "status")
	if err != nil {
		return nil, err
	}
	return encryptionSection([]cryptVolume{parseFileVault(string(out))}, "/"), nil
}

func reliability(_ context.Context, run *round) (*section, error) {
	since := run.now.AddDate(0, 0, -crashDays)
	crashes := 0
	for _, dir := range []string{"/Library/Logs/DiagnosticReports", "/Users/*/Library/Logs/DiagnosticReports"} {
		for _, kind := range []string{"*.ips", "*.crash", "*.panic"} {
			crashes += newer(filepath.Join(dir, kind), since)
		}
	}
	return reliabilitySection(nil, crashes), nil
}

// appUpdates asks Homebrew, as the account that owns it.
func appUpdates(ctx context.Context, _ *round) (*section, error) {
	for _, brew := range []string{"/opt/homebrew/bin/brew", "/usr/local/bin/brew"} {
		if _, err := os.Stat(brew); err != nil {
			continue
		}
		res, err := command.Run(ctx, command.Spec{Path: brew, Args: []string{"outdated", "--json=v2"}, Env: []string{"HOMEBREW_NO_AUTO_UPDATE=1"}, Cap: 4 << 20})
		if err != nil {
			return nil, err
		}
		packages, err := parseBrew(res.Stdout)
		if err != nil {
			return nil, err
		}
		return updatesSection(packages), nil
	}
	return nil, probe.ErrUnsupported
}

func timeSync(ctx context.Context, _ *round) (*section, error) {
	out, err := command.Output(ctx, "/usr/bin/sntp", "-t", "5", "time.apple.com")
	if err != nil {
		return syncSection(clock{Source: "time.apple.com"}), nil
	}
	source, offset, ok := parseSntp(string(out))
	return syncSection(clock{Synchronized: ok, Source: source, Offset: &offset}), nil
}

func osSupport(ctx context.Context, run *round) (*section, error) {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return nil, err
	}
	build, err := command.Output(ctx, "/usr/bin/sw_vers", "-buildVersion")
	if err != nil {
		return nil, err
	}
	return supportSection(system{ID: "macos", Name: "macOS", Version: version, Build: strings.TrimSpace(string(build))}, run.now)
}
