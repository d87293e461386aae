package collect

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

func ok(summary string, fields map[string]any) *section {
	return &section{status: wire.StatusOK, summary: summary, fields: fields}
}

// graded is ok, or warn when bad holds.
func graded(bad bool, summary string, fields map[string]any) *section {
	s := ok(summary, fields)
	if bad {
		s.status = wire.StatusWarn
	}
	return s
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// count spells "1 thing", "3 things".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if root, found := strings.CutSuffix(one, "y"); found {
		return fmt.Sprintf("%d %sies", n, root)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// common are the sections taken alike on every system.
func (c *Collector) common() []source {
	return []source{
		{"disk", c.disk},
		{"network", network},
		{"routing", routing},
		{"processes", processes},
		{"services", c.services},
		{"memory", memory},
		{"uptime", uptime},
		{"autostart", autostart},
	}
}

func (c *Collector) disk(ctx context.Context, _ *round) (*section, error) {
	volumes, err := probe.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	summary := "no volumes"
	fullest := -1.0
	for _, v := range volumes {
		if v.PercentUsed > fullest {
			fullest = v.PercentUsed
			summary = fmt.Sprintf("%s %s%% full", v.Mount, short(v.PercentUsed))
		}
	}
	return ok(summary, map[string]any{"volumes": list(volumes), "top_dirs": list(c.dirs.latest())}), nil
}

// short spells a number without needless digits.
func short(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

func network(ctx context.Context, _ *round) (*section, error) {
	interfaces, err := probe.Interfaces()
	if err != nil {
		return nil, err
	}
	dns, err := probe.DNS(ctx)
	if err != nil {
		dns = nil // addresses are worth telling without it
	}
	up := 0
	for _, i := range interfaces {
		if len(i.IPs) > 0 {
			up++
		}
	}
	return graded(up == 0, count(up, "interface")+" with an address", map[string]any{"interfaces": list(interfaces), "dns": list(dns)}), nil
}

func routing(ctx context.Context, _ *round) (*section, error) {
	routes, err := probe.Routes(ctx)
	if err != nil {
		return nil, err
	}
	return routingSection(routes), nil
}

func routingSection(routes []probe.Route) *section {
	through := probe.DefaultInterface(routes)
	summary := "default route through " + through
	if through == "" {
		summary = "no default route"
	}
	return graded(through == "", summary, map[string]any{"routes": list(routes), "default_interface": through})
}

// topProcesses is how many processes a snapshot names.
const topProcesses = 15

func processes(ctx context.Context, _ *round) (*section, error) {
	all, err := probe.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return ok(fmt.Sprintf("%d processes", len(all)), map[string]any{"count": len(all), "processes": list(all[:min(len(all), topProcesses)])}), nil
}

func (c *Collector) services(ctx context.Context, _ *round) (*section, error) {
	all, err := probe.Services(ctx)
	if err != nil {
		return nil, err
	}
	return servicesSection(c.os, all), nil
}

// servicesSection: on Windows an automatic service should run, elsewhere none
// should have failed.
func servicesSection(os wire.OS, all []probe.Service) *section {
	var unwell []string
	for _, s := range all {
		bad := s.Status == probe.Failed
		if os == wire.Windows {
			bad = s.Start == probe.Auto && s.Status != probe.Running && !s.Idle
		}
		if bad {
			unwell = append(unwell, s.Name)
		}
	}
	summary := count(len(all), "service")
	if len(unwell) > 0 {
		summary = "not well: " + some(unwell)
	}
	return graded(len(unwell) > 0, summary, map[string]any{"services": list(all)})
}

// some names the first few of a list.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s +%d more", strings.Join(names[:few], ", "), len(names)-few)
}

func memory(ctx context.Context, _ *round) (*section, error) {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, err
	}
	used := m.Total - min(m.Total, m.Available)
	share := percent(used, m.Total)
	fields := map[string]any{
		"total_bytes": m.Total, "used_bytes": used, "available_bytes": m.Available, "percent_used": share,
		"swap_total_bytes": uint64(0), "swap_used_bytes": uint64(0),
	}
	if s, err := mem.SwapMemoryWithContext(ctx); err == nil {
		fields["swap_total_bytes"], fields["swap_used_bytes"] = s.Total, s.Used
	}
	return ok(fmt.Sprintf("%s%% of %s used", short(share), bytesText(m.Total)), fields), nil
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(float64(part)/float64(whole)*1000) / 10
}

func bytesText(n uint64) string {
	const gib = 1 << 30
	return short(float64(n)/gib) + " GiB"
}

// longUp is when a machine has not been restarted for too long.
const longUp = 30 * 24 * time.Hour

func uptime(ctx context.Context, run *round) (*section, error) {
	boot, err := host.BootTimeWithContext(ctx)
	if err != nil {
		return nil, err
	}
	return uptimeSection(run.now.Sub(time.Unix(int64(boot), 0)), boot), nil
}

func uptimeSection(up time.Duration, boot uint64) *section {
	up = max(up, 0)
	return graded(up >= longUp, fmt.Sprintf("up for %d days", int(up.Hours()/24)),
		map[string]any{"uptime_secs": int64(up.Seconds()), "boot_time_unix": boot})
}

func autostart(ctx context.Context, _ *round) (*section, error) {
	entries, err := probe.Autostart(ctx)
	if err != nil {
		return nil, err
	}
	return ok(count(len(entries), "entry"), map[string]any{"entries": list(entries)}), nil
}
