package kenny

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Status grades a telemetry section, a machine, or the fleet.
type Status string

// The grades. Unknown is only ever a verdict: a machine cannot send it.
const (
	StatusOK      Status = "ok"
	StatusWarn    Status = "warn"
	StatusCrit    Status = "crit"
	StatusUnknown Status = "unknown"
)

// Section is what every telemetry section has, whatever else it holds.
type Section struct {
	Status  Status
	Summary string
}

// ReadSection reads status and summary of a section and refuses one without.
func ReadSection(raw jsontext.Value) (Section, error) {
	members, err := parseObject(raw)
	if err != nil {
		return Section{}, err
	}
	status, err := unquote(members["status"])
	if err != nil {
		return Section{}, errors.New("no status")
	}
	summary, err := unquote(members["summary"])
	if err != nil {
		return Section{}, errors.New("no summary")
	}
	switch s := Status(status); s {
	case StatusOK, StatusWarn, StatusCrit:
		return Section{Status: s, Summary: summary}, nil
	}
	return Section{}, fmt.Errorf("status %q is not ok, warn or crit", clip(status))
}

// Sections are the names of all sections that our own endpoints send, on any system.
// Machines of others may send more.
func Sections() []string {
	return []string{
		"disk", "peripherals", "network", "routing", "processes", "services", "defender", "win_update", "disk_smart", "battery",
		"memory", "thermals", "firewall", "encryption", "av_thirdparty", "defender_quarantine", "reboot_pending", "os_support",
		"reliability", "app_updates", "uptime", "time_sync", "printers", "wifi_quality", "autostart",
	}
}
