package collect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

// What the systems measure, in one form; each has the function that makes a
// section of it. Pointers are null where the system does not tell.

// device is something plugged in.
type device struct {
	Name   string `json:"name"`
	Class  string `json:"class"`
	Status string `json:"status"`
}

func peripheralsSection(devices []device) *section {
	var bad []string
	for _, d := range devices {
		if d.Status != "" && !strings.EqualFold(d.Status, "OK") {
			bad = append(bad, d.Name)
		}
	}
	summary := count(len(devices), "device")
	if len(bad) > 0 {
		summary = "trouble with " + some(bad)
	}
	return graded(len(bad) > 0, summary, map[string]any{"devices": list(devices)})
}

// smartDisk is the health of a drive as it tells itself.
type smartDisk struct {
	Model       string   `json:"model"`
	Health      string   `json:"health_status"`
	Predictive  *bool    `json:"predictive_failure"`
	Wear        *float64 `json:"wear"`
	Temperature *float64 `json:"temperature_c"`
	Reallocated *int64   `json:"reallocated_sectors"`
}

const healthy = "Healthy"

func smartSection(disks []smartDisk) *section {
	if len(disks) == 0 {
		return nil
	}
	s := ok(count(len(disks), "disk")+" healthy", map[string]any{"disks": disks})
	for _, d := range disks {
		if d.Health != healthy || d.Predictive != nil && *d.Predictive {
			s.status, s.summary = wire.StatusCrit, fmt.Sprintf("%s is %s", d.Model, strings.ToLower(d.Health))
			if d.Health == healthy {
				s.summary = d.Model + " predicts its failure"
			}
		}
	}
	return s
}

// battery is a portable's; nil fields are not told.
type battery struct {
	Charge *float64
	Health *float64
	State  string
}

func batterySection(b *battery) *section {
	if b == nil {
		return nil
	}
	summary := "battery present"
	if b.Charge != nil {
		summary = fmt.Sprintf("%s%% charged", short(*b.Charge))
	}
	if b.Health != nil {
		summary += fmt.Sprintf(", health %s%%", short(*b.Health))
	}
	return ok(summary, map[string]any{"present": true, "charge_percent": b.Charge, "health_percent": b.Health, "power_state": b.State})
}

// sensor is a temperature.
type sensor struct {
	Label       string  `json:"label"`
	Temperature float64 `json:"temperature_c"`
}

// thermalsSection leaves out what no thermometer shows.
func thermalsSection(sensors []sensor) *section {
	sensors = slices.DeleteFunc(slices.Clone(sensors), func(s sensor) bool {
		return math.IsNaN(s.Temperature) || s.Temperature <= 0 || s.Temperature >= 150
	})
	if len(sensors) == 0 {
		return nil
	}
	hottest := slices.MaxFunc(sensors, func(a, b sensor) int { return int(math.Copysign(1, a.Temperature-b.Temperature)) })
	return ok(fmt.Sprintf("hottest %s °C (%s)", short(hottest.Temperature), hottest.Label), map[string]any{"sensors": sensors})
}

// profile is a firewall, or one part of it.
type profile struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

func firewallSection(profiles []profile) *section {
	if len(profiles) == 0 {
		return nil
	}
	var off []string
	for _, p := range profiles {
		if !p.Enabled {
			off = append(off, p.Name)
		}
	}
	summary := "firewall on"
	if len(off) > 0 {
		summary = "firewall off: " + some(off)
	}
	return graded(len(off) > 0, summary, map[string]any{"profiles": profiles})
}

// Protection of a volume, as Windows numbers it.
const (
	unprotected = 0
	protected   = 1
	unknown     = 2
)

// cryptVolume is a volume and whether it is encrypted.
type cryptVolume struct {
	Mount      string  `json:"mount"`
	Protection int     `json:"protection_status"`
	Percent    float64 `json:"encryption_percent"`
}

func encryptionSection(volumes []cryptVolume, system string) *section {
	if len(volumes) == 0 {
		return nil
	}
	state := unknown
	for _, v := range volumes {
		if strings.EqualFold(v.Mount, system) {
			state = v.Protection
		}
	}
	summary := map[int]string{unprotected: "not encrypted", protected: "encrypted", unknown: "encryption unknown"}[state]
	return graded(state != protected, system+" "+summary, map[string]any{"volumes": volumes})
}

func rebootSection(reasons []string) *section {
	if len(reasons) == 0 {
		return ok("no restart needed", map[string]any{"pending": false, "reasons": []string{}})
	}
	return graded(true, "restart pending: "+strings.Join(reasons, ", "), map[string]any{"pending": true, "reasons": reasons})
}

// crashDays is the window of the reliability section.
const crashDays = 7

func reliabilitySection(index *float64, crashes int) *section {
	return ok(fmt.Sprintf("%s in %d days", count(crashes, "crash event"), crashDays),
		map[string]any{"stability_index": index, "recent_crashes": crashes, "window_days": crashDays})
}

// maxUpdates is how many waiting updates are named.
const maxUpdates = 200

func updatesSection(packages []probe.Package) *section {
	summary := "up to date"
	if n := len(packages); n > 0 {
		summary = count(n, "update") + " available"
	}
	return graded(len(packages) > 0, summary, map[string]any{"available": len(packages), "packages": list(packages[:min(len(packages), maxUpdates)])})
}

// clock is how well the machine's clock is kept.
type clock struct {
	Synchronized bool
	Source       string
	Offset       *float64
}

// maxOffset is how many seconds a clock may be off.
const maxOffset = 5

func syncSection(c clock) *section {
	off := c.Offset != nil && math.Abs(*c.Offset) > maxOffset
	summary := "clock synchronised"
	switch {
	case !c.Synchronized:
		summary = "clock not synchronised"
	case off:
		summary = fmt.Sprintf("clock is off by %s s", short(*c.Offset))
	}
	return graded(off || !c.Synchronized, summary, map[string]any{"synchronized": c.Synchronized, "source": c.Source, "offset_secs": c.Offset})
}

// printer is a print queue.
type printer struct {
	Name      string `json:"name"`
	Status    string `json:"status"`
	IsDefault bool   `json:"is_default"`
	Jobs      int    `json:"jobs"`
}

func printersSection(printers []printer) *section {
	var bad []string
	for _, p := range printers {
		if s := strings.ToLower(p.Status); strings.Contains(s, "error") || strings.Contains(s, "offline") {
			bad = append(bad, p.Name)
		}
	}
	summary := count(len(printers), "printer")
	if len(bad) > 0 {
		summary = "trouble with " + some(bad)
	}
	return graded(len(bad) > 0, summary, map[string]any{"printers": list(printers)})
}

// wifi is the wireless connection.
type wifi struct {
	Connected bool
	SSID      string
	Signal    *float64
	Band      string
}

// weakSignal is below what works well.
const weakSignal = 50

func wifiSection(w *wifi) *section {
	if w == nil {
		return nil
	}
	weak := w.Connected && w.Signal != nil && *w.Signal < weakSignal
	summary := "not connected"
	if w.Connected {
		summary = "connected"
		if w.Signal != nil {
			summary = fmt.Sprintf("signal %s%%", short(*w.Signal))
		}
	}
	return graded(weak, summary, map[string]any{"connected": w.Connected, "ssid": w.SSID, "signal_percent": w.Signal, "band": w.Band})
}

// bandOf names the band of a frequency in MHz.
func bandOf(mhz int) string {
	switch {
	case mhz >= 2400 && mhz < 2500:
		return "2.4 GHz"
	case mhz >= 4900 && mhz < 5925:
		return "5 GHz"
	case mhz >= 5925 && mhz < 7200:
		return "6 GHz"
	}
	return ""
}

// quality turns a signal in dBm into percent, as Windows does: -50 is full,
// -100 is none.
func quality(dbm float64) float64 { return math.Round(min(100, max(0, 2*(dbm+100)))) }

func ptr[T any](v T) *T { return &v }
