package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func here() wire.OS { o, _ := wire.OSFromGo(runtime.GOOS); return o }

// fields says what each section has beside status and summary.
var fields = map[string][]string{
	"disk": {"volumes", "top_dirs"}, "peripherals": {"devices"}, "network": {"interfaces", "dns"}, "routing": {"routes", "default_interface"},
	"processes": {"count", "processes"}, "services": {"services"},
	"defender":   {"enabled", "realtime_protection", "last_scan", "last_scan_type", "last_signature_update", "threats_found", "action_needed"},
	"win_update": {"last_check", "recent"}, "disk_smart": {"disks"}, "battery": {"present", "charge_percent", "health_percent", "power_state"},
	"memory":   {"total_bytes", "used_bytes", "available_bytes", "percent_used", "swap_total_bytes", "swap_used_bytes"},
	"thermals": {"sensors"}, "firewall": {"profiles"}, "encryption": {"volumes"}, "av_thirdparty": {"products"}, "defender_quarantine": {"items"},
	"reboot_pending": {"pending", "reasons"}, "os_support": {"name", "version", "build", "eol", "eol_date", "arch"},
	"reliability": {"stability_index", "recent_crashes", "window_days"}, "app_updates": {"available", "packages"}, "uptime": {"uptime_secs", "boot_time_unix"},
	"time_sync": {"synchronized", "source", "offset_secs"}, "printers": {"printers"}, "wifi_quality": {"connected", "ssid", "signal_percent", "band"}, "autostart": {"entries"},
}

func decode(t *testing.T, raw jsontext.Value) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v; want no error", raw, err)
	}
	return m
}

// TestAFullCollectionOfThisMachine is the real thing: every mandatory section,
// what applies here beside them, and every field of each.
func TestAFullCollectionOfThisMachine(t *testing.T) {
	snapshot := New(here(), quiet()).Collect(t.Context(), nil)
	for name := range mandatory() {
		if snapshot[name] == nil {
			t.Errorf("no section %s", name)
		}
	}
	for _, name := range []string{"memory", "uptime", "os_support", "time_sync", "autostart"} {
		if snapshot[name] == nil {
			t.Errorf("no section %s", name)
		}
	}
	for name, raw := range snapshot {
		if _, err := wire.ReadSection(raw); err != nil {
			t.Errorf("%s: %v; want no error", name, err)
		}
		m := decode(t, raw)
		if _, measured := m["summary"].(string); !measured || strings.HasPrefix(m["summary"].(string), "could not be measured") {
			t.Errorf("%s: %v", name, m["summary"])
			continue
		}
		if m["summary"] == late().summary {
			continue // a busy machine; that it is told is the point
		}
		for _, f := range fields[name] {
			if _, ok := m[f]; !ok {
				t.Errorf("%s has no %q", name, f)
			}
		}
	}
	if m := decode(t, snapshot["memory"]); m["total_bytes"].(float64) < 1<<20 {
		t.Errorf("m is %v; want m[\"total_bytes\"].(float64) to be at least 1<<20", m)
	}
	if _, err := wire.Encode(&wire.Telemetry{AgentID: "m", CollectedAt: wire.At(time.Now()), Snapshot: snapshot}); err != nil {
		t.Error(err)
	}
	if here() != wire.Windows {
		if m := decode(t, snapshot["defender"]); m["applicable"] != false || m["status"] != "ok" || m["enabled"] != nil || m["summary"] != "not applicable on "+string(here()) {
			t.Errorf("%v", m)
		}
	}
}

func TestAFilterIsObeyedAndUnknownNamesIgnored(t *testing.T) {
	got := New(here(), quiet()).Collect(t.Context(), []string{"uptime", "no_such_section", "memory"})
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"memory", "uptime"}) {
		t.Errorf("names is %v; want slices.Equal(names, []string{\"memory\", \"uptime\"})", names)
	}
	if got := New(here(), quiet()).Collect(t.Context(), []string{}); len(got) != 0 {
		t.Errorf("an empty filter gave %d sections", len(got))
	}
}

func made(sources ...source) *Collector {
	return &Collector{os: wire.Linux, log: quiet(), now: time.Now, sources: sources, dirs: &topDirs{}}
}

func TestOneThatFailsPanicsOrIsLateLeavesTheOthersIntact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := made(
			source{"fails", func(context.Context, *round) (*section, error) { return nil, errors.New("no such device") }},
			source{"panics", func(context.Context, *round) (*section, error) { panic("boom") }},
			source{"late", func(ctx context.Context, _ *round) (*section, error) { <-ctx.Done(); return nil, ctx.Err() }},
			source{"denied", func(context.Context, *round) (*section, error) {
				return nil, fmt.Errorf("smart: %w", fs.ErrPermission)
			}},
			source{"absent", func(context.Context, *round) (*section, error) { return nil, probe.ErrUnsupported }},
			source{"services", func(context.Context, *round) (*section, error) { return nil, probe.ErrUnsupported }},
			source{"fine", func(context.Context, *round) (*section, error) { return ok("well", nil), nil }},
		)
		got := map[string]string{}
		for name, raw := range c.Collect(t.Context(), nil) {
			m := decode(t, raw)
			got[name] = m["status"].(string) + ": " + m["summary"].(string)
		}
		want := map[string]string{
			"fails": "crit: could not be measured: no such device", "panics": "crit: could not be measured: the collector failed unexpectedly",
			"late": "warn: took longer than 20s to measure", "denied": "warn: the endpoint's account has no permission to measure this: smart: permission denied",
			"services": "ok: not applicable on linux", "fine": "ok: well",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
	})
}

func TestEightMeasureAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var sources []source
		for i := range 30 {
			sources = append(sources, source{fmt.Sprintf("s%d", i), func(context.Context, *round) (*section, error) {
				most.Store(max(most.Load(), now.Add(1)))
				<-time.After(time.Second)
				now.Add(-1)
				return ok("x", nil), nil
			}})
		}
		if got := made(sources...).Collect(t.Context(), nil); len(got) != 30 || most.Load() != atOnce {
			t.Errorf("%d sections, %d at once", len(got), most.Load())
		}
	})
}

func TestALongSnapshotLosesTheLongestListsFirst(t *testing.T) {
	var long, short []string
	for i := range 20000 {
		long = append(long, fmt.Sprintf("a rather long entry number %d", i))
	}
	for i := range 50 {
		short = append(short, fmt.Sprint(i))
	}
	c := made(
		source{"long", func(context.Context, *round) (*section, error) {
			return ok("many", map[string]any{"entries": long}), nil
		}},
		source{"short", func(context.Context, *round) (*section, error) {
			return ok("few", map[string]any{"entries": short}), nil
		}},
	)
	got := c.Collect(t.Context(), nil)
	if _, err := wire.Encode(&wire.Telemetry{AgentID: "m", CollectedAt: wire.At(time.Now()), Snapshot: got}); err != nil {
		t.Fatal(err)
	}
	l, s := decode(t, got["long"]), decode(t, got["short"])
	if l["truncated"] != true || len(l["entries"].([]any)) == 0 || s["truncated"] != nil || len(s["entries"].([]any)) != 50 {
		t.Errorf("%d and %d left", len(l["entries"].([]any)), len(s["entries"].([]any)))
	}
	text, err := json.Marshal(map[string]any{"status": "ok", "summary": strings.Repeat("x", 300<<10)})
	if err != nil {
		t.Fatal(err)
	}
	if got := Fit(map[string]jsontext.Value{"a": text}, wire.MaxTelemetry); len(got) != 0 {
		t.Error("what cannot be shortened was kept")
	}
}

func TestTheHubsRuleSetsTheSectionsOwnStatus(t *testing.T) {
	for full, want := range map[float64]string{80: "ok", 81: "warn", 95: "crit"} {
		c := made(source{"disk", func(context.Context, *round) (*section, error) {
			return ok("/ full", map[string]any{"volumes": []probe.Volume{{Mount: "/", PercentUsed: full}}}), nil
		}})
		if m := decode(t, c.Collect(t.Context(), nil)["disk"]); m["status"] != want {
			t.Errorf("%v %%: %v; want m[\"status\"] to be %v", full, m, want)
		}
	}
}

// Hubs tell models the names of sections; one that is missing there is never asked for.
func TestEverySectionIsOneThatHubsName(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(wire.Sections()))); diff != "" {
		t.Errorf("sections of endpoints (-) and the protocol's list (+):\n%s", diff)
	}
}
