package collect

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
)

// machine is the root of /sys, /proc, /etc.
func machine() fs.FS { return os.DirFS("/") }

func systemSources() []source {
	return []source{
		{"app_updates", (&updates{}).collect}, // the slowest first
		{"reliability", reliability},
		{"disk_smart", diskSmart},
		{"printers", printers},
		{"time_sync", timeSync},
		{"firewall", firewall},
		{"wifi_quality", wifiQuality},
		{"encryption", encryption},
		{"peripherals", func(context.Context, *round) (*section, error) { return peripheralsSection(sysDevices(machine())), nil }},
		{"battery", func(context.Context, *round) (*section, error) { return batterySection(sysBattery(machine())), nil }},
		{"thermals", func(context.Context, *round) (*section, error) { return thermalsSection(sysSensors(machine())), nil }},
		{"reboot_pending", rebootPending},
		{"os_support", func(_ context.Context, run *round) (*section, error) {
			return supportSection(parseOSRelease(text(machine(), "etc/os-release")), run.now)
		}},
		{"defender", nothing},
		{"win_update", nothing},
	}
}

// nothing is a section that makes no sense here.
func nothing(context.Context, *round) (*section, error) { return nil, nil } //nolint:nilnil // no section and no failure

func rebootPending(context.Context, *round) (*section, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	return rebootSection(kernelReasons(machine(), unix.ByteSliceToString(u.Release[:]))), nil
}

func encryption(ctx context.Context, _ *round) (*section, error) {
	volumes, err := probe.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	var out []cryptVolume
	for _, v := range volumes {
		out = append(out, cryptState(machine(), v))
	}
	return encryptionSection(out, "/"), nil
}

// cryptState follows a volume's device down to what encrypts it.
func cryptState(root fs.FS, v probe.Volume) cryptVolume {
	out := cryptVolume{Mount: v.Mount, Protection: unknown}
	dev, err := filepath.EvalSymlinks(v.Device)
	if err != nil || !strings.HasPrefix(dev, "/dev/") {
		return out
	}
	out.Protection = unprotected
	if encrypted(root, filepath.Base(dev)) {
		out.Protection, out.Percent = protected, 100
	}
	return out
}

func diskSmart(ctx context.Context, _ *round) (*section, error) {
	if !command.Have("smartctl") {
		return nil, probe.ErrUnsupported
	}
	scan, err := command.Output(ctx, "smartctl", "--scan", "--json")
	if err != nil {
		return nil, err
	}
	var disks []smartDisk
	for _, name := range parseSmartScan(scan) {
		// The exit status is a set of flags, most of them about the disk.
		res, err := command.Run(ctx, command.Spec{Path: "smartctl", Args: []string{"--json", "--info", "--health", "--attributes", name}})
		if err != nil {
			return nil, err
		}
		if d, ok := parseSmartctl(res.Stdout); ok {
			disks = append(disks, d)
		}
	}
	return smartSection(disks), nil
}

// firewall asks the manager that is there, else the kernel's own rules.
func firewall(ctx context.Context, _ *round) (*section, error) {
	switch {
	case command.Have("ufw"):
		out, err := command.Output(ctx, "ufw", "status")
		if err != nil {
			return nil, asRoot(err)
		}
		enabled, _ := parseUfw(string(out))
		return firewallSection([]profile{{"ufw", enabled}}), nil
	case command.Have("firewall-cmd"):
		out, err := command.Output(ctx, "firewall-cmd", "--state")
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		return firewallSection([]profile{{"firewalld", strings.TrimSpace(string(out)) == "running"}}), nil
	case command.Have("nft"):
		out, err := command.Output(ctx, "nft", "list", "ruleset")
		if err != nil {
			return nil, asRoot(err)
		}
		return firewallSection([]profile{{"nftables", parseNft(string(out))}}), nil
	}
	return nil, probe.ErrUnsupported
}

// asRoot says what is missing when a program refuses an ordinary account.
func asRoot(err error) error {
	if os.Geteuid() == 0 {
		return err
	}
	return &fs.PathError{Op: "ask the firewall", Path: "needs root", Err: fs.ErrPermission}
}

func reliability(ctx context.Context, run *round) (*section, error) {
	since := run.now.AddDate(0, 0, -crashDays)
	crashes := newer("/var/lib/systemd/coredump/*", since) + newer("/var/crash/*.crash", since)
	if command.Have("journalctl") {
		out, err := command.Output(ctx, "journalctl", "--quiet", "--no-pager", "--output=cat", "--since=-"+strconv.Itoa(crashDays)+"d",
			"--grep=Out of memory: Killed process|Kernel panic", "_TRANSPORT=kernel")
		if err == nil || ctx.Err() == nil { // no match is exit status 1
			crashes += strings.Count(string(out), "\n")
		}
	}
	return reliabilitySection(nil, crashes), nil
}

// updates remembers the package manager's answer, which takes it seconds to
// work out, until one of its files changes.
type updates struct {
	mu      sync.Mutex
	state   string
	section *section
}

// packageFiles change with what is installed and what could be.
var packageFiles = []string{"/var/lib/dpkg/status", "/var/lib/apt/lists", "/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/cache/dnf", "/var/lib/pacman/local", "/var/lib/pacman/sync", "/var/cache/zypp"}

func (u *updates) collect(ctx context.Context, _ *round) (*section, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var state strings.Builder
	for _, name := range packageFiles {
		if info, err := os.Stat(name); err == nil {
			state.WriteString(name + info.ModTime().String())
		}
	}
	if u.section != nil && u.state == state.String() {
		return u.section, nil
	}
	s, err := appUpdates(ctx)
	if err == nil {
		u.state, u.section = state.String(), s
	}
	return s, err
}

// appUpdates asks the package manager, without letting it go to the network.
func appUpdates(ctx context.Context) (*section, error) {
	type manager struct {
		program string
		args    []string
		parse   func(string) []probe.Package
		empty   int // the exit status that means "none", beside 0
	}
	for _, m := range []manager{
		{"apt-get", []string{"--simulate", "--option=Debug::NoLocking=true", "upgrade"}, parseApt, 0},
		{"dnf", []string{"-C", "-q", "list", "--upgrades"}, parseDnf, 1},
		{"pacman", []string{"-Qu"}, parsePacman, 1},
		{"zypper", []string{"--no-refresh", "--xmlout", "list-updates"}, parseZypper, 0},
	} {
		if !command.Have(m.program) {
			continue
		}
		out, err := command.Output(ctx, m.program, m.args...)
		if err != nil && !exitedWith(err, m.empty) {
			return nil, err
		}
		return updatesSection(m.parse(string(out))), nil
	}
	return nil, probe.ErrUnsupported
}

// timeSync asks the kernel, and whoever disciplines it for the source.
func timeSync(ctx context.Context, _ *round) (*section, error) {
	var tx unix.Timex
	state, err := unix.Adjtimex(&tx)
	if err != nil {
		return nil, err
	}
	const timeError, statusNano = 5, 0x2000
	offset := float64(tx.Offset) / 1e6
	if tx.Status&statusNano != 0 {
		offset = float64(tx.Offset) / 1e9
	}
	c := clock{Synchronized: state != timeError, Source: "kernel", Offset: &offset}
	if out, err := command.Output(ctx, "chronyc", "-c", "tracking"); err == nil {
		if source, off, ok := parseChrony(string(out)); ok {
			c.Source, c.Offset = source, &off
		}
	} else if out, err := command.Output(ctx, "timedatectl", "show"); err == nil {
		if synced, ok := parseTimedatectl(string(out)); ok {
			c.Synchronized, c.Source = c.Synchronized || synced, "timedatectl"
		}
	}
	return syncSection(c), nil
}

// wifiQuality reads the kernel's table; names and bands are iw's to tell.
func wifiQuality(ctx context.Context, _ *round) (*section, error) {
	names := glob(machine(), "sys/class/net/*/wireless")
	if len(names) == 0 {
		return nil, probe.ErrUnsupported
	}
	name := strings.Split(names[0], "/")[3]
	w := &wifi{}
	if iface, dbm, ok := parseWireless(text(machine(), "proc/net/wireless")); ok {
		name, w.Connected, w.Signal = iface, true, ptr(quality(dbm))
	}
	if out, err := command.Output(ctx, "iw", "dev", name, "link"); err == nil {
		w = parseIwLink(string(out))
	}
	return wifiSection(w), nil
}
